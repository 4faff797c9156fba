// The owned rows' scales in memory, loaded in the background, so that a miss of the checkpoint
// costs one read instead of two. Rows that are not loaded yet cost two.
#ifndef ROW_STORE_STORE_RESIDENT_SCALES_H
#define ROW_STORE_STORE_RESIDENT_SCALES_H

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/memory_map.h"
#include "base/status.h"
#include "format/row_layout.h"
#include "io/table_file.h"

namespace row_store {

class ResidentScales {
 public:
  // Starts loading range's scales, the table's standing at `offset` of the file. The file outlives
  // it.
  static Result<std::unique_ptr<ResidentScales>> start(const TableFile& file, uint64_t offset,
                                                       RowRange range);
  // Stops loading (within one read of the file).
  ~ResidentScales();

  uint64_t bytes() const { return range_.count() * kScaleBytes; }
  // The eight bytes of a row of the range, or null while they are not there.
  const uint8_t* find(uint64_t id) const {
    const uint64_t index = id - range_.begin;
    // Acquire: pairs with the loader's release, behind the bytes it counts.
    return index < loaded_rows_.load(std::memory_order_acquire) ? map_.data() + index * kScaleBytes
                                                                : nullptr;
  }
  // In a forked child: neither the memory nor the loading thread exists.
  void abandon();

 private:
  ResidentScales(const TableFile& file, uint64_t offset, RowRange range, MemoryMap map)
      : file_(file), offset_(offset), range_(range), map_(std::move(map)) {}
  static void* thread_main(void* self);
  void load();

  const TableFile& file_;
  const uint64_t offset_;
  const RowRange range_;
  MemoryMap map_;
  MemoryMap chunk_;  // what the loader reads into; the loader's once it runs
  std::atomic<uint64_t> loaded_rows_{0};
  std::atomic<bool> stop_{false};
  pthread_t thread_{};
  bool running_ = false;
};

}  // namespace row_store

#endif  // ROW_STORE_STORE_RESIDENT_SCALES_H
