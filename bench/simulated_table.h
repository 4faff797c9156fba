// A table on a simulated drive, served by the library's own lookups: the plan, the cache and the
// misses are the real ones, only the file is not there.
//
// Rows lie as in a dense packed shard: a miss is one read. Every aligned word of the drive is a
// function of its offset, so any row can be checked. look_up() may be called from any
// number of threads, each with a context of its own; contexts outlive no table.
#ifndef ROW_STORE_BENCH_SIMULATED_TABLE_H
#define ROW_STORE_BENCH_SIMULATED_TABLE_H

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "bench/simulated_drive.h"
#include "cache/row_cache.h"
#include "io/context.h"
#include "store/lookup.h"

namespace row_store {

class SimulatedTable {
 public:
  // slots 0: no cache; else at least so many, in whole sets.
  static Result<std::unique_ptr<SimulatedTable>> create(uint64_t rows, uint64_t slots,
                                                        const DriveSettings& drive,
                                                        unsigned ways = 12);

  // A lookup's own buffers and drive. The depth is the least of this and DSV41_IO_DEPTH. Content
  // other than row_bytes is for those who do not look at rows.
  Result<std::unique_ptr<Context>> make_context(uint32_t depth,
                                                DriveContent content = row_bytes) const;
  BatchCounts look_up(const Batch& batch, Context& context) const {
    return row_store::look_up(sources_, batch, context);
  }

  static void row_bytes(uint64_t offset, std::span<uint8_t> out);
  RowCache* cache() const { return cache_.get(); }
  // The 264 bytes that a lookup must give.
  void fill_row(uint64_t id, uint8_t* row) const;

 private:
  SimulatedTable() = default;

  DriveSettings drive_;
  std::unique_ptr<TableFile> file_;
  std::unique_ptr<RowCache> cache_;
  RowSources sources_;
};

}  // namespace row_store

#endif  // ROW_STORE_BENCH_SIMULATED_TABLE_H
