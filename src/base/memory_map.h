// Anonymous memory that appears when it is touched and stays out of forked children.
//
// Children: a copy-on-write copy of a large cache would make every fork of the host slow, so the
// mapping does not exist in the child (MADV_DONTFORK).
#ifndef ROW_STORE_BASE_MEMORY_MAP_H
#define ROW_STORE_BASE_MEMORY_MAP_H

#include <cstdint>

#include "base/status.h"

namespace row_store {

inline constexpr uint64_t kHugePageBytes = 2 * 1024 * 1024;

class MemoryMap {
 public:
  MemoryMap() = default;
  // Zeroed; bytes > 0. Aligned to a page, and to a huge page when it holds one.
  static Result<MemoryMap> create(uint64_t bytes);
  ~MemoryMap();
  MemoryMap(MemoryMap&& other) noexcept;
  MemoryMap& operator=(MemoryMap&& other) noexcept;

  // Asks for 2 MiB pages at the first touch: for small, hot maps that are touched all over.
  void prefer_huge_pages() const;
  // For what a child's stores need, too.
  void keep_in_children() const;
  // Turns [offset, offset + bytes) of touched memory into 2 MiB pages now; false when the kernel
  // cannot (before 6.1, or none are free). Readers and writers may go on.
  bool collapse(uint64_t offset, uint64_t bytes) const;

  uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  // In a forked child: the pages are not there, so forget them without unmapping.
  void abandon() { data_ = nullptr, bytes_ = 0; }

 private:
  uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace row_store

#endif  // ROW_STORE_BASE_MEMORY_MAP_H
