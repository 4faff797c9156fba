// Sums of a packed shard: one of 8 bytes for every 4096-byte block of header and records, behind
// the records, where readers that do not know them never look.
//
// Behind the records, on the next multiple of 4096: a head page, then the table. A block's sum is
// seeded with the shard's layer and the block's number, so that a good block in a wrong place is
// found as well. Head and table have sums of their own, seeded as if they were the next two blocks.
// The magic stands twice in the head, so that one damaged byte does not make the sums disappear.
// Pure functions over bytes; docs/packed-format.md has the layout.
#ifndef ROW_STORE_FORMAT_SHARD_SUMS_H
#define ROW_STORE_FORMAT_SHARD_SUMS_H

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "format/packed_shard.h"
#include "format/row_layout.h"
#include "format/source_identity.h"

namespace row_store {

inline constexpr uint64_t kSumsMagic = 0x534D555331565344;  // "DSV1SUMS" on disk
inline constexpr uint64_t kSumsVersion = 1;
inline constexpr uint64_t kSumBytes = 8;

// Where the sums of a shard stand, whether it has some or not.
struct SumsPlace {
  uint64_t block_count = 0;  // the last one may reach beyond the records; the rest of it is zeros
  uint64_t head_offset = 0;
  Extent table;

  uint64_t end() const { return table.offset + table.bytes; }
};
// kOverflow beyond 2^63 - 1.
Result<SumsPlace> place_sums(const PackedHeader& header);

struct SumsHead {
  SumsPlace place;
  uint64_t layer = 0;
  uint64_t table_sum = 0;
  SourceIdentity source;
};

// page: what the file has at place_sums(header).head_offset, up to 4096 bytes; may be empty. No
// value when there are no sums. kChecksum, kUnsupported, kMismatch or kSize when there are some
// that cannot be used: such a shard is damaged, and not one without sums.
Result<std::optional<SumsHead>> decode_sums_head(std::span<const uint8_t> page,
                                                 const PackedHeader& header, uint64_t file_bytes);

// table: the bytes of head.place.table. kSize or kChecksum.
Status check_sums_table(const SumsHead& head, std::span<const uint8_t> table);

// A table that was checked, and what it says about blocks. Views the table's bytes.
class BlockSums {
 public:
  BlockSums() = default;
  BlockSums(uint64_t layer, std::span<const uint8_t> table) : layer_(layer), table_(table) {}

  uint64_t block_count() const { return table_.size() / kSumBytes; }
  // bytes: the 4096 of block `block`; false, too, for a block that the shard does not have.
  bool matches(uint64_t block, const uint8_t* bytes) const;

 private:
  uint64_t layer_ = 0;
  std::span<const uint8_t> table_;
};

// Makes the sums while a shard is written. Holds the table: 8 bytes for every 4096 of the shard.
class SumsBuilder {
 public:
  // kArgument for a source that cannot be stored, kOverflow, kMemory.
  static Result<SumsBuilder> create(const PackedHeader& header, const SourceIdentity& source);

  // The shard's bytes from its first on, in pieces of any size: header, then records. kArgument
  // when there are more than the header says.
  Status add(std::span<const uint8_t> bytes);
  // Bytes of header and records that were added.
  uint64_t added() const { return added_; }
  // What to write at records_end(): zeros up to the head, the head, the table. kArgument when bytes
  // are missing. Once only.
  Result<std::vector<uint8_t>> finish();

 private:
  SumsBuilder() = default;
  void end_block(const uint8_t* block);

  uint64_t records_end_ = 0;
  uint64_t layer_ = 0;
  uint64_t added_ = 0;
  SumsPlace place_;
  SourceIdentity source_;
  std::array<uint8_t, kPageBytes> block_{};  // begun and not full
  std::vector<uint8_t> tail_;                // padding, head, table
};

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_SHARD_SUMS_H
