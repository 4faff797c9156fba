// The extended statistics: every counter moves by what was done and by nothing else, and
// percentiles are those of known values.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "format/row_layout.h"
#include "io/context.h"
#include "store/counters.h"
#include "support/catch.h"
#include "support/child.h"
#include "support/scoped_env.h"
#include "support/seccomp.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

namespace {

using row_store::LatencyHistogram;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kRows = 4000;

row_store_statistics statistics_of(row_store_t* store) {
  row_store_statistics all{};
  all.struct_bytes = sizeof all;
  REQUIRE(row_store_extended_stats(store, &all) == 1);
  REQUIRE(all.struct_bytes == sizeof all);
  return all;
}

// Not TestTable::open: its cache may be asked to live on a device, and slots are counted here.
row_store_t* open_in_memory(const TestTable& table, uint64_t budget) {
  row_store_t* store = row_store_open(table.path.c_str(), table.rows, table.weight_offset,
                                      table.scale_offset, budget);
  REQUIRE(store != nullptr);
  return store;
}

void look_up(row_store_t* store, const TestTable& table, const std::vector<int64_t>& ids,
             uint64_t lo = 0, uint64_t hi = kRows) {
  LookupBuffers buffers(ids.size());
  buffers.look_up(store, ids);
  REQUIRE(buffers.first_wrong(table, ids, lo, hi) == -1);
}

// Reads of a few rows that are all planned before the first is sent: one for each first page.
class Reads {
 public:
  void want(uint64_t offset, uint64_t bytes) {
    const uint64_t page = offset / row_store::kPageBytes;
    uint64_t& pages = pages_[page];
    pages = std::max(pages, (offset + bytes - 1) / row_store::kPageBytes - page + 1);
  }
  void want_row(const TestTable& table, uint64_t id) {
    want(table.weight_offset + id * 256, 256);
    want(table.scale_offset + id * 8, 8);
  }
  uint64_t count() const { return pages_.size(); }
  uint64_t bytes() const {
    uint64_t pages = 0;
    for (const auto& [first, more] : pages_) pages += more;
    return pages * row_store::kPageBytes;
  }

 private:
  std::map<uint64_t, uint64_t> pages_;
};

}  // namespace

TEST_CASE("a store that was only opened has counted nothing", "[statistics]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  row_store_t* store = open_in_memory(table, 0);
  const row_store_statistics all = statistics_of(store);
  for (const uint64_t field :
       {all.lookups,        all.rows,        all.unique_rows,  all.zero_rows,
        all.hits,           all.misses,      all.evictions,    all.reads,
        all.read_bytes,     all.retries,     all.demotions,    all.packed_failures,
        all.lookup_ns,      all.wait_ns,     all.cache_slots,  all.cache_bytes,
        all.resident_bytes, all.scale_bytes, all.sum_failures, all.sum_bytes,
        all.packed_dropped})
    CHECK(field == 0);
  CHECK(all.cache_backing == ROW_STORE_CACHE_NONE);
  CHECK(all.checkpoint_engine != ROW_STORE_ENGINE_NONE);
  CHECK(all.checkpoint_access != ROW_STORE_ACCESS_NONE);
  CHECK(all.packed_engine == ROW_STORE_ENGINE_NONE);
  CHECK(all.packed_access == ROW_STORE_ACCESS_NONE);
  for (const row_store_latency& latency : all.latency) {
    CHECK(latency.lookups == 0);
    CHECK(latency.p50_ns + latency.p90_ns + latency.p99_ns + latency.p999_ns == 0);
    CHECK(latency.max_ns == 0);
  }
  row_store_close(store);
}

TEST_CASE("repeats are hits, their first a miss, and reads are counted with their bytes",
          "[statistics]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  row_store_t* store = open_in_memory(table, 0);
  look_up(store, table, {100, 900, 100, 3999, 100, 2500});
  Reads reads;
  for (const uint64_t id : {100, 900, 3999, 2500}) reads.want_row(table, id);
  row_store_statistics all = statistics_of(store);
  CHECK(all.lookups == 1);
  CHECK(all.rows == 6);
  CHECK(all.unique_rows == 4);
  CHECK(all.hits == 2);
  CHECK(all.misses == 4);
  CHECK(all.zero_rows == 0);
  CHECK(all.evictions == 0);
  CHECK(all.reads == reads.count());
  CHECK(all.read_bytes == reads.bytes());
  CHECK(all.lookup_ns >= all.wait_ns);
  CHECK(all.wait_ns > 0);
  // Without a cache the same again costs the same again.
  look_up(store, table, {100, 900, 100, 3999, 100, 2500});
  all = statistics_of(store);
  CHECK(all.lookups == 2);
  CHECK(all.hits == 4);
  CHECK(all.misses == 8);
  CHECK(all.reads == 2 * reads.count());
  CHECK(all.read_bytes == 2 * reads.bytes());
  row_store_close(store);
}

TEST_CASE("a lookup of no rows counts as nothing or as one lookup of none", "[statistics]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  row_store_t* store = open_in_memory(table, 0);
  row_store_work work{store, nullptr, nullptr, nullptr, 0};
  row_store_lookup(&work);
  const row_store_statistics all = statistics_of(store);
  CHECK(all.lookups == all.latency[0].lookups);
  CHECK(all.rows + all.hits + all.misses + all.reads == 0);
  row_store_close(store);
}

TEST_CASE("rows outside the range are zero rows and neither hits nor misses", "[statistics]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  const ScopedEnv no_scales("DSV41_RESIDENT_SCALES", "0");
  row_store_t* store = open_in_memory(table, 0);
  row_store_range(store, 1000, 2000);
  look_up(store, table, {0, 999, 1000, 1999, 2000, 3999, 0}, 1000, 2000);
  const row_store_statistics all = statistics_of(store);
  CHECK(all.rows == 7);
  CHECK(all.zero_rows == 5);
  CHECK(all.misses == 2);
  CHECK(all.hits == 0);
  CHECK(all.unique_rows == 7);  // only repeats of missing ids are not
  CHECK(all.scale_bytes == 0);
  row_store_close(store);
}

TEST_CASE("a cached row is a hit without a read, and a full set evicts one row for another",
          "[statistics]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  constexpr uint64_t kOneSet = 64 + 12 * 264;
  row_store_t* store = open_in_memory(table, kOneSet);
  row_store_statistics all = statistics_of(store);
  CHECK(all.cache_slots == 12);
  CHECK(all.cache_bytes == kOneSet);
  CHECK(all.cache_backing == ROW_STORE_CACHE_MEMORY);
  std::vector<int64_t> ids(12);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(300 * i);
  look_up(store, table, ids);
  all = statistics_of(store);
  CHECK(all.misses == 12);
  CHECK(all.evictions == 0);
  const uint64_t reads = all.reads, wait_ns = all.wait_ns;
  look_up(store, table, ids);
  all = statistics_of(store);
  CHECK(all.hits == 12);
  CHECK(all.misses == 12);
  CHECK(all.reads == reads);
  CHECK(all.wait_ns == wait_ns);
  CHECK(all.unique_rows == 24);
  look_up(store, table, {3601, 3602, 3603});
  all = statistics_of(store);
  CHECK(all.misses == 15);
  CHECK(all.evictions == 3);
  CHECK(all.reads > reads);
  row_store_close(store);
}

TEST_CASE("rows in memory are hits and say how much memory", "[statistics]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  const ScopedEnv ram("OFFLOAD_MODE", "ram");
  row_store_t* store = open_in_memory(table, 1 << 20);
  row_store_range(store, 500, 1500);
  look_up(store, table, {500, 500, 1499, 3}, 500, 1500);
  const row_store_statistics all = statistics_of(store);
  CHECK(all.resident_bytes == 1000 * 264);
  CHECK(all.hits == 3);
  CHECK(all.misses == 0);
  CHECK(all.zero_rows == 1);
  CHECK(all.reads == 0);
  CHECK(all.cache_slots == 0);
  CHECK(all.cache_backing == ROW_STORE_CACHE_NONE);
  row_store_close(store);
}

TEST_CASE("scales are counted until a shard takes over, which then shows engine and access",
          "[statistics]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  table.write_packed(dir.file("p"), row_store::PackedLayout::kDense, 1, 0, kRows);
  row_store_t* store = open_in_memory(table, 0);
  row_store_range(store, 0, kRows);
  row_store_statistics all = statistics_of(store);
  CHECK(all.scale_bytes == kRows * 8);
  CHECK(all.packed_engine == ROW_STORE_ENGINE_NONE);
  REQUIRE(row_store_attach_packed(store, dir.file("p").c_str(), 1) == 1);
  all = statistics_of(store);
  CHECK(all.scale_bytes == 0);
  // The same folder: what serves one file serves the other.
  CHECK(all.packed_engine == all.checkpoint_engine);
  CHECK(all.packed_access == all.checkpoint_access);
  look_up(store, table, {0, 1000, 2000, 3000});
  all = statistics_of(store);
  CHECK(all.reads == 4);  // one a row
  CHECK(all.packed_failures == 0);
  CHECK(all.retries == 0);
  row_store_close(store);
}

TEST_CASE("engine and access are those that were asked for", "[statistics]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  const auto opened_with = [&](const char* engine) {
    const ScopedEnv env("DSV41_IO_ENGINE", engine);
    row_store_t* store = open_in_memory(table, 0);
    look_up(store, table, {1, 2, 3});
    const row_store_statistics all = statistics_of(store);
    row_store_close(store);
    return all;
  };
  const row_store_statistics buffered = opened_with("buffered");
  CHECK(buffered.checkpoint_engine == ROW_STORE_ENGINE_THREADS);
  CHECK(buffered.checkpoint_access == ROW_STORE_ACCESS_BUFFERED);
  const row_store_statistics pool = opened_with("pool");
  CHECK(pool.checkpoint_engine == ROW_STORE_ENGINE_THREADS);
  if (pool.checkpoint_access != ROW_STORE_ACCESS_DIRECT) return;  // no direct reads here
  if (row_store::make_reader(row_store::Engine::kUring, 8).ok())
    CHECK(opened_with("uring").checkpoint_engine == ROW_STORE_ENGINE_URING);
  if (row_store::make_reader(row_store::Engine::kAio, 8).ok())
    CHECK(opened_with("aio").checkpoint_engine == ROW_STORE_ENGINE_AIO);
}

TEST_CASE("a shard that was cut short costs a retry a read, and its rows are named failures",
          "[statistics]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  table.write_packed(dir.file("p"), row_store::PackedLayout::kDense, 1, 0, kRows);
  row_store_t* store = open_in_memory(table, 0);
  row_store_range(store, 0, kRows);
  REQUIRE(row_store_attach_packed(store, dir.file("p").c_str(), 1) == 1);
  std::filesystem::resize_file(dir.file("p"), 1 << 19);  // holds rows up to 1,970 or so
  look_up(store, table, {0, 1000, 3000, 3900});
  const row_store_statistics all = statistics_of(store);
  CHECK(all.misses == 4);
  CHECK(all.retries == 2);
  CHECK(all.packed_failures == 2);
  CHECK(all.demotions == 0);
  CHECK(all.reads > 4);
  row_store_close(store);
}

TEST_CASE("an engine that stops working is one demotion and shows as threads", "[statistics]") {
  if (!row_store::make_reader(row_store::Engine::kAio, 8).ok()) return;  // forbidden here
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  const ScopedEnv aio("DSV41_IO_ENGINE", "aio");
  const ChildResult child = run_in_child([&] {
    row_store_t* store = open_in_memory(table, 0);
    if (statistics_of(store).checkpoint_engine != ROW_STORE_ENGINE_AIO) return 77;
    if (!refuse_system_calls({SYS_io_submit}, EPERM)) return 90;
    for (int i = 0; i < 3; ++i) look_up(store, table, {1, 1000, 2000, 3000});
    const row_store_statistics all = statistics_of(store);
    if (all.demotions != 1) return 91;
    if (all.checkpoint_engine != ROW_STORE_ENGINE_THREADS) return 92;
    if (all.retries == 0) return 93;
    return 0;
  });
  INFO(child.standard_error);
  CHECK((child.exit_code == 0 || child.exit_code == 77));
}

TEST_CASE("each size of lookup has a histogram of its own", "[statistics]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  row_store_t* store = open_in_memory(table, 4 << 20);
  const auto from = Clock::now();
  const uint64_t sizes[] = {1, 63, 64, 1023, 1024, 16383, 16384};
  for (const uint64_t size : sizes) {
    std::vector<int64_t> ids(size);
    for (uint64_t i = 0; i < size; ++i) ids[i] = static_cast<int64_t>(i * 7 % kRows);
    look_up(store, table, ids);
  }
  const auto passed_ns = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - from).count());
  const row_store_statistics all = statistics_of(store);
  const uint64_t expected[ROW_STORE_SIZE_CLASSES] = {2, 2, 2, 1};
  uint64_t most = 0;
  for (int i = 0; i < ROW_STORE_SIZE_CLASSES; ++i) {
    const row_store_latency& latency = all.latency[i];
    CHECK(latency.lookups == expected[i]);
    CHECK(latency.p50_ns > 0);
    CHECK(latency.p50_ns <= latency.p90_ns);
    CHECK(latency.p90_ns <= latency.p99_ns);
    CHECK(latency.p99_ns <= latency.p999_ns);
    CHECK(latency.p999_ns <= latency.max_ns);
    most = std::max(most, latency.max_ns);
  }
  CHECK(all.lookups == 7);
  CHECK(most <= all.lookup_ns);
  CHECK(all.lookup_ns <= passed_ns);
  // One lookup is every percentile of itself.
  CHECK(all.latency[3].p50_ns == all.latency[3].max_ns);
  row_store_close(store);
}

TEST_CASE("a caller with a smaller or larger struct gets what it has room for", "[statistics]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  row_store_t* store = open_in_memory(table, 1 << 20);
  look_up(store, table, {5, 6, 7});
  look_up(store, table, {5, 6, 7});
  struct Newer {
    row_store_statistics known;
    uint64_t later[4];
  };
  static_assert(sizeof(Newer) == sizeof(row_store_statistics) + 32);
  const row_store_statistics whole = statistics_of(store);
  for (const uint64_t bytes :
       {uint64_t{0}, uint64_t{8}, uint64_t{15}, uint64_t{16}, uint64_t{20}, uint64_t{24},
        uint64_t{sizeof whole} - 8, uint64_t{sizeof whole}, uint64_t{sizeof(Newer)}}) {
    INFO("struct_bytes " << bytes);
    Newer out;
    std::memset(&out, 0xC5, sizeof out);
    out.known.struct_bytes = bytes;
    Newer expected = out;
    const uint64_t filled = bytes < 16 ? 0 : std::min<uint64_t>(bytes, sizeof whole);
    std::memcpy(&expected, &whole, filled);
    if (filled != 0) expected.known.struct_bytes = filled;
    CHECK(row_store_extended_stats(store, &out.known) == (bytes < 16 ? 0 : 1));
    CHECK(std::memcmp(&out, &expected, sizeof out) == 0);
  }
  row_store_close(store);
}

TEST_CASE("every time lies in a bucket whose end is at most an eighth above it", "[statistics]") {
  std::mt19937_64 random(3);
  std::vector<uint64_t> values = {UINT64_MAX, UINT64_MAX - 1};
  for (uint64_t value = 0; value < 5000; ++value) values.push_back(value);
  for (int shift = 0; shift < 64; ++shift) {
    values.push_back(uint64_t{1} << shift);
    values.push_back((uint64_t{1} << shift) - 1);
    for (int i = 0; i < 50; ++i) values.push_back(random() >> shift);
  }
  std::sort(values.begin(), values.end());
  uint32_t before = 0;
  uint64_t wrong = 0;
  for (const uint64_t value : values) {
    const uint32_t bucket = LatencyHistogram::bucket_of(value);
    REQUIRE(bucket < LatencyHistogram::kBuckets);
    const uint64_t end = LatencyHistogram::bucket_end(bucket);
    wrong += bucket < before || end < value || end - value > value / 8 ||
             LatencyHistogram::bucket_of(end) != bucket;
    before = bucket;
  }
  CHECK(wrong == 0);
}

TEST_CASE("percentiles are those of known values, rounded up by at most an eighth",
          "[statistics]") {
  std::mt19937_64 random(4);
  for (const size_t count : {1u, 2u, 10u, 99u, 100u, 1000u, 1001u, 12345u}) {
    for (const int spread : {4, 20, 40}) {
      INFO(count << " values of up to " << spread << " bits");
      const auto histogram = std::make_unique<LatencyHistogram>();
      std::vector<uint64_t> values(count);
      for (uint64_t& value : values) {
        value = random() >> (64 - spread) >> random() % 4;
        histogram->add(value);
      }
      std::sort(values.begin(), values.end());
      const row_store_latency summary = row_store::summarise(*histogram);
      CHECK(summary.lookups == count);
      CHECK(summary.max_ns == values.back());
      const auto check = [&](uint64_t per_mille, uint64_t found) {
        // The smallest value that so many do not exceed.
        const uint64_t exact = values[(count * per_mille + 999) / 1000 - 1];
        CHECK(found >= exact);
        CHECK(found - exact <= exact / 8);
      };
      check(500, summary.p50_ns);
      check(900, summary.p90_ns);
      check(990, summary.p99_ns);
      check(999, summary.p999_ns);
    }
  }
}
