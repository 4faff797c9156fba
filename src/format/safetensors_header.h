// The head of a safetensors file: an 8-byte length, a JSON object, the tensors' extents.
//
// Pure functions over bytes: the caller reads the file. Every rule of the format is checked, and
// each broken rule has one ErrorCode. No values are looked at.
//
// Stricter than the reference reader: a tensor name may stand once only, a tensor's description is
// an object, nesting ends at 8 levels, every number fits 64 bits. Looser: a tensor of an unknown
// element type is accepted (new ones come every year) but must still tile with the others.
//
// Invariant of a SafetensorsHeader that parse_safetensors_header returns: the tensors cover
// [data_offset, end of file) without hole or overlap, and no offset exceeds 2^63 - 1.
#ifndef ROW_STORE_FORMAT_SAFETENSORS_HEADER_H
#define ROW_STORE_FORMAT_SAFETENSORS_HEADER_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "format/file_kind.h"
#include "format/row_layout.h"

namespace row_store {

inline constexpr uint64_t kSafetensorsLengthBytes = 8;
inline constexpr uint64_t kSafetensorsHeaderMax = 100'000'000;  // the reference reader's cap

struct Tensor {
  std::string name;
  std::string dtype;
  std::vector<uint64_t> shape;
  Extent extent;  // in the file, not in the data section
};

struct SafetensorsHeader {
  std::vector<Tensor> tensors;  // in file order
  uint64_t data_offset = 0;     // first byte after the header

  const Tensor* find(std::string_view name) const;
  // The tensor whose bytes begin there; empty tensors may share an offset with it.
  const Tensor* find_at(uint64_t offset) const;
};

// Length of the JSON text, from the first bytes of a file of file_bytes bytes.
Result<uint64_t> safetensors_header_bytes(std::span<const uint8_t> head, uint64_t file_bytes);

// head: the file's first 8 + safetensors_header_bytes() bytes.
Result<SafetensorsHeader> parse_safetensors_header(std::span<const uint8_t> head,
                                                   uint64_t file_bytes);

// The tensors whose bytes start at weight_offset and scale_offset, checked to be [rows, 256]
// F8_E4M3 and [rows, 8] F8_E8M0. kArgument where the file has tables but not where the caller says.
Status check_engram_tensors(const SafetensorsHeader& header, uint64_t rows, uint64_t weight_offset,
                            uint64_t scale_offset);

// A layer's table by its tensors' names, layers.N.engram.embed.weight and .scale.
struct EngramTable {
  uint64_t rows = 0;
  uint64_t weight_offset = 0;
  uint64_t scale_offset = 0;
};
Result<EngramTable> find_engram_table(const SafetensorsHeader& header, uint64_t layer);

// The layer that the table at weight_offset belongs to: N where its name has the parts "layers",
// N, "engram" behind whatever prefix. Nothing where no tensor begins there or its name has no such
// parts.
std::optional<uint32_t> engram_layer_at(const SafetensorsHeader& header, uint64_t weight_offset);

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_SAFETENSORS_HEADER_H
