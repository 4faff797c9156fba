#include "quickstart/engram_table.h"

#include <filesystem>
#include <utility>

#include "checkpoint/table_builder.h"

namespace row_store::examples {

Result<EngramTable> EngramTable::open(uint64_t layer, const OpenOptions& options) {
  Result<checkpoint::TableLocation> found = checkpoint::locate_table(options.model_dir, layer);
  if (!found.ok()) return found.status();
  EngramTable table;
  table.layer_ = layer;
  table.location_ = found.take();
  const checkpoint::TableLocation& at = table.location_;
  table.range_ = checkpoint::rank_range(at.rows, options.rank, options.tp);

  table.store_ = row_store_open(at.path.c_str(), at.rows, at.weight_offset, at.scale_offset,
                                options.cache_bytes);
  if (table.store_ == nullptr) {
    char why[1024] = "";
    const int code = row_store_last_error(why, sizeof why);
    return Status::error(ErrorCode::kIo, std::string("row_store_open failed (") +
                                             row_store_error_name(code) + "): " + why);
  }
  row_store_range(table.store_, table.range_.begin, table.range_.end);
  table.served_from_ = at.path;
  if (options.packed_dir.empty()) return table;

  const std::string shard =
      options.packed_dir + "/" + checkpoint::packed_shard_name(layer, options.rank, options.tp);
  // A missing shard is no error for the adapter; a refused one has printed its reason.
  if (std::filesystem::exists(shard) &&
      row_store_attach_packed(table.store_, shard.c_str(), layer) == 1) {
    table.served_from_ = shard;
  }
  return table;
}

EngramTable::EngramTable(EngramTable&& other) noexcept
    : layer_(other.layer_),
      location_(std::move(other.location_)),
      range_(other.range_),
      served_from_(std::move(other.served_from_)),
      store_(std::exchange(other.store_, nullptr)) {}

EngramTable::~EngramTable() {
  if (store_ != nullptr) row_store_close(store_);
}

void EngramTable::lookup(std::span<const int64_t> ids, uint8_t* weights, uint8_t* scales) {
  row_store_work work = {store_, ids.data(), weights, scales, ids.size()};
  row_store_lookup(&work);
}

row_store_statistics EngramTable::statistics() const {
  row_store_statistics statistics{};
  statistics.struct_bytes = sizeof statistics;
  row_store_extended_stats(store_, &statistics);
  return statistics;
}

}  // namespace row_store::examples
