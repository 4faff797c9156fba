#include <algorithm>
#include <array>

#include "store/store.h"

namespace row_store {
namespace {

uint64_t engine_number(const TableFile* file) {
  if (file == nullptr) return ROW_STORE_ENGINE_NONE;
  switch (file->engine()) {
    case Engine::kUring:
      return ROW_STORE_ENGINE_URING;
    case Engine::kAio:
      return ROW_STORE_ENGINE_AIO;
    case Engine::kPool:
      break;
  }
  return ROW_STORE_ENGINE_THREADS;
}

uint64_t access_number(const TableFile* file) {
  if (file == nullptr) return ROW_STORE_ACCESS_NONE;
  return file->direct() ? ROW_STORE_ACCESS_DIRECT : ROW_STORE_ACCESS_BUFFERED;
}

}  // namespace

// Walks the histogram once; ranks are those of the counts seen on that walk.
row_store_latency summarise(const LatencyHistogram& histogram) {
  std::array<uint64_t, LatencyHistogram::kBuckets> counts;
  row_store_latency summary{};
  for (uint32_t bucket = 0; bucket < counts.size(); ++bucket) {
    counts[bucket] = histogram.count(bucket);
    summary.lookups += counts[bucket];
  }
  summary.max_ns = histogram.most();
  const auto percentile = [&](uint64_t per_mille) {
    // The smallest value that at least this share of the lookups did not exceed.
    const uint64_t rank = (summary.lookups * per_mille + 999) / 1000;
    uint64_t seen = 0;
    for (uint32_t bucket = 0; bucket < counts.size(); ++bucket) {
      seen += counts[bucket];
      if (seen >= rank && rank != 0)
        return std::min(LatencyHistogram::bucket_end(bucket), summary.max_ns);
    }
    return uint64_t{0};
  };
  summary.p50_ns = percentile(500);
  summary.p90_ns = percentile(900);
  summary.p99_ns = percentile(990);
  summary.p999_ns = percentile(999);
  return summary;
}

void Store::copy_statistics(row_store_statistics* out) const {
  const auto read = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  out->lookups = read(counters_.lookups);
  out->rows = read(counters_.rows);
  out->unique_rows = out->rows - read(counters_.repeats);
  out->zero_rows = read(counters_.zero_rows);
  out->hits = read(counters_.hits);
  out->misses = read(counters_.misses);
  out->evictions = read(counters_.evictions);
  out->reads = read(counters_.reads);
  out->read_bytes = read(counters_.read_bytes);
  out->retries = read(counters_.retries);
  out->demotions = read(counters_.demotions);
  out->packed_failures = read(counters_.packed_failures);
  out->lookup_ns = read(counters_.lookup_ns);
  out->wait_ns = read(counters_.wait_ns);
  out->cache_slots = cache_ ? cache_->slots() : 0;
  out->cache_bytes = cache_ ? cache_->reserved_bytes() : 0;
  out->cache_backing = !cache_                    ? ROW_STORE_CACHE_NONE
                       : cache_->write_combined() ? ROW_STORE_CACHE_DRM
                                                  : ROW_STORE_CACHE_MEMORY;
  out->resident_bytes = resident_rows_ ? resident_rows_->range().count() * kRowBytes : 0;
  out->scale_bytes = scales_ ? scales_->bytes() : 0;
  out->checkpoint_engine = engine_number(checkpoint_.get());
  out->checkpoint_access = access_number(checkpoint_.get());
  out->packed_engine = engine_number(packed_.get());
  out->packed_access = access_number(packed_.get());
  for (uint32_t i = 0; i < kSizeClasses; ++i) out->latency[i] = summarise(counters_.latency[i]);
  out->sum_failures = read(counters_.sum_failures);
  out->sum_bytes = packed_sums_ ? packed_sums_->bytes() : 0;
  out->packed_dropped = packed_ && packed_->given_up() ? 1 : 0;
}

}  // namespace row_store
