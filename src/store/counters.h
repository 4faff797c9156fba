// A store's counters: added once a batch, read at any time. Relaxed throughout: each is exact on
// its own, several are not one instant.
#ifndef ROW_STORE_STORE_COUNTERS_H
#define ROW_STORE_STORE_COUNTERS_H

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "row_store.h"

namespace row_store {

// What one batch adds.
struct BatchCounts {
  uint64_t rows = 0;       // ids asked for
  uint64_t zero_rows = 0;  // in the table, not in the range (or negative and allowed)
  uint64_t hits = 0;       // served without a read of their own
  uint64_t misses = 0;
  uint64_t repeats = 0;  // of a missing id within the batch; counted as hits too
  uint64_t evictions = 0;
  uint64_t reads = 0;
  uint64_t read_bytes = 0;
  uint64_t retries = 0;          // synchronous second attempts
  uint64_t demotions = 0;        // engines given up
  uint64_t packed_failures = 0;  // rows of the shard served from the checkpoint
  uint64_t sum_failures = 0;     // of these, rows in blocks that failed their sum
  uint64_t staged = 0;           // rows that prefetch had brought; counted as hits too
  uint64_t awaited = 0;          // rows that prefetch was bringing; counted as hits too
  uint64_t wait_ns = 0;          // spent waiting for reads
};

// What was read ahead of a store's lookups. Every row read is useful, late or wasted in the end.
struct PrefetchCounters {
  std::atomic<uint64_t> predicted{0}, read{0}, useful{0}, late{0}, wasted{0};
};

// Latencies in eighths of a power of two: a percentile is off by at most 12.5 %.
class LatencyHistogram {
 public:
  static constexpr uint32_t kBuckets = 64 * 8;

  static uint32_t bucket_of(uint64_t ns) {
    if (ns < 8) return static_cast<uint32_t>(ns);
    const auto exponent = static_cast<uint32_t>(std::bit_width(ns)) - 1;
    return exponent * 8 + static_cast<uint32_t>(ns >> (exponent - 3) & 7);
  }
  // The largest value that falls into the bucket.
  static uint64_t bucket_end(uint32_t bucket) {
    if (bucket < 24) return bucket < 8 ? bucket : 7;
    const uint32_t exponent = bucket / 8;
    return ((uint64_t{8} + bucket % 8 + 1) << (exponent - 3)) - 1;
  }
  void add(uint64_t ns) {
    counts_[bucket_of(ns)].fetch_add(1, std::memory_order_relaxed);
    uint64_t most = most_.load(std::memory_order_relaxed);
    while (ns > most && !most_.compare_exchange_weak(most, ns, std::memory_order_relaxed)) {
    }
  }
  uint64_t count(uint32_t bucket) const { return counts_[bucket].load(std::memory_order_relaxed); }
  uint64_t most() const { return most_.load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<uint64_t>, kBuckets> counts_{};
  std::atomic<uint64_t> most_{0};
};

// Reads the histogram once; lookups may go on beside it.
row_store_latency summarise(const LatencyHistogram& histogram);

// Lookups by the number of their ids: below 64, below 1,024, below 16,384, larger.
inline constexpr uint32_t kSizeClasses = ROW_STORE_SIZE_CLASSES;
inline uint32_t size_class(uint64_t count) {
  return count < 64 ? 0 : count < 1024 ? 1 : count < 16384 ? 2 : 3;
}

struct Counters {
  std::atomic<uint64_t> lookups{0}, rows{0}, zero_rows{0}, hits{0}, misses{0}, repeats{0},
      evictions{0}, reads{0}, read_bytes{0}, retries{0}, packed_failures{0}, sum_failures{0},
      demotions{0}, lookup_ns{0}, wait_ns{0};
  PrefetchCounters prefetch;
  std::array<LatencyHistogram, kSizeClasses> latency;

  static void raise(std::atomic<uint64_t>& counter, uint64_t by) {
    if (by != 0) counter.fetch_add(by, std::memory_order_relaxed);
  }
  void add(const BatchCounts& batch, uint64_t ns) {
    raise(lookups, 1);
    raise(rows, batch.rows);
    raise(zero_rows, batch.zero_rows);
    raise(hits, batch.hits);
    raise(misses, batch.misses);
    raise(repeats, batch.repeats);
    raise(lookup_ns, ns);
    raise(wait_ns, batch.wait_ns);
    raise(prefetch.useful, batch.staged);
    raise(prefetch.late, batch.awaited);
    latency[size_class(batch.rows)].add(ns);
    add_reads(batch);
  }
  // What reads and replacement did, whoever asked for them.
  void add_reads(const BatchCounts& batch) {
    raise(evictions, batch.evictions);
    raise(reads, batch.reads);
    raise(read_bytes, batch.read_bytes);
    raise(retries, batch.retries);
    raise(packed_failures, batch.packed_failures);
    raise(sum_failures, batch.sum_failures);
    raise(demotions, batch.demotions);
  }
};

}  // namespace row_store

#endif  // ROW_STORE_STORE_COUNTERS_H
