// The packed shard: one rank's rows, weight and scale adjacent, behind a 4096-byte header.
//
// Two layouts are read: the ordinary one (264-byte records back to back) and page15 (15 records a
// 4096-byte page, none straddling). What may follow the records is in shard_sums.h. Pure functions
// over bytes.
#ifndef ROW_STORE_FORMAT_PACKED_SHARD_H
#define ROW_STORE_FORMAT_PACKED_SHARD_H

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "format/row_layout.h"

namespace row_store {

inline constexpr uint64_t kPackedHeaderBytes = 4096;
// Compared as numbers: on disk they read "DSV1EN41" and "DS41EPG2".
inline constexpr uint64_t kPackedMagic = 0x31344E4531565344;
inline constexpr uint64_t kPage15Magic = 0x3247504531345344;
inline constexpr uint64_t kPage15Rows = kPageBytes / kRowBytes;  // 15
static_assert(kPage15Rows == 15);

enum class PackedLayout { kDense, kPage15 };

struct PackedHeader {
  PackedLayout layout = PackedLayout::kDense;
  uint64_t layer = 0;
  RowRange range;
  uint64_t table_rows = 0;

  // Where a row of `range` stands in the file; cannot wrap once records_end() has a value.
  uint64_t row_offset(uint64_t id) const;
  // First byte behind the records, and in page15 behind the last whole page; the file may be
  // longer. kOverflow beyond 2^63 - 1.
  Result<uint64_t> records_end() const;
};

// What the store that attaches the shard needs it to be.
struct PackedExpectation {
  uint64_t layer = 0;
  RowRange range;
  uint64_t table_rows = 0;
};

// Checks magic, record size, range and file size on their own (kShort, kMismatch, kOverflow,
// kSize).
Result<PackedHeader> decode_packed_header(std::span<const uint8_t> header, uint64_t file_bytes);

// The same against a store: the error's text lists every field, expected against found.
Result<PackedHeader> match_packed_header(std::span<const uint8_t> header, uint64_t file_bytes,
                                         const PackedExpectation& expected);

std::array<uint8_t, kPackedHeaderBytes> encode_packed_header(const PackedHeader& header);

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_PACKED_SHARD_H
