// Ten million rows and more, looked up by many threads at once, each one compared.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/scoped_env.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kScale = 20;  // sanitizers slow the lookups and the comparing down
#else
constexpr uint64_t kScale = 1;
#endif

constexpr uint64_t kRows = 40'009;
constexpr uint64_t kAllFit = kRows * 300;  // most rows come from the cache after the first pass
constexpr uint64_t kFewFit = kRows / 8 * 272;

std::atomic<uint64_t> g_verified{0};

struct Served {
  row_store_t* store;
  const TestTable* table;
  uint64_t lo, hi;
};

// Looks up random batches until `rows` ids were verified; returns how many rows were wrong.
uint64_t hammer(const std::vector<Served>& stores, uint64_t seed, uint64_t rows) {
  constexpr uint64_t kMost = 9000;
  std::mt19937_64 random(seed);
  LookupBuffers buffers(kMost);
  uint64_t wrong = 0, done = 0;
  std::vector<int64_t> ids;
  while (done < rows) {
    const Served& served = stores[random() % stores.size()];
    const uint64_t kind = random() % 64;
    // A decode step, a few rows, or now and then a prefill that helper threads join.
    const uint64_t count = kind == 0   ? 8192 + random() % 800
                           : kind < 50 ? 144
                                       : 1 + random() % 1500;
    const uint64_t span = random() % 4 == 0 ? kRows : 2000;
    ids.resize(count);
    for (int64_t& id : ids) id = static_cast<int64_t>(kRows - 1 - random() % span);
    buffers.look_up(served.store, ids);
    if (buffers.first_wrong(*served.table, ids, served.lo, served.hi) != -1) ++wrong;
    if (!buffers.canaries_whole()) ++wrong;
    done += count;
  }
  g_verified += buffers.rows_verified();
  return wrong;
}

uint64_t hammer_in_threads(const std::vector<Served>& stores, int thread_count, uint64_t rows) {
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  const uint64_t share = rows / kScale / static_cast<uint64_t>(thread_count);
  for (int i = 0; i < thread_count; ++i)
    threads.emplace_back([&, i] { wrong += hammer(stores, static_cast<uint64_t>(i) + 1, share); });
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

// Reads the statistics all the time; returns how often a counter ran backwards or a sum was off.
class Poller {
 public:
  explicit Poller(row_store_t* store) : store_(store), thread_([this] { poll(); }) {}
  uint64_t stop() {
    stop_ = true;
    thread_.join();
    return faults_;
  }
  uint64_t polls() const { return polls_; }

 private:
  void poll() {
    uint64_t last[ROW_STORE_STAT_COUNT] = {};
    while (!stop_) {
      uint64_t now[ROW_STORE_STAT_COUNT + 1];
      now[ROW_STORE_STAT_COUNT] = 0xC5C5C5C5;
      row_store_stats(store_, now);
      for (int word = ROW_STORE_STAT_HITS; word <= ROW_STORE_STAT_READS; ++word)
        faults_ += now[word] < last[word];
      faults_ += now[ROW_STORE_STAT_COUNT] != 0xC5C5C5C5;
      std::copy(now, now + ROW_STORE_STAT_COUNT, last);
      row_store_statistics more{};
      more.struct_bytes = sizeof more;
      faults_ += row_store_extended_stats(store_, &more) != 1;
      ++polls_;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  row_store_t* store_;
  std::atomic<bool> stop_{false};
  uint64_t faults_ = 0;
  uint64_t polls_ = 0;
  std::thread thread_;
};

uint64_t in_range_ids(row_store_t* store) {
  uint64_t stats[ROW_STORE_STAT_COUNT];
  row_store_stats(store, stats);
  return stats[ROW_STORE_STAT_HITS] + stats[ROW_STORE_STAT_MISSES];
}

}  // namespace

TEST_CASE("eight threads on one store get six million right rows while statistics are polled",
          "[concurrency]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows, 3);
  row_store_t* store = table.open(kAllFit);
  REQUIRE(store != nullptr);
  row_store_range(store, 0, kRows);
  Poller poller(store);
  const uint64_t before = g_verified;
  CHECK(hammer_in_threads({{store, &table, 0, kRows}}, 8, 6'000'000) == 0);
  CHECK(poller.stop() == 0);
  CHECK(poller.polls() > 0);
  CHECK(in_range_ids(store) == g_verified - before);
  row_store_close(store);
}

TEST_CASE("eight threads on two stores get five million right rows", "[concurrency]") {
  const TempDir dir;
  const TestTable one = TestTable::checkpoint(dir.file("1"), kRows, 1);
  const TestTable two = TestTable::checkpoint(dir.file("2"), kRows, 2);
  row_store_t* first = one.open(kAllFit);
  row_store_t* second = two.open(kAllFit);
  REQUIRE((first != nullptr && second != nullptr));
  constexpr uint64_t kLo = kRows / 3;
  row_store_range(first, 0, kRows);
  row_store_range(second, kLo, kRows);
  two.write_packed(dir.file("p"), row_store::PackedLayout::kDense, 14, kLo, kRows);
  REQUIRE(row_store_attach_packed(second, dir.file("p").c_str(), 14) == 1);
  CHECK(hammer_in_threads({{first, &one, 0, kRows}, {second, &two, kLo, kRows}}, 8, 5'000'000) ==
        0);
  row_store_close(first);
  row_store_close(second);
}

TEST_CASE("more callers than contexts all get right rows from a cache that is too small",
          "[concurrency]") {
  for (const char* engine : {"auto", "aio", "pool"}) {
    INFO("engine " << engine);
    const ScopedEnv io_engine("DSV41_IO_ENGINE", engine);
    const TempDir dir;
    const TestTable table = TestTable::checkpoint(dir.file("t"), kRows, 4);
    row_store_t* store = table.open(kFewFit);
    REQUIRE(store != nullptr);
    CHECK(hammer_in_threads({{store, &table, 0, kRows}}, 20, 300'000) == 0);
    row_store_close(store);
  }
}

TEST_CASE("a range and a shard that come while eight threads look up change no byte",
          "[concurrency]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows, 6);
  table.write_packed(dir.file("p"), row_store::PackedLayout::kDense, 1, 0, kRows);
  table.write_packed(dir.file("other"), row_store::PackedLayout::kDense, 2, 0, kRows);
  for (int round = 0; round < 4; ++round) {
    row_store_t* store = table.open(round % 2 == 0 ? kAllFit : kFewFit);
    REQUIRE(store != nullptr);
    std::atomic<uint64_t> wrong{0};
    std::thread lookups([&] {
      wrong += hammer_in_threads({{store, &table, 0, kRows}}, 8, 200'000);
    });
    Poller poller(store);
    const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(15)); };
    wait();
    row_store_range(store, 0, kRows);
    wait();
    CHECK(row_store_attach_packed(store, dir.file("other").c_str(), 1) == 0);
    wait();
    CHECK(row_store_attach_packed(store, dir.file("p").c_str(), 1) == 1);
    row_store_range(store, 0, kRows);
    lookups.join();
    CHECK(poller.stop() == 0);
    CHECK(wrong == 0);
    row_store_close(store);
  }
}

TEST_CASE("a hundred stores of one file are independent and give their descriptors back",
          "[concurrency]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), 500, 9);
  const auto descriptors = [] {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      (void)entry;
      ++count;
    }
    return count;
  };
  const std::vector<int64_t> ids = {0, 499, 250, 250, 7};
  LookupBuffers buffers(ids.size());
  size_t before = 0;
  for (int round = 0; round < 2; ++round) {
    // The first round also makes what the process keeps: contexts and their rings.
    before = descriptors();
    std::vector<row_store_t*> stores;
    for (int i = 0; i < 100; ++i) stores.push_back(table.open(10'000));
    CHECK(descriptors() <= before + 120);
    for (row_store_t* store : stores) {
      REQUIRE(store != nullptr);
      buffers.look_up(store, ids);
      CHECK(buffers.first_wrong(table, ids, 0, 500) == -1);
    }
    for (row_store_t* store : stores) row_store_close(store);
  }
  CHECK(descriptors() == before);
}

TEST_CASE("ten million rows were compared in this run", "[concurrency]") {
  std::cerr << "concurrency: " << g_verified << " rows verified\n";
  // Holds when the tests above ran in this process, which is how CTest starts them.
  if (g_verified != 0) CHECK(g_verified >= 10'000'000 / kScale);
}
