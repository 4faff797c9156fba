// What does a lookup cost, one part at a time? Each benchmark asks the question above it.
//
// "time/row" and "rows/s" are of all rows asked for, in wall time. Rows that miss come from a
// simulated drive with the figures of a GB10 machine's (simulated_drive.h), never from a disk.
//
//     micro_bench --benchmark_filter=hits --benchmark_repetitions=5
//
// ROW_STORE_BENCH_SLOTS=4000000 gives hits and contention a cache of another size (in rows).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "base/memory_map.h"
#include "bench/simulated_table.h"

namespace row_store {
namespace {

constexpr uint64_t kTableRows = 384'006'168;
constexpr uint32_t kDepth = 128;
constexpr DriveSettings kAtOnce{0, 1, 0, 1, 0};

uint64_t slots_wanted() {
  const char* text = std::getenv("ROW_STORE_BENCH_SLOTS");
  return text != nullptr ? std::max(std::strtoull(text, nullptr, 10), 200'000ull) : 1'000'000;
}

// What cannot be set up ends the run: a figure without it would mean nothing.
template <typename T>
T must(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().text());
  return result.take();
}

// Rows of this thread; threads add up.
void count_rows(benchmark::State& state, uint64_t rows_an_iteration) {
  using benchmark::Counter;
  const auto rows =
      static_cast<double>(rows_an_iteration) * static_cast<double>(state.iterations());
  state.counters["time/row"] = Counter(rows, Counter::kIsRate | Counter::kInvert);
  state.counters["rows/s"] = Counter(rows, Counter::kIsRate);
}

// One thread's outputs, context and ids.
class Caller {
 public:
  Caller(const SimulatedTable& table, uint32_t rows_max, uint64_t seed)
      : table_(table),
        context_(must(table.make_context(kDepth))),
        random_(seed),
        ids_(rows_max),
        weights_(rows_max * kWeightBytes),
        scales_(rows_max * kScaleBytes) {}

  std::mt19937_64& random() { return random_; }
  std::vector<int64_t>& ids() { return ids_; }
  void draw_ids(uint64_t row_count) {
    for (int64_t& id : ids_) id = static_cast<int64_t>(random_() % row_count);
  }
  BatchCounts look_up() { return look_up(ids_.data(), ids_.size()); }
  BatchCounts look_up(const int64_t* ids, uint64_t count) {
    return table_.look_up({ids, weights_.data(), scales_.data(), count}, *context_);
  }

 private:
  const SimulatedTable& table_;
  std::unique_ptr<Context> context_;
  std::mt19937_64 random_;
  std::vector<int64_t> ids_;
  std::vector<uint8_t> weights_;
  std::vector<uint8_t> scales_;
};

// A table whose cache holds its first rows() rows, made once for all that only hit.
class WarmTable {
 public:
  static const WarmTable& instance() {
    static const WarmTable table;
    return table;
  }
  const SimulatedTable& table() const { return *table_; }
  const std::vector<int64_t>& cached() const { return cached_; }

 private:
  WarmTable() : table_(must(SimulatedTable::create(kTableRows, slots_wanted(), kAtOnce))) {
    // Half of the slots, so that few sets overflow; what is there after all is what is asked for.
    const uint64_t rows = slots_wanted() / 2;
    constexpr uint32_t kBatch = 4096;
    Caller caller(*table_, kBatch, 1);
    for (uint64_t from = 0; from < rows; from += kBatch) {
      for (uint32_t i = 0; i < kBatch; ++i) caller.ids()[i] = static_cast<int64_t>(from + i);
      caller.look_up();
    }
    for (uint64_t id = 0; id < rows; ++id) {
      const auto signed_id = static_cast<int64_t>(id);
      Slot slot = kNoSlot;
      table_->cache()->probe_block(&signed_id, 1, &slot);
      if (slot != kNoSlot) cached_.push_back(signed_id);
    }
  }
  std::unique_ptr<SimulatedTable> table_;
  std::vector<int64_t> cached_;
};

// Batches of cached rows one after the other, so that no batch finds its rows in the core's caches.
class CachedBatches {
 public:
  CachedBatches(uint64_t size, uint64_t seed) : size_(size), ids_(WarmTable::instance().cached()) {
    std::mt19937_64 random(seed);
    std::shuffle(ids_.begin(), ids_.end(), random);
  }
  const int64_t* next() {
    if (at_ + size_ > ids_.size()) at_ = 0;
    at_ += size_;
    return ids_.data() + at_ - size_;
  }

 private:
  const uint64_t size_;
  std::vector<int64_t> ids_;
  uint64_t at_ = 0;
};

void look_up_cached(benchmark::State& state, uint64_t size, uint64_t seed) {
  CachedBatches batches(size, seed);
  Caller caller(WarmTable::instance().table(), static_cast<uint32_t>(size), seed);
  for (auto _ : state) {
    const BatchCounts counts = caller.look_up(batches.next(), size);
    if (counts.hits != size) state.SkipWithError("a row was not cached");
  }
  count_rows(state, size);
}

// What does a cached row cost, in one request's verify block, a step of eight, and a prefill chunk?
void hits(benchmark::State& state) {
  look_up_cached(state, static_cast<uint64_t>(state.range(0)), 1);
}

// What do threads on one store cost each other when they only hit?
void contention(benchmark::State& state) {
  look_up_cached(state, 1152, static_cast<uint64_t>(state.thread_index()) + 1);
}

// What limits a hit: the same rows copied from known addresses, with no index and no checks?
void gather(benchmark::State& state) {
  const auto size = static_cast<uint64_t>(state.range(0));
  // As many rows as are cached, over as much of the same kind of memory.
  const uint64_t slots = slots_wanted(), rows = slots / 2;
  const MemoryMap slab = must(MemoryMap::create(slots * kRowBytes));
  std::memset(slab.data(), 1, slots * kRowBytes);
  std::vector<uint64_t> places(rows);
  for (uint64_t i = 0; i < rows; ++i) places[i] = 2 * i;
  std::mt19937_64 random(1);
  std::shuffle(places.begin(), places.end(), random);
  std::vector<uint8_t> weights(size * kWeightBytes), scales(size * kScaleBytes);
  uint64_t at = 0;
  for (auto _ : state) {
    if (at + size > rows) at = 0;
    for (uint64_t i = 0; i < size; ++i) {
      if (at + i + 8 < rows) prefetch_row(slab.data() + places[at + i + 8] * kRowBytes);
      copy_row_out(slab.data() + places[at + i] * kRowBytes, weights.data() + i * kWeightBytes,
                   scales.data() + i * kScaleBytes);
    }
    benchmark::ClobberMemory();
    at += size;
  }
  count_rows(state, size);
}

// How near does a batch of misses come to the drive? "of drive" is its share of the reads that the
// drive could do in that time: latency decides for few rows, the rate for many.
void misses(benchmark::State& state) {
  const auto size = static_cast<uint32_t>(state.range(0));
  const auto table = must(SimulatedTable::create(kTableRows, 0, kGb10Drive));
  Caller caller(*table, size, 1);
  double reads = 0;
  for (auto _ : state) {
    state.PauseTiming();
    caller.draw_ids(kTableRows);
    state.ResumeTiming();
    reads += static_cast<double>(caller.look_up().reads);
  }
  count_rows(state, size);
  state.counters["of drive"] =
      benchmark::Counter(reads / kGb10Drive.reads_per_second(), benchmark::Counter::kIsRate);
}

// What does a repeated id save? Of 1,152 ids without a cache, this share (in percent) are repeats.
void dedup(benchmark::State& state) {
  constexpr uint32_t kIds = 1152;
  const auto repeats = static_cast<uint32_t>(kIds * state.range(0) / 100);
  const auto table = must(SimulatedTable::create(kTableRows, 0, kGb10Drive));
  Caller caller(*table, kIds, 1);
  double reads = 0;
  for (auto _ : state) {
    state.PauseTiming();
    caller.draw_ids(kTableRows);
    std::vector<int64_t>& ids = caller.ids();
    for (uint32_t i = 0; i < repeats; ++i) ids[kIds - 1 - i] = ids[i % (kIds - repeats)];
    std::shuffle(ids.begin(), ids.end(), caller.random());
    state.ResumeTiming();
    reads += static_cast<double>(caller.look_up().reads);
  }
  count_rows(state, kIds);
  state.counters["reads"] = benchmark::Counter(reads, benchmark::Counter::kAvgIterations);
}

// What does a row that comes in cost the processor, beside its read: a place in a full cache, with
// an eviction, and the copy?
void fill(benchmark::State& state) {
  const auto table = must(SimulatedTable::create(kTableRows, slots_wanted(), kAtOnce));
  RowCache& cache = *table->cache();
  const std::vector<uint8_t> row(kRowBytes, 7);
  std::mt19937_64 random(1);
  uint64_t evictions = 0, last_evictions = 0;
  const auto bring_in = [&](uint64_t id) {
    bool evicted = false;
    const Slot slot = cache.reserve(id, &evicted);
    if (slot != kNoSlot) cache.fill(slot, id, row.data(), row.data() + kWeightBytes);
    evictions += evicted;
  };
  // Three times over, so that every set is full.
  for (uint64_t i = 0; i < 3 * cache.slots(); ++i) bring_in(random() % kTableRows);
  constexpr uint32_t kRows = 1024;
  std::vector<uint64_t> ids(kRows);
  last_evictions = evictions;
  for (auto _ : state) {
    state.PauseTiming();
    for (uint64_t& id : ids) id = random() % kTableRows;
    state.ResumeTiming();
    for (const uint64_t id : ids) bring_in(id);
  }
  count_rows(state, kRows);
  state.counters["evictions"] = benchmark::Counter(static_cast<double>(evictions - last_evictions),
                                                   benchmark::Counter::kAvgIterations);
}

BENCHMARK(hits)->Arg(144)->Arg(1152)->Arg(49152)->UseRealTime();
BENCHMARK(gather)->Arg(144)->Arg(1152)->Arg(49152)->UseRealTime();
BENCHMARK(contention)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK(misses)->Arg(1)->Arg(8)->Arg(64)->Arg(144)->Arg(1152)->Arg(8192)->UseRealTime();
BENCHMARK(dedup)->Arg(0)->Arg(25)->Arg(50)->Arg(90)->UseRealTime();
BENCHMARK(fill)->UseRealTime();

}  // namespace
}  // namespace row_store

BENCHMARK_MAIN();
