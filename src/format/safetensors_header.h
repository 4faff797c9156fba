// The head of a safetensors file: an 8-byte length, a JSON object, the tensors' extents.
//
// A pure function over bytes: the caller reads the file. Every rule of the format is checked in the
// order of the reference reader, and each broken rule has one ErrorCode; stricter than the reference
// where it lets a name stand twice. No values are looked at.
#ifndef ROW_STORE_FORMAT_SAFETENSORS_HEADER_H
#define ROW_STORE_FORMAT_SAFETENSORS_HEADER_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
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
};

// What a file's first bytes (16 are enough) say it is.
enum class FileKind {
  kUnknown,
  kSafetensors,   // plausible length, then a JSON object
  kPackedShard,   // ours or the original packer's
  kPage15Shard,
  kLfsPointer,
  kHtml,
  kGguf,
  kZip,           // also a .pt file
  kJson,
  kZeroFilled,
};
FileKind classify_file(std::span<const uint8_t> head);
const char* file_kind_name(FileKind kind);

// Length of the JSON text, from the first bytes of a file of file_bytes bytes.
Result<uint64_t> safetensors_header_bytes(std::span<const uint8_t> head, uint64_t file_bytes);

// head: the file's first 8 + safetensors_header_bytes() bytes.
Result<SafetensorsHeader> parse_safetensors_header(std::span<const uint8_t> head,
                                                   uint64_t file_bytes);

// The tensors whose bytes start at weight_offset and scale_offset, checked to be [rows, 256] F8_E4M3
// and [rows, 8] F8_E8M0.
Status check_engram_tensors(const SafetensorsHeader& header, uint64_t rows, uint64_t weight_offset,
                            uint64_t scale_offset);

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_SAFETENSORS_HEADER_H
