// The sums of an attached shard, in memory: 8 bytes for every 4096 of the shard. Immutable, any
// thread.
#ifndef ROW_STORE_STORE_PACKED_SUMS_H
#define ROW_STORE_STORE_PACKED_SUMS_H

#include <cstdint>
#include <memory>
#include <span>

#include "base/memory_map.h"
#include "base/status.h"
#include "format/shard_sums.h"
#include "io/table_file.h"

namespace row_store {

class PackedSums {
 public:
  // head: the shard's first page, decoded to `header`; source: what the checkpoint is. Null for a
  // shard without sums. A Status for sums that are damaged or belong to another checkpoint, and for
  // a damaged head.
  static Result<std::unique_ptr<PackedSums>> load(const TableFile& file, const PackedHeader& header,
                                                  std::span<const uint8_t> head,
                                                  const Result<SourceIdentity>& source);

  uint64_t bytes() const { return map_.bytes(); }
  // Whether `pages` whole blocks, from the one at the file's byte `offset` on, are what was packed.
  bool match(uint64_t offset, uint32_t pages, const uint8_t* bytes) const;

 private:
  PackedSums(MemoryMap map, const SumsHead& head)
      : map_(std::move(map)), sums_(head.layer, {map_.data(), head.place.table.bytes}) {}

  MemoryMap map_;
  BlockSums sums_;
};

}  // namespace row_store

#endif  // ROW_STORE_STORE_PACKED_SUMS_H
