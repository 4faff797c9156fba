// The bounded row cache: an index of sets beside a slab of 264-byte slots.
//
// Knows ids and bytes; not files, not ranges, not batches. A budget is a promise: index plus slots
// never exceed it, and slots * 264 never exceeds a slab that was handed in. Memory appears as it is
// touched. All functions but create() and abandon() may run on any number of threads at once.
#ifndef ROW_STORE_CACHE_ROW_CACHE_H
#define ROW_STORE_CACHE_ROW_CACHE_H

#include <cstdint>
#include <memory>
#include <variant>

#include "base/memory_map.h"
#include "base/status.h"
#include "cache/set_table.h"
#include "cache/slab.h"

namespace row_store {

struct CacheConfig {
  uint64_t table_rows = 0;
  uint64_t budget_bytes = 0;
  unsigned ways = 12;      // 1 to 16
  bool huge_pages = true;  // for the index, which is touched all over from the start
};

// Rows that a probe and then a copy work on at a time: 128 rows and their set lines, 48 KiB that
// the probe asks for, wait in the core's caches until they are copied.
inline constexpr uint32_t kBlockRows = 128;

class RowCache {
 public:
  // How many sets a budget gives; 0 means that no cache fits. slab_bytes bounds the slots where the
  // rows live in a slab of their own (0: they count against the budget).
  static uint64_t set_count(const CacheConfig& config, uint64_t slab_bytes);

  // slab may be null: ordinary memory. set_count(config, slab bytes) must not be 0.
  static Result<std::unique_ptr<RowCache>> create(const CacheConfig& config,
                                                  std::unique_ptr<Slab> slab);

  uint64_t slots() const { return set_count_ * ways_; }
  unsigned ways() const { return ways_; }
  uint64_t reserved_bytes() const { return slots() * kRowBytes + index_.bytes(); }
  bool write_combined() const { return slab_->write_combined(); }
  const Slab& slab() const { return *slab_; }
  const char* backing() const { return slab_->backing(); }

  // For i in [0, count), count <= kBlockRows: slots[i] is where ids[i] is, or kNoSlot.
  void probe_block(const int64_t* ids, uint32_t count, Slot* slots);
  // Copies the found rows to the outputs, ids[i] to row places[i] of them; slots[i] becomes kNoSlot
  // where the row was evicted since the probe. Returns how many were copied.
  uint32_t copy_block(const int64_t* ids, const uint32_t* places, uint32_t count, Slot* slots,
                      uint8_t* weights, uint8_t* scales);

  // For i in [0, count): whether ids[i] is cached or about to be, by whoever reads it.
  void find_block(const int64_t* ids, uint32_t count, bool* found);

  // One missing row: see SetTable.
  Slot reserve(uint64_t id, bool* evicted);
  void fill(Slot slot, uint64_t id, const uint8_t* weights, const uint8_t* scales);
  void touch(Slot slot, uint64_t id);

  // In a forked child: the memory does not exist there; only destruction is allowed afterwards.
  void abandon();

 private:
  using Table = std::variant<SetTable12, SetTable16, SetTableWide>;
  RowCache(Table table, uint64_t set_count, unsigned ways, MemoryMap index,
           std::unique_ptr<Slab> slab);

  Table table_;
  uint64_t set_count_;
  unsigned ways_;
  MemoryMap index_;
  std::unique_ptr<Slab> slab_;
};

}  // namespace row_store

#endif  // ROW_STORE_CACHE_ROW_CACHE_H
