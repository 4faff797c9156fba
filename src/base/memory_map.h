// Anonymous memory that appears when it is touched and stays out of forked children.
//
// Children: a copy-on-write copy of a large cache would make every fork of the host slow, so the
// mapping does not exist in the child (MADV_DONTFORK).
#ifndef ROW_STORE_BASE_MEMORY_MAP_H
#define ROW_STORE_BASE_MEMORY_MAP_H

#include <cstdint>

#include "base/status.h"

namespace row_store {

class MemoryMap {
 public:
  MemoryMap() = default;
  // Zeroed, page-aligned; bytes > 0.
  static Result<MemoryMap> create(uint64_t bytes);
  ~MemoryMap();
  MemoryMap(MemoryMap&& other) noexcept;
  MemoryMap& operator=(MemoryMap&& other) noexcept;

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
