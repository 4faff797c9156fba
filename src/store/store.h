// One open table: its files, its memory, its counters, and which calls are legal when.
//
// Not thread-safe by itself: src/api holds a SharedGate, shared for look_up and stats, alone for
// set_range, attach and destruction.
#ifndef ROW_STORE_STORE_STORE_H
#define ROW_STORE_STORE_STORE_H

#include <cstdint>
#include <memory>
#include <string>

#include "base/options.h"
#include "base/status.h"
#include "cache/row_cache.h"
#include "format/packed_shard.h"
#include "format/source_identity.h"
#include "io/table_file.h"
#include "row_store.h"
#include "store/counters.h"
#include "store/huge_pager.h"
#include "store/lookup.h"
#include "store/packed_sums.h"
#include "store/resident_rows.h"
#include "store/resident_scales.h"

namespace row_store {

struct TableSpec {
  std::string path;
  uint64_t rows = 0;
  uint64_t weight_offset = 0;
  uint64_t scale_offset = 0;
  uint64_t cache_budget_bytes = 0;
};

class Store {
 public:
  static Result<std::unique_ptr<Store>> open(const TableSpec& spec);

  // kArgument for an order or bound that cannot be; kState when memory or a shard belongs to
  // another range.
  Status set_range(RowRange range);
  // Leaves the store as it was on failure.
  Status attach(const std::string& path, uint64_t layer);
  bool strict() const { return options_.strict; }

  // OFFLOAD_MODE=ram without a range: the whole table is loaded by the first lookup.
  bool wants_rows() const { return options_.ram && resident_rows_ == nullptr; }
  Status load_rows();

  void look_up(const Batch& batch);
  void copy_stats(uint64_t* words) const;
  void copy_statistics(row_store_statistics* out) const;

  // In a forked child: memory and threads are the parent's, rows come from the files.
  void detach_from_parent();

 private:
  Store() = default;
  // A shard is attached and has not been given up.
  bool serves_packed() const { return packed_ && !packed_->given_up(); }
  Status check_format();
  Status make_cache();
  Status start_scales();
  Status warm_up();

  TableSpec spec_;
  StoreOptions options_;
  bool is_raw_ = false;  // no safetensors file: extents at the caller's word
  std::unique_ptr<TableFile> checkpoint_;
  // What a shard's sums must say they were copied from; a Status where they cannot say it.
  Result<SourceIdentity> source_{SourceIdentity()};
  std::unique_ptr<TableFile> packed_;
  std::unique_ptr<PackedSums> packed_sums_;
  RowSources sources_;
  std::unique_ptr<RowCache> cache_;
  std::unique_ptr<HugePager> pager_;  // works on cache_, so it goes first
  std::unique_ptr<ResidentScales> scales_;
  std::unique_ptr<ResidentRows> resident_rows_;
  Counters counters_;
};

}  // namespace row_store

#endif  // ROW_STORE_STORE_STORE_H
