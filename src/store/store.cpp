#include "store/store.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/fatal.h"
#include "cache/slab_source.h"
#include "format/safetensors_header.h"
#include "io/thread_pool.h"

namespace row_store {
namespace {

constexpr uint64_t kClassifyBytes = 512;

std::string range_text(RowRange range) {
  return "[" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
}

// The part of open's contract that does not depend on what the file is.
Status check_extent(const TableSpec& spec, uint64_t file_bytes, const char* what, uint64_t offset,
                    uint64_t row_bytes) {
  const auto bytes = checked_mul(spec.rows, row_bytes);
  const auto end = bytes ? checked_add(offset, *bytes) : std::nullopt;
  if (!end) {
    return Status::error(ErrorCode::kOverflow, spec.path + ": " + what + " of " +
                                                   std::to_string(spec.rows) + " rows at byte " +
                                                   std::to_string(offset) +
                                                   " exceed 2^64 bytes; check rows and offsets");
  }
  if (*end > file_bytes) {
    return Status::error(ErrorCode::kSize,
                         spec.path + ": " + what + " of " + std::to_string(spec.rows) +
                             " rows need bytes " + std::to_string(offset) + " to " +
                             std::to_string(*end) + ", the file has " + std::to_string(file_bytes) +
                             "; a truncated download, or rows and offsets of another file");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const TableSpec& spec) {
  if (spec.rows == 0 || spec.rows > uint64_t{std::numeric_limits<int64_t>::max()}) {
    return Status::error(
        ErrorCode::kArgument,
        spec.path + ": rows is " + std::to_string(spec.rows) + "; a table has 1 to 2^63 - 1");
  }
  std::unique_ptr<Store> store(new Store);
  store->spec_ = spec;
  store->options_ = read_store_options();
  Result<std::unique_ptr<TableFile>> file = TableFile::open(spec.path, store->options_.engine);
  if (!file.ok()) return file.status();
  store->checkpoint_ = file.take();
  if (Status status = store->check_format(); !status.ok()) return status;
  const uint64_t bytes = store->checkpoint_->bytes();
  for (const Status& status :
       {check_extent(spec, bytes, "weights", spec.weight_offset, kWeightBytes),
        check_extent(spec, bytes, "scales", spec.scale_offset, kScaleBytes)})
    if (!status.ok()) return status;
  if (Status status = store->make_cache(); !status.ok()) return status;
  store->checkpoint_->choose_engine(store->options_.engine);
  if (Status status = store->warm_up(); !status.ok()) return status;
  // Said only now: an open that is refused after all prints its refusal and nothing else.
  if (store->is_raw_)
    log_line("%s: not a safetensors file; serving the byte extents as given", spec.path.c_str());

  RowSources& sources = store->sources_;
  sources.table_rows = spec.rows;
  sources.range = {0, spec.rows};
  sources.zero_negative_ids = store->options_.zero_negative_ids;
  sources.cache = store->cache_.get();
  sources.checkpoint = store->checkpoint_.get();
  sources.weight_offset = spec.weight_offset;
  sources.scale_offset = spec.scale_offset;
  return store;
}

// A safetensors file must hold these tensors; a file that is recognisably something else is
// refused; anything else is taken at the caller's word.
Status Store::check_format() {
  Result<std::string> head = read_head(*checkpoint_, kClassifyBytes);
  if (!head.ok()) return head.status();
  const FileKind kind = classify_file(as_bytes(head.value()));
  const bool offsets_behind_head = spec_.weight_offset >= kSafetensorsLengthBytes &&
                                   spec_.scale_offset >= kSafetensorsLengthBytes;
  if (kind == FileKind::kUnknown || (kind == FileKind::kZeroFilled && !offsets_behind_head)) {
    is_raw_ = true;
    source_ = identify_raw_source(checkpoint_->bytes(), spec_.rows, spec_.weight_offset,
                                  spec_.scale_offset);
    return {};
  }
  Result<uint64_t> header_bytes =
      safetensors_header_bytes(as_bytes(head.value()), checkpoint_->bytes());
  if (!header_bytes.ok()) return with_path(spec_.path, header_bytes.status());
  head = read_head(*checkpoint_, kSafetensorsLengthBytes + header_bytes.value());
  if (!head.ok()) return head.status();
  Result<SafetensorsHeader> header =
      parse_safetensors_header(as_bytes(head.value()), checkpoint_->bytes());
  if (!header.ok()) return with_path(spec_.path, header.status());
  const Status status =
      check_engram_tensors(header.value(), spec_.rows, spec_.weight_offset, spec_.scale_offset);
  if (!status.ok()) return with_path(spec_.path, status);
  source_ = identify_source(header.value(), as_bytes(head.value()), checkpoint_->bytes(),
                            spec_.weight_offset, spec_.scale_offset);
  return {};
}

Status Store::make_cache() {
  if (options_.ram || spec_.cache_budget_bytes == 0) return {};
  const CacheConfig config{spec_.rows, spec_.cache_budget_bytes, options_.cache_ways,
                           options_.huge_pages};
  if (RowCache::set_count(config, 0) == 0) {
    log_line("%s: a cache of %llu bytes holds no set of %u rows; serving without one",
             spec_.path.c_str(), static_cast<unsigned long long>(spec_.cache_budget_bytes),
             options_.cache_ways);
    return {};
  }
  std::unique_ptr<Slab> slab;
  if (const std::unique_ptr<SlabSource> source = take_next_slab_source())
    slab = source->make_slab(config);
  Result<std::unique_ptr<RowCache>> cache = RowCache::create(config, std::move(slab));
  if (!cache.ok()) return with_path(spec_.path, cache.status());
  cache_ = cache.take();
  if (options_.huge_pages && !cache_->write_combined())
    pager_ = std::make_unique<HugePager>(*cache_);
  return {};
}

// The first lookup then finds its context and reader made.
Status Store::warm_up() {
  ContextPool& pool = ContextPool::instance();
  Result<Context*> context = pool.acquire(process_options().io_depth, lookup_scratch_bytes());
  if (!context.ok()) return with_path(spec_.path, context.status());
  // Making a reader may throw; a context that was not given back would be missing for ever.
  const auto give_back = [&pool](Context* taken) { pool.release(taken); };
  const std::unique_ptr<Context, decltype(give_back)> held(context.value(), give_back);
  Result<Reader*> reader = held->reader(checkpoint_->engine());
  if (!reader.ok()) reader = held->reader(Engine::kPool);
  return reader.ok() ? Status() : with_path(spec_.path, reader.status());
}

Status Store::set_range(RowRange range) {
  if (range.begin > range.end || range.end > spec_.rows) {
    return Status::error(ErrorCode::kArgument, "invalid row ownership range " + range_text(range) +
                                                   " of " + spec_.path + ", which has " +
                                                   std::to_string(spec_.rows) + " rows");
  }
  const bool bound = scales_ != nullptr || packed_ != nullptr || resident_rows_ != nullptr;
  if (bound && range != sources_.range) {
    return Status::error(ErrorCode::kState,
                         "ownership range of " + spec_.path + " changed from " +
                             range_text(sources_.range) + " to " + range_text(range) +
                             " after its scales, rows or packed shard were loaded; close the store "
                             "and open it again");
  }
  sources_.range = range;
  options_.resident_scales = read_resident_scales_option();
  if (bound || range.count() == 0) return {};
  if (options_.ram) return load_rows();
  if (!options_.resident_scales) return {};
  const Status status = start_scales();
  if (!status.ok()) {
    log_line("%s: could not keep the scales of rows %s in memory: %s; misses cost a second read",
             spec_.path.c_str(), range_text(range).c_str(), status.text().c_str());
  }
  return {};
}

Status Store::start_scales() {
  Result<std::unique_ptr<ResidentScales>> scales =
      ResidentScales::start(*checkpoint_, spec_.scale_offset, sources_.range);
  if (!scales.ok()) return scales.status();
  scales_ = scales.take();
  sources_.resident_scales = scales_.get();
  return {};
}

Status Store::load_rows() {
  Result<std::unique_ptr<ResidentRows>> rows =
      ResidentRows::load(*checkpoint_, spec_.weight_offset, spec_.scale_offset, sources_.range);
  if (!rows.ok()) return rows.status();
  resident_rows_ = rows.take();
  sources_.resident_rows = resident_rows_.get();
  return {};
}

Status Store::attach(const std::string& path, uint64_t layer) {
  if (packed_ != nullptr) {
    return Status::error(ErrorCode::kState, path + ": the store serves " + packed_->path() +
                                                " already; close and open it to change shards");
  }
  Result<std::unique_ptr<TableFile>> file = TableFile::open(path, options_.engine);
  if (!file.ok()) return file.status();
  Result<std::string> head = read_head(*file.value(), kPackedHeaderBytes);
  if (!head.ok()) return head.status();
  const PackedExpectation expected{layer, sources_.range, spec_.rows};
  Result<PackedHeader> header =
      match_packed_header(as_bytes(head.value()), file.value()->bytes(), expected);
  if (!header.ok()) return with_path(path, header.status());
  Result<std::unique_ptr<PackedSums>> sums =
      PackedSums::load(*file.value(), header.value(), as_bytes(head.value()), source_);
  if (!sums.ok()) return with_path(path, sums.status());
  file.value()->choose_engine(options_.engine);
  const std::string rows = range_text(sources_.range);  // the last that may throw

  packed_ = file.take();
  packed_sums_ = sums.take();
  sources_.packed = packed_.get();
  sources_.packed_sums = packed_sums_.get();
  sources_.packed_header = header.value();
  // The shard holds the scales too: their memory goes back.
  sources_.resident_scales = nullptr;
  scales_.reset();
  log_line("%s: rows %s of layer %llu come from %s (%s, %s, %s)", spec_.path.c_str(), rows.c_str(),
           static_cast<unsigned long long>(layer), path.c_str(),
           packed_->direct() ? "direct" : "buffered", engine_name(packed_->engine()),
           packed_sums_ ? "every block checked" : "no sums: damage is not found");
  return {};
}

void Store::look_up(const Batch& batch) {
  const uint64_t from = now_ns();
  check_ids(sources_, batch);
  ContextPool& pool = ContextPool::instance();
  Result<Context*> context = pool.acquire(process_options().io_depth, lookup_scratch_bytes());
  if (!context.ok())
    fatal(context.status().sys_errno(), "%s: %s", spec_.path.c_str(),
          context.status().text().c_str());
  const BatchCounts counts = row_store::look_up(sources_, batch, *context.value());
  pool.release(context.value());
  counters_.add(counts, now_ns() - from);
  // Sets fill at random and a page holds 15 slots: by a quarter of the slots all but 2 % of the
  // pages were touched, so larger ones take no memory that would not be taken anyway.
  if (pager_ && counters_.misses.load(std::memory_order_relaxed) >= cache_->slots() / 4)
    pager_->start();
}

void Store::copy_stats(uint64_t* words) const {
  words[0] = counters_.hits.load(std::memory_order_relaxed);
  words[1] = counters_.misses.load(std::memory_order_relaxed);
  words[2] = counters_.reads.load(std::memory_order_relaxed);
  words[3] = cache_ ? cache_->reserved_bytes() : 0;
  words[4] = cache_ ? cache_->slots() : 0;
  words[5] = scales_ ? scales_->bytes() : 0;
  words[6] = options_.cache_ways;
  words[7] = process_options().io_threads;
  words[8] = serves_packed() ? 1 : 0;
}

void Store::detach_from_parent() {
  sources_.cache = nullptr;
  sources_.resident_scales = nullptr;
  sources_.resident_rows = nullptr;
  if (pager_) pager_->abandon();
  if (cache_) cache_->abandon();
  if (scales_) scales_->abandon();
  if (resident_rows_) resident_rows_->abandon();
  pager_.reset();
  cache_.reset();
  scales_.reset();
  resident_rows_.reset();
  options_.ram = false;
  checkpoint_->choose_engine(EngineChoice::kPool);
  if (packed_) packed_->choose_engine(EngineChoice::kPool);
}

}  // namespace row_store
