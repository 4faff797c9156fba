// Every backing gives the same bytes, for every batch a client can hand in.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/scoped_env.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

namespace {

constexpr uint64_t kRows = 20011;
constexpr uint64_t kLo = 1003, kHi = 18001;
constexpr uint64_t kAllFit = 40000 * 272;

enum class Kind { kPlain, kRaw, kPacked, kPage15 };
struct Backing {
  const char* name;
  Kind kind;
  const char* scales;
  const char* mode;
  const char* engine;
};

const Backing kBackings[] = {
    {"checkpoint with resident scales", Kind::kPlain, "1", "nvme", "auto"},
    {"checkpoint without resident scales", Kind::kPlain, "0", "nvme", "auto"},
    {"checkpoint through io_uring", Kind::kPlain, "0", "nvme", "uring"},
    {"checkpoint through aio", Kind::kPlain, "0", "nvme", "aio"},
    {"checkpoint through threads", Kind::kPlain, "0", "nvme", "pool"},
    {"buffered checkpoint", Kind::kPlain, "0", "nvme", "buffered"},
    {"raw extents", Kind::kRaw, "1", "nvme", "auto"},
    {"rows in memory", Kind::kPlain, "1", "ram", "auto"},
    {"packed shard", Kind::kPacked, "1", "nvme", "auto"},
    {"packed shard through aio", Kind::kPacked, "1", "nvme", "aio"},
    {"packed shard through threads", Kind::kPacked, "1", "nvme", "pool"},
    {"buffered packed shard", Kind::kPacked, "1", "nvme", "buffered"},
    {"page15 shard", Kind::kPage15, "1", "nvme", "auto"},
    {"rows in memory beside a packed shard", Kind::kPacked, "1", "ram", "auto"},
};

// Very large batches (helpers join from 8,192 rows on, windows end at 65,536) take most of the
// time.
std::vector<std::vector<int64_t>> batches(bool very_large) {
  std::mt19937_64 random(7);
  const auto any = [&](uint64_t count, uint64_t from, uint64_t to) {
    std::vector<int64_t> ids(count);
    for (int64_t& id : ids) id = static_cast<int64_t>(from + random() % (to - from));
    return ids;
  };
  std::vector<std::vector<int64_t>> all;
  for (const uint64_t count : {1, 2, 7, 8, 9, 24, 143, 144, 145, 511, 512, 513, 1024, 5000})
    all.push_back(any(count, 0, kRows));
  all.push_back({0, kLo - 1, kLo, kHi - 1, kHi, kRows - 1});
  all.push_back(std::vector<int64_t>(700, 4242));  // one id, again and again
  all.push_back(any(3000, kLo, kLo + 40));         // few pages, many repeats
  if (very_large) {
    all.push_back(any(20000, kLo, kHi));  // helpers join
    all.push_back(any(66000, 0, kRows));  // more than one window
  }
  std::vector<int64_t> run(6000);  // neighbours share pages
  for (size_t i = 0; i < run.size(); ++i) run[i] = static_cast<int64_t>(kLo + i);
  all.push_back(run);
  return all;
}

// Twice: the second time rows come from the cache, where there is one, and only then do very large
// batches take another path than the first time.
void check_batches(row_store_t* store, const TestTable& table, bool cached) {
  LookupBuffers buffers(66000);
  uint64_t in_range = 0;
  for (int round = 0; round < 2; ++round) {
    for (const std::vector<int64_t>& ids : batches(round == 0 || cached)) {
      buffers.look_up(store, ids);
      REQUIRE(buffers.first_wrong(table, ids, kLo, kHi) == -1);
      REQUIRE(buffers.canaries_whole());
      for (const int64_t id : ids)
        in_range += static_cast<uint64_t>(id) >= kLo && static_cast<uint64_t>(id) < kHi;
    }
  }
  uint64_t stats[ROW_STORE_STAT_COUNT];
  row_store_stats(store, stats);
  CHECK(stats[ROW_STORE_STAT_HITS] + stats[ROW_STORE_STAT_MISSES] == in_range);
}

uint64_t cache_backing(row_store_t* store) {
  row_store_statistics all{};
  all.struct_bytes = sizeof all;
  REQUIRE(row_store_extended_stats(store, &all) == 1);
  return all.cache_backing;
}

void check_backing(const TempDir& dir, const Backing& backing, uint64_t budget) {
  INFO(backing.name << ", budget " << budget);
  const ScopedEnv scales("DSV41_RESIDENT_SCALES", backing.scales);
  const ScopedEnv mode("OFFLOAD_MODE", backing.mode);
  const ScopedEnv engine("DSV41_IO_ENGINE", backing.engine);
  const TestTable table = backing.kind == Kind::kRaw ? TestTable::raw(dir.file("r"), kRows)
                                                     : TestTable::checkpoint(dir.file("t"), kRows);
  row_store_t* store = table.open(budget);
  REQUIRE(store != nullptr);
  // A guest with a DRM device runs this suite on it; TestTable::open asks for the pool.
  if (std::getenv("ROW_STORE_TEST_DRM_NODE") != nullptr && budget != 0 &&
      std::string(backing.mode) != "ram")
    REQUIRE(cache_backing(store) == ROW_STORE_CACHE_DRM);
  row_store_range(store, kLo, kHi);
  if (backing.kind == Kind::kPacked || backing.kind == Kind::kPage15) {
    const auto layout = backing.kind == Kind::kPacked ? row_store::PackedLayout::kDense
                                                      : row_store::PackedLayout::kPage15;
    table.write_packed(dir.file("p"), layout, 14, kLo, kHi);
    REQUIRE(row_store_attach_packed(store, dir.file("p").c_str(), 14) == 1);
  }
  check_batches(store, table, budget == kAllFit);
  row_store_close(store);
}

void check_backings(uint64_t budget) {
  const TempDir dir;
  // One backing alone, where all of them take too long.
  const char* only = std::getenv("ROW_STORE_TEST_BACKING");
  int checked = 0;
  for (const Backing& backing : kBackings) {
    if (only != nullptr && std::string(only) != backing.name) continue;
    check_backing(dir, backing, budget);
    ++checked;
  }
  REQUIRE(checked > 0);
}

}  // namespace

TEST_CASE("every backing serves every batch bit for bit without a cache", "[conformance]") {
  check_backings(0);
}

TEST_CASE("every backing serves every batch bit for bit with a cache smaller than the batch",
          "[conformance]") {
  check_backings(500 * 264);
}

TEST_CASE("every backing serves every batch bit for bit with a cache that holds the range",
          "[conformance]") {
  check_backings(kAllFit);
}

TEST_CASE("an owned range of nothing gives zero rows", "[conformance]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), 100);
  row_store_t* store = table.open(1 << 20);
  row_store_range(store, 50, 50);
  LookupBuffers buffers(3);
  const std::vector<int64_t> ids = {0, 50, 99};
  buffers.look_up(store, ids);
  CHECK(buffers.first_wrong(table, ids, 50, 50) == -1);
  uint64_t stats[ROW_STORE_STAT_COUNT];
  row_store_stats(store, stats);
  CHECK(stats[ROW_STORE_STAT_HITS] + stats[ROW_STORE_STAT_MISSES] == 0);
  CHECK(stats[ROW_STORE_STAT_SCALE_BYTES] == 0);
  row_store_close(store);
}
