// Which table of which checkpoint file a packed shard was copied from. Pure functions over bytes.
//
// A safetensors header names tensors, types, shapes and offsets but no values: two revisions of one
// model may agree in all of it. Only the optional SHA-256 of the whole file tells those apart.
#ifndef ROW_STORE_FORMAT_SOURCE_IDENTITY_H
#define ROW_STORE_FORMAT_SOURCE_IDENTITY_H

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"
#include "format/safetensors_header.h"

namespace row_store {

using Sha256 = std::array<uint8_t, 32>;

// Longer names are not stored; the known ones have 30 bytes.
inline constexpr uint64_t kSourceNameMax = 1024;

struct SourceTensor {
  std::string name;  // empty for a file that is no safetensors file
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t offset = 0;  // in the file
};

struct SourceIdentity {
  uint64_t file_bytes = 0;
  uint64_t header_bytes = 0;  // the length's 8 bytes and the JSON; 0 for a raw file
  uint64_t header_digest = 0;
  SourceTensor weight;
  SourceTensor scale;
  std::optional<Sha256> sha256;  // of the whole file, where somebody has computed it
};

// head: the bytes that `header` was parsed from. The offsets are ones that check_engram_tensors
// accepts. kArgument when no tensor begins there or a name is too long to be stored.
Result<SourceIdentity> identify_source(const SafetensorsHeader& header,
                                       std::span<const uint8_t> head, uint64_t file_bytes,
                                       uint64_t weight_offset, uint64_t scale_offset);

// Of a file without a header, whose extents are at the caller's word.
SourceIdentity identify_raw_source(uint64_t file_bytes, uint64_t rows, uint64_t weight_offset,
                                   uint64_t scale_offset);

// kMismatch, with every field expected and found. The SHA-256 counts only where both know it.
Status match_source(const SourceIdentity& expected, const SourceIdentity& found);

// Where it lies in the head page of a shard's sums; bytes 72 to 4079 are its own.
void store_source(std::span<uint8_t> page, const SourceIdentity& source);
// kMismatch when a name's length cannot be.
Result<SourceIdentity> load_source(std::span<const uint8_t> page);

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_SOURCE_IDENTITY_H
