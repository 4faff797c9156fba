// One request, one cache: who uses it up, what the cache is then made of, and what the log says.
#include "drm/next_cache.h"

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "drm/fake_calls.h"
#include "format/row_layout.h"
#include "store/store.h"
#include "support/catch.h"
#include "support/child.h"
#include "support/scoped_env.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

using row_store::CacheConfig;
using row_store::kRowBytes;
using row_store::RowCache;
using row_store::Slab;
using row_store::Store;
using row_store::TableSpec;

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr const char* kNode = "/dev/dri/card7";
constexpr uint64_t kTableRows = 384'006'168;

// The adapter's arithmetic, made for 272 bytes a slot.
constexpr uint64_t adapter_budget(uint64_t pool_bytes) { return pool_bytes * 272 / 264; }

std::unique_ptr<Store> open_store(const TestTable& table, uint64_t budget_bytes) {
  auto store = Store::open(
      TableSpec{table.path, table.rows, table.weight_offset, table.scale_offset, budget_bytes});
  REQUIRE(store.ok());
  return store.take();
}

row_store_statistics statistics(const Store& store) {
  row_store_statistics all{};
  store.copy_statistics(&all);
  return all;
}

}  // namespace

TEST_CASE("the pool bounds the slots and nearly all of it is used", "[drm]") {
  for (const uint64_t mib : {16, 512, 1792, 2032}) {
    for (const unsigned ways : {1u, 4u, 12u, 16u}) {
      const uint64_t pool_bytes = mib * kMiB;
      const CacheConfig config{kTableRows, adapter_budget(pool_bytes), ways};
      const uint64_t sets = RowCache::set_count(config, pool_bytes);
      INFO(mib << " MiB, " << ways << " ways");
      CHECK(sets * ways * kRowBytes <= pool_bytes);
      CHECK(pool_bytes - sets * ways * kRowBytes < ways * kRowBytes);
      const uint64_t index_bytes_a_set = ways <= 12 ? 64 : 128;
      CHECK(sets * index_bytes_a_set <= config.budget_bytes);
    }
  }
}

TEST_CASE("the next store with a cache gets the pool, and only that one", "[drm]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), 5000);
  FakeCalls calls;
  row_store::request_next_cache(calls, kNode, 16 * kMiB);
  CHECK(calls.opens == 0);  // a request does no I/O
  {
    const std::unique_ptr<Store> without = open_store(table, 0);
    CHECK(calls.opens == 0);
    const std::unique_ptr<Store> first = open_store(table, adapter_budget(16 * kMiB));
    CHECK(calls.opens == 1);
    CHECK(statistics(*first).cache_backing == ROW_STORE_CACHE_DRM);
    CHECK(statistics(*first).cache_slots == 16 * kMiB / (12 * kRowBytes) * 12);
    const std::unique_ptr<Store> second = open_store(table, adapter_budget(16 * kMiB));
    CHECK(calls.opens == 1);
    CHECK(statistics(*second).cache_backing == ROW_STORE_CACHE_MEMORY);
  }
  CHECK(calls.nothing_held());
}

TEST_CASE("opens without a cache leave the request alone", "[drm]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), 5000);
  FakeCalls calls;
  row_store::request_next_cache(calls, kNode, 16 * kMiB);
  open_store(table, 0);
  open_store(table, 100);  // less than one set
  {
    const ScopedEnv ram("OFFLOAD_MODE", "ram");
    open_store(table, 1 * kMiB);
  }
  CHECK_FALSE(Store::open(TableSpec{dir.file("absent"), 10, 0, 0, 1 * kMiB}).ok());
  CHECK(calls.opens == 0);
  open_store(table, 1 * kMiB);
  CHECK(calls.opens == 1);
}

TEST_CASE("a request that fails is used up, and the cache is in ordinary memory", "[drm]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), 5000);
  FakeCalls calls;
  calls.fail["create"] = ENOSYS;
  row_store::request_next_cache(calls, kNode, 16 * kMiB);
  const std::unique_ptr<Store> first = open_store(table, 1 * kMiB);
  CHECK(statistics(*first).cache_backing == ROW_STORE_CACHE_MEMORY);
  CHECK(statistics(*first).cache_bytes <= 1 * kMiB);
  CHECK(statistics(*first).cache_slots > 0);
  calls.fail.clear();
  const std::unique_ptr<Store> second = open_store(table, 1 * kMiB);
  CHECK(statistics(*second).cache_backing == ROW_STORE_CACHE_MEMORY);
  CHECK(calls.opens == 1);
}

TEST_CASE("a later request replaces one that was not used", "[drm]") {
  FakeCalls calls;
  row_store::request_next_cache(calls, "/dev/dri/card1", 16 * kMiB);
  row_store::request_next_cache(calls, "/dev/dri/card2", 32 * kMiB);
  const auto source = row_store::take_next_slab_source();
  REQUIRE(source != nullptr);
  const std::unique_ptr<Slab> slab = source->make_slab(CacheConfig{1000, 1 * kMiB, 12});
  REQUIRE(slab != nullptr);
  CHECK(calls.opened_node == "/dev/dri/card2");
  CHECK(slab->bytes() == 32 * kMiB);
  CHECK(std::string(slab->backing()) == "drm");
  CHECK(row_store::take_next_slab_source() == nullptr);
}

TEST_CASE("success is one line: bytes, slots, node and driver", "[drm]") {
  const ChildResult child = run_in_child([] {
    FakeCalls calls;
    row_store::DrmSlabSource source(calls, kNode, 16 * kMiB);
    return source.make_slab(CacheConfig{kTableRows, adapter_budget(16 * kMiB), 12}) ? 0 : 1;
  });
  CHECK(child.exit_code == 0);
  INFO(child.standard_error);
  CHECK(line_count(child.standard_error) == 1);
  for (const char* part :
       {"Engram: row cache of 16774560 bytes on the display reservation (/dev/dri/card7)",
        "63540 slots", "pool of 16777216 bytes", "driver fakedrm"})
    CHECK(has(child.standard_error, part));
}

TEST_CASE("failure is one line that says where the cache is now", "[drm]") {
  for (const uint64_t bytes : {uint64_t{0}, 16 * kMiB, 16 * kMiB + 1}) {
    const ChildResult child = run_in_child([bytes] {
      FakeCalls calls;
      calls.fail["open"] = ENOENT;
      row_store::DrmSlabSource source(calls, kNode, bytes);
      return source.make_slab(CacheConfig{1000, 1 * kMiB, 12}) ? 1 : 0;
    });
    CHECK(child.exit_code == 0);
    INFO(child.standard_error);
    CHECK(line_count(child.standard_error) == 1);
    CHECK(has(child.standard_error, "Engram: no row cache on the display reservation: "));
    CHECK(has(child.standard_error, "stays in ordinary memory"));
    CHECK(has(child.standard_error, kNode));
  }
}

TEST_CASE("a node of NULL is a request that falls back", "[drm]") {
  FakeCalls calls;
  calls.fail["open"] = ENOENT;
  row_store::request_next_cache(calls, nullptr, 16 * kMiB);
  const auto source = row_store::take_next_slab_source();
  REQUIRE(source != nullptr);
  CHECK(source->make_slab(CacheConfig{1000, 1 * kMiB, 12}) == nullptr);
  CHECK(calls.opened_node.empty());
}

TEST_CASE("of many threads one takes the request", "[drm]") {
  FakeCalls calls;
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> taken{0};
    std::vector<std::thread> threads;
    threads.emplace_back([&] { row_store::request_next_cache(calls, kNode, 16 * kMiB); });
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&] { taken += row_store::take_next_slab_source() != nullptr; });
    for (std::thread& thread : threads) thread.join();
    taken += row_store::take_next_slab_source() != nullptr;
    REQUIRE(taken == 1);
  }
}
