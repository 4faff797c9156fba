// One Engram layer's table of a checkpoint folder, opened through the public ABI just as the
// serving adapter (engram_backend.py) does: index, header offsets, open, range, and a packed shard
// if there is one.
//
// Owns the store. One thread at a time.
#ifndef ROW_STORE_EXAMPLES_QUICKSTART_ENGRAM_TABLE_H
#define ROW_STORE_EXAMPLES_QUICKSTART_ENGRAM_TABLE_H

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "checkpoint/locate.h"
#include "format/row_layout.h"
#include "row_store.h"

namespace row_store::examples {

struct OpenOptions {
  std::string model_dir;
  std::string packed_dir;  // empty: rows come from the checkpoint
  uint64_t rank = 0;
  uint64_t tp = 1;
  uint64_t cache_bytes = 0;  // a table
};

class EngramTable {
 public:
  static Result<EngramTable> open(uint64_t layer, const OpenOptions& options);

  EngramTable(EngramTable&& other) noexcept;
  EngramTable& operator=(EngramTable&&) = delete;
  ~EngramTable();

  // Fills weights and scales, count rows each.
  void lookup(std::span<const int64_t> ids, uint8_t* weights, uint8_t* scales);

  row_store_statistics statistics() const;

  uint64_t layer() const { return layer_; }
  RowRange range() const { return range_; }
  const checkpoint::TableLocation& location() const { return location_; }
  const std::string& served_from() const { return served_from_; }  // path of the file

 private:
  EngramTable() = default;

  uint64_t layer_ = 0;
  checkpoint::TableLocation location_;
  RowRange range_;
  std::string served_from_;
  row_store_t* store_ = nullptr;
};

}  // namespace row_store::examples

#endif  // ROW_STORE_EXAMPLES_QUICKSTART_ENGRAM_TABLE_H
