// OFFLOAD_MODE=ram: the owned rows in memory, 264 bytes each, locked where the limit allows.
#ifndef ROW_STORE_STORE_RESIDENT_ROWS_H
#define ROW_STORE_STORE_RESIDENT_ROWS_H

#include <cstdint>
#include <memory>

#include "base/memory_map.h"
#include "base/status.h"
#include "format/row_layout.h"
#include "io/table_file.h"

namespace row_store {

class ResidentRows {
 public:
  // Reads all rows of the range before it returns, and says what it holds.
  static Result<std::unique_ptr<ResidentRows>> load(const TableFile& file, uint64_t weight_offset,
                                                    uint64_t scale_offset, RowRange range);

  const uint8_t* row(uint64_t id) const { return map_.data() + (id - range_.begin) * kRowBytes; }
  RowRange range() const { return range_; }
  void abandon() { map_.abandon(); }

 private:
  ResidentRows(RowRange range, MemoryMap map) : range_(range), map_(std::move(map)) {}
  Status load_part(const TableFile& file, Extent extent, uint64_t part_bytes, uint64_t row_offset);

  RowRange range_;
  MemoryMap map_;
};

}  // namespace row_store

#endif  // ROW_STORE_STORE_RESIDENT_ROWS_H
