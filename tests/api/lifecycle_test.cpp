// What each call may be given and when: every misuse has one outcome, and none is a wrong row.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/child.h"
#include "support/scoped_env.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

namespace {

constexpr uint64_t kRows = 2003;
constexpr uint64_t kBudget = 300'000;
const std::string kFatal = "Engram retrieval failed: ";

struct Fixture {
  TempDir dir;
  TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  row_store_t* store = table.open(kBudget);

  Fixture() { REQUIRE(store != nullptr); }
  std::string shard(uint64_t lo, uint64_t hi, uint64_t layer = 1) const {
    const std::string path = dir.file("p" + std::to_string(lo) + "-" + std::to_string(hi));
    table.write_packed(path, row_store::PackedLayout::kDense, layer, lo, hi);
    return path;
  }
};

bool rows_are_right(row_store_t* store, const TestTable& table, uint64_t lo, uint64_t hi) {
  std::vector<int64_t> ids;
  for (uint64_t i = 0; i < 600; ++i) ids.push_back(static_cast<int64_t>(i * 977 % table.rows));
  LookupBuffers buffers(ids.size());
  buffers.look_up(store, ids);
  return buffers.first_wrong(table, ids, lo, hi) == -1 && buffers.canaries_whole();
}

// One line that stops the process, with these words in it; lines about progress may precede it.
void check_aborts(const std::function<void()>& body, const std::vector<std::string>& words) {
  const ChildResult result = run_in_child([&] {
    body();
    return 0;
  });
  INFO(result.standard_error);
  CHECK(result.aborted());
  const size_t at = result.standard_error.find(kFatal);
  REQUIRE(at != std::string::npos);
  const std::string line = result.standard_error.substr(at);
  CHECK(line_count(line) == 1);
  CHECK(line.find("(errno=") != std::string::npos);
  for (const std::string& word : words) {
    INFO("expected: " << word);
    CHECK(line.find(word) != std::string::npos);
  }
}

// A batch in memory that a child shares, so that the parent sees what it wrote before it died.
class SharedBatch {
 public:
  explicit SharedBatch(std::vector<int64_t> batch_ids) : ids(std::move(batch_ids)) {
    bytes_ = ids.size() * 264;
    map_ = static_cast<uint8_t*>(
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    REQUIRE(map_ != MAP_FAILED);
    std::memset(map_, 0xC5, bytes_);
  }
  ~SharedBatch() { ::munmap(map_, bytes_); }
  SharedBatch(const SharedBatch&) = delete;
  SharedBatch& operator=(const SharedBatch&) = delete;

  void look_up(row_store_t* store) {
    row_store_work work{store, ids.data(), map_, map_ + ids.size() * 256, ids.size()};
    row_store_lookup(&work);
  }
  const uint8_t* weights(size_t i) const { return map_ + i * 256; }
  const uint8_t* scales(size_t i) const { return map_ + ids.size() * 256 + i * 8; }
  bool untouched() const {
    return std::all_of(map_, map_ + bytes_, [](uint8_t byte) { return byte == 0xC5; });
  }

  std::vector<int64_t> ids;

 private:
  uint64_t bytes_ = 0;
  uint8_t* map_ = nullptr;
};

}  // namespace

TEST_CASE("a second shard is refused and the first goes on serving", "[lifecycle]") {
  Fixture f;
  row_store_range(f.store, 0, kRows);
  const std::string path = f.shard(0, kRows);
  CHECK(row_store_attach_packed(f.store, path.c_str(), 1) == 1);
  CHECK(row_store_attach_packed(f.store, path.c_str(), 1) == 0);
  CHECK(row_store_last_error(nullptr, 0) == 18);
  uint64_t stats[ROW_STORE_STAT_COUNT];
  row_store_stats(f.store, stats);
  CHECK(stats[ROW_STORE_STAT_PACKED] == 1);
  CHECK(rows_are_right(f.store, f.table, 0, kRows));
  row_store_close(f.store);
}

TEST_CASE("a range that moves after a shard was attached stops the process", "[lifecycle]") {
  const ScopedEnv scales("DSV41_RESIDENT_SCALES", "0");
  Fixture f;
  row_store_range(f.store, 10, 90);
  REQUIRE(row_store_attach_packed(f.store, f.shard(10, 90).c_str(), 1) == 1);
  check_aborts([&] { row_store_range(f.store, 11, 91); },
               {"row_store_range", f.table.path, "[10, 90)", "[11, 91)"});
  row_store_range(f.store, 10, 90);
  CHECK(rows_are_right(f.store, f.table, 10, 90));
  row_store_close(f.store);
}

TEST_CASE("a range that moves after scales or rows were loaded stops the process", "[lifecycle]") {
  for (const char* mode : {"nvme", "ram"}) {
    const ScopedEnv offload("OFFLOAD_MODE", mode);
    Fixture f;
    row_store_range(f.store, 5, 1000);
    // In this process: a forked child has given the scales up.
    check_aborts(
        [&] {
          row_store_t* store = f.table.open(kBudget);
          row_store_range(store, 5, 1000);
          row_store_range(store, 5, 1001);
        },
        {"changed from [5, 1000) to [5, 1001)"});
    row_store_range(f.store, 5, 1000);
    CHECK(rows_are_right(f.store, f.table, 5, 1000));
    row_store_close(f.store);
  }
}

TEST_CASE("a range may move while nothing belongs to it", "[lifecycle]") {
  const ScopedEnv scales("DSV41_RESIDENT_SCALES", "0");
  Fixture f;
  for (const auto& [lo, hi] : std::vector<std::pair<uint64_t, uint64_t>>{
           {0, kRows}, {100, 900}, {900, 900}, {kRows, kRows}, {0, 0}, {500, kRows}, {0, 1}}) {
    row_store_range(f.store, lo, hi);
    CHECK(rows_are_right(f.store, f.table, lo, hi));
  }
  row_store_close(f.store);
}

TEST_CASE("a range that is no range of the table stops the process", "[lifecycle]") {
  Fixture f;
  check_aborts([&] { row_store_range(f.store, 6, 5); }, {"invalid row ownership range [6, 5)"});
  check_aborts([&] { row_store_range(f.store, 0, kRows + 1); }, {"[0, 2004)", "2003 rows"});
  check_aborts([&] { row_store_range(f.store, ~uint64_t{0}, ~uint64_t{0}); }, {"invalid row"});
  CHECK(rows_are_right(f.store, f.table, 0, kRows));
  row_store_close(f.store);
}

TEST_CASE("an empty batch touches nothing, whatever else it says", "[lifecycle]") {
  row_store_work nothing{nullptr, nullptr, nullptr, nullptr, 0};
  row_store_lookup(&nothing);
  Fixture f;
  row_store_work work{f.store, nullptr, nullptr, nullptr, 0};
  row_store_lookup(&work);
  uint64_t stats[ROW_STORE_STAT_COUNT];
  row_store_stats(f.store, stats);
  CHECK(stats[ROW_STORE_STAT_HITS] + stats[ROW_STORE_STAT_MISSES] == 0);
  row_store_close(f.store);
  row_store_lookup(&work);
}

TEST_CASE("a missing pointer stops the process and is named", "[lifecycle]") {
  Fixture f;
  const int64_t id = 1;
  uint8_t weights[256], scales[8];
  const auto look_up = [&](row_store_t* store, const int64_t* ids, uint8_t* w, uint8_t* s) {
    return [=] {
      row_store_work work{store, ids, w, s, 1};
      row_store_lookup(&work);
    };
  };
  check_aborts([] { row_store_lookup(nullptr); }, {"row_store_lookup: work is NULL"});
  check_aborts(look_up(nullptr, &id, weights, scales), {"row_store_lookup: store is NULL"});
  check_aborts(look_up(f.store, nullptr, weights, scales), {"ids is NULL"});
  check_aborts(look_up(f.store, &id, nullptr, scales), {"weights is NULL"});
  check_aborts(look_up(f.store, &id, weights, nullptr), {"scales is NULL"});
  check_aborts([&] { row_store_stats(f.store, nullptr); }, {"row_store_stats: out is NULL"});
  check_aborts([&] { row_store_extended_stats(f.store, nullptr); }, {"out is NULL"});
  uint64_t stats[ROW_STORE_STAT_COUNT];
  check_aborts([&] { row_store_stats(nullptr, stats); }, {"row_store_stats: store is NULL"});
  check_aborts([] { row_store_range(nullptr, 0, 1); }, {"row_store_range: store is NULL"});
  check_aborts([] { row_store_attach_packed(nullptr, "p", 1); }, {"store is NULL"});
  row_store_close(nullptr);
  row_store_close(f.store);
}

TEST_CASE("memory that is no store is told from one", "[lifecycle]") {
  alignas(64) static uint8_t memory[4096] = {};
  uint64_t stats[ROW_STORE_STAT_COUNT];
  check_aborts([&] { row_store_stats(reinterpret_cast<row_store_t*>(memory), stats); },
               {"is not a store"});
  check_aborts([&] { row_store_stats(reinterpret_cast<row_store_t*>(memory + 1), stats); },
               {"is not a store"});
}

TEST_CASE("a count whose outputs exceed the address space stops the process", "[lifecycle]") {
  Fixture f;
  const int64_t id = 1;
  uint8_t weights[256], scales[8];
  for (const uint64_t count : {uint64_t{1} << 56, (uint64_t{1} << 56) + 1, uint64_t{1} << 55,
                               uint64_t{1} << 63, ~uint64_t{0}}) {
    check_aborts(
        [&] {
          row_store_work work{f.store, &id, weights, scales, count};
          row_store_lookup(&work);
        },
        {"count " + std::to_string(count), "address space"});
  }
  row_store_close(f.store);
}

TEST_CASE("an id outside the table stops the process before an output is written", "[lifecycle]") {
  Fixture f;
  REQUIRE(rows_are_right(f.store, f.table, 0, kRows));  // some rows are cached
  constexpr size_t kCount = 70'000;                     // more than one window is planned at a time
  for (const int64_t bad :
       {int64_t{-1}, static_cast<int64_t>(kRows), std::numeric_limits<int64_t>::min(),
        std::numeric_limits<int64_t>::max()}) {
    for (const size_t place : {size_t{0}, kCount / 2, kCount - 1}) {
      INFO("id " << bad << " at " << place);
      std::vector<int64_t> ids(kCount);
      for (size_t i = 0; i < kCount; ++i) ids[i] = static_cast<int64_t>(i % kRows);
      ids[place] = bad;
      SharedBatch batch(ids);
      check_aborts([&] { batch.look_up(f.store); },
                   {"row ID out of bounds", "ids[" + std::to_string(place) + "]",
                    "is " + std::to_string(bad) + ",", "rows 0 to 2002"});
      CHECK(batch.untouched());
    }
  }
  row_store_close(f.store);
}

TEST_CASE("negative ids give zero rows where that was asked for, and too large ones still abort",
          "[lifecycle]") {
  const ScopedEnv negative("DSV41_NEGATIVE_IDS", "zero");
  Fixture f;
  row_store_range(f.store, 100, 1000);
  const std::vector<int64_t> ids = {-1, 100, std::numeric_limits<int64_t>::min(), 999, 99,
                                    -1, 1000};
  LookupBuffers buffers(ids.size());
  buffers.look_up(f.store, ids);
  CHECK(buffers.first_wrong(f.table, ids, 100, 1000) == -1);
  CHECK(buffers.canaries_whole());
  uint64_t stats[ROW_STORE_STAT_COUNT];
  row_store_stats(f.store, stats);
  CHECK(stats[ROW_STORE_STAT_HITS] + stats[ROW_STORE_STAT_MISSES] == 2);
  SharedBatch batch({-1, static_cast<int64_t>(kRows)});
  check_aborts([&] { batch.look_up(f.store); }, {"ids[1] of 2 is 2003,"});
  CHECK(batch.untouched());
  row_store_close(f.store);
}

TEST_CASE("every use of a closed store stops the process with a line that says so", "[lifecycle]") {
  Fixture f;
  row_store_close(f.store);
  const int64_t id = 1;
  uint8_t weights[256], scales[8];
  uint64_t stats[ROW_STORE_STAT_COUNT];
  row_store_work work{f.store, &id, weights, scales, 1};
  row_store_statistics more{};
  more.struct_bytes = sizeof more;
  check_aborts([&] { row_store_lookup(&work); }, {"row_store_lookup: the store was closed"});
  check_aborts([&] { row_store_stats(f.store, stats); }, {"row_store_stats: the store was closed"});
  check_aborts([&] { row_store_extended_stats(f.store, &more); }, {"the store was closed"});
  check_aborts([&] { row_store_range(f.store, 0, 1); }, {"row_store_range: the store was closed"});
  check_aborts([&] { row_store_attach_packed(f.store, "p", 1); }, {"the store was closed"});
  check_aborts([&] { row_store_close(f.store); }, {"row_store_close: the store was closed"});
}

TEST_CASE("a close waits for the lookups that run", "[lifecycle]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows, 8);
  int waited = 0;
  for (int attempt = 0; attempt < 20 && waited < 3; ++attempt) {
    const ChildResult result = run_in_child([&] {
      row_store_t* store = table.open(0);
      std::vector<int64_t> ids(200'000);
      for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i * 13 % kRows);
      LookupBuffers buffers(ids.size());
      std::atomic<bool> started{false}, over{false};
      std::thread lookup([&] {
        started = true;
        buffers.look_up(store, ids);
        over = true;
      });
      while (!started) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(attempt));
      const bool was_over = over;
      row_store_close(store);
      lookup.join();
      if (buffers.first_wrong(table, ids, 0, kRows) != -1) return 3;
      return was_over ? 1 : 0;
    });
    INFO(result.standard_error);
    // The close may win the race to the store; then the lookup says that it came too late.
    if (result.aborted())
      CHECK(result.standard_error.find("the store was closed") != std::string::npos);
    else
      CHECK(result.exit_code < 2);
    waited += result.exit_code == 0;
  }
  CHECK(waited > 0);
}

TEST_CASE("statistics are nine words and not a word more", "[lifecycle]") {
  Fixture f;
  row_store_range(f.store, 0, kRows);
  uint64_t words[16];
  std::fill_n(words, 16, 0xC5C5C5C5C5C5C5C5);
  row_store_stats(f.store, words + 3);
  for (int i = 0; i < 3; ++i) CHECK(words[i] == 0xC5C5C5C5C5C5C5C5);
  for (int i = 12; i < 16; ++i) CHECK(words[i] == 0xC5C5C5C5C5C5C5C5);
  for (int i = 3; i < 12; ++i) CHECK(words[i] != 0xC5C5C5C5C5C5C5C5);
  CHECK(words[3 + ROW_STORE_STAT_SCALE_BYTES] == kRows * 8);
  row_store_close(f.store);
}

TEST_CASE("extended statistics fill what the caller has room for", "[lifecycle]") {
  Fixture f;
  REQUIRE(rows_are_right(f.store, f.table, 0, kRows));
  row_store_statistics all[2];
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{15}, uint64_t{16}, uint64_t{64},
                               uint64_t{sizeof all[0]}, uint64_t{sizeof all[0]} + 8}) {
    std::memset(all, 0xC5, sizeof all);
    all[0].struct_bytes = bytes;
    const int filled = row_store_extended_stats(f.store, all);
    CHECK(filled == (bytes >= 16 ? 1 : 0));
    const uint64_t written = filled != 0 ? std::min<uint64_t>(bytes, sizeof all[0]) : 8;
    CHECK(all[0].struct_bytes == (filled != 0 ? written : bytes));
    const auto* raw = reinterpret_cast<const uint8_t*>(all);
    CHECK(std::all_of(raw + written, raw + sizeof all, [](uint8_t b) { return b == 0xC5; }));
    if (bytes >= 64) CHECK(all[0].rows == 600);
  }
  row_store_close(f.store);
}

TEST_CASE("a refused shard is fatal where strictness was asked for", "[lifecycle]") {
  const ScopedEnv strict("DSV41_STRICT", "1");
  Fixture f;
  row_store_range(f.store, 0, kRows);
  check_aborts([&] { row_store_attach_packed(f.store, f.dir.file("none").c_str(), 1); },
               {"row_store_attach_packed", "none", "DSV41_STRICT"});
  check_aborts([&] { row_store_attach_packed(f.store, f.shard(0, kRows, 2).c_str(), 1); },
               {"layer expected 1, found 2", "DSV41_STRICT"});
  CHECK(row_store_attach_packed(f.store, f.shard(0, kRows).c_str(), 1) == 1);
  CHECK(rows_are_right(f.store, f.table, 0, kRows));
  row_store_close(f.store);
}

TEST_CASE("the line of a fatal error does not need a stderr", "[lifecycle]") {
  const ChildResult result = run_in_child([] {
    ::close(STDERR_FILENO);
    row_store_lookup(nullptr);
    return 0;
  });
  CHECK(result.aborted());
  CHECK(result.standard_error.empty());
}
