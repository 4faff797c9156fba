// Random calls through the C ABI against an oracle that knows no cache, no reads and no files.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/scoped_env.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

namespace {

constexpr uint64_t kRows = 3001;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kSlower = 10;
#else
constexpr int kSlower = 1;
#endif

// The whole truth about a store: which rows are its own, and what it must have counted.
struct Oracle {
  uint64_t lo = 0, hi = kRows;
  bool bound = false;  // scales are resident or a shard is attached: the range may not move
  bool attached = false;
  uint64_t in_range = 0;  // ids looked up so far
  void look_up(const std::vector<int64_t>& ids) {
    for (const int64_t id : ids)
      in_range += static_cast<uint64_t>(id) >= lo && static_cast<uint64_t>(id) < hi;
  }
};

struct Geometry {
  const char* ways;
  uint64_t budget;
};
const Geometry kGeometries[] = {
    {"12", 0},      {"12", 3231},      {"12", 3232},      {"1", 5000},       {"1", 900'000},
    {"2", 20'000},  {"4", 60'000},     {"12", 200'000},   {"12", 2'000'000}, {"13", 100'000},
    {"16", 90'000}, {"16", 4'352 + 1}, {"16", 1'000'000},
};

uint64_t base_seed() {
  const char* text = std::getenv("ROW_STORE_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 20261201;
}

class Run {
 public:
  Run(const TestTable& table, const TempDir& dir, uint64_t seed, uint64_t budget)
      : table_(table), dir_(dir), random_(seed), budget_(budget), buffers_(kMostIds) {
    open();
  }
  ~Run() { row_store_close(store_); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void step() {
    const uint64_t kind = below(100);
    if (kind < 70) {
      look_up();
    } else if (kind < 80) {
      check_stats();
    } else if (kind < 88) {
      set_range();
    } else if (kind < 95) {
      attach();
    } else {
      check_stats();
      row_store_close(store_);
      open();
    }
  }
  void check_stats();
  uint64_t rows_verified() const { return buffers_.rows_verified(); }

 private:
  static constexpr uint64_t kMostIds = 3000;
  uint64_t below(uint64_t end) { return random_() % end; }
  void open();
  void look_up();
  void set_range();
  void attach();

  const TestTable& table_;
  const TempDir& dir_;
  std::mt19937_64 random_;
  uint64_t budget_;
  row_store_t* store_ = nullptr;
  Oracle oracle_;
  LookupBuffers buffers_;
  uint64_t last_[ROW_STORE_STAT_COUNT] = {};
  std::set<int64_t> seen_;
};

void Run::open() {
  store_ = table_.open(budget_);
  REQUIRE(store_ != nullptr);
  oracle_ = Oracle();
  seen_.clear();
  std::fill(last_, last_ + ROW_STORE_STAT_COUNT, 0);
}

void Run::look_up() {
  static constexpr uint64_t kSizes[] = {0, 1, 2, 9, 144, 600, kMostIds};
  const uint64_t count = below(kSizes[1 + below(6)] + 1);
  // All of the table, a few neighbours, or a few rows again and again.
  const uint64_t spans[] = {kRows, 40, 3};
  const uint64_t span = spans[below(3)];
  const uint64_t from = below(kRows - span + 1);
  std::vector<int64_t> ids(count);
  for (int64_t& id : ids) id = static_cast<int64_t>(from + below(span));
  buffers_.look_up(store_, ids);
  REQUIRE(buffers_.first_wrong(table_, ids, oracle_.lo, oracle_.hi) == -1);
  REQUIRE(buffers_.canaries_whole());
  oracle_.look_up(ids);
  for (const int64_t id : ids)
    if (static_cast<uint64_t>(id) >= oracle_.lo && static_cast<uint64_t>(id) < oracle_.hi)
      seen_.insert(id);
}

void Run::check_stats() {
  uint64_t now[ROW_STORE_STAT_COUNT];
  row_store_stats(store_, now);
  CHECK(now[ROW_STORE_STAT_HITS] + now[ROW_STORE_STAT_MISSES] == oracle_.in_range);
  // Every row has to be read once at the least; in no case does a row cost more than two reads.
  CHECK(now[ROW_STORE_STAT_MISSES] >= seen_.size());
  CHECK(now[ROW_STORE_STAT_READS] <= 2 * now[ROW_STORE_STAT_MISSES]);
  CHECK((now[ROW_STORE_STAT_READS] == 0) == (now[ROW_STORE_STAT_MISSES] == 0));
  CHECK(now[ROW_STORE_STAT_CACHE_BYTES] <= budget_);
  CHECK(now[ROW_STORE_STAT_CACHE_BYTES] >= now[ROW_STORE_STAT_SLOTS] * 264);
  CHECK(now[ROW_STORE_STAT_PACKED] == (oracle_.attached ? 1 : 0));
  if (oracle_.attached) CHECK(now[ROW_STORE_STAT_SCALE_BYTES] == 0);
  for (const int word : {ROW_STORE_STAT_HITS, ROW_STORE_STAT_MISSES, ROW_STORE_STAT_READS})
    CHECK(now[word] >= last_[word]);
  std::copy(now, now + ROW_STORE_STAT_COUNT, last_);
}

void Run::set_range() {
  if (!oracle_.bound) {
    oracle_.lo = below(kRows + 1);
    oracle_.hi = oracle_.lo + below(kRows - oracle_.lo + 1);
    // Half of the ranges load their scales; moving the range is forbidden from then on.
    const bool resident = below(2) == 0;
    const ScopedEnv scales("DSV41_RESIDENT_SCALES", resident ? "1" : "0");
    row_store_range(store_, oracle_.lo, oracle_.hi);
    oracle_.bound = resident && oracle_.lo != oracle_.hi;
    uint64_t now[ROW_STORE_STAT_COUNT];
    row_store_stats(store_, now);
    CHECK(now[ROW_STORE_STAT_SCALE_BYTES] == (oracle_.bound ? (oracle_.hi - oracle_.lo) * 8 : 0));
  } else {
    row_store_range(store_, oracle_.lo, oracle_.hi);  // the same again is allowed
  }
}

void Run::attach() {
  const uint64_t fault = below(4);
  const std::string path = dir_.file("shard");
  table_.write_packed(
      path, below(2) == 0 ? row_store::PackedLayout::kDense : row_store::PackedLayout::kPage15,
      fault == 0 ? 2 : 1, oracle_.lo, oracle_.hi);
  const bool good = fault != 0 && !oracle_.attached;
  CHECK(row_store_attach_packed(store_, path.c_str(), 1) == (good ? 1 : 0));
  if (good) oracle_.attached = oracle_.bound = true;
  // The open descriptor keeps the file; the name is free for the next one.
  REQUIRE(std::remove(path.c_str()) == 0);
}

void run_model(const char* engine, int steps) {
  const ScopedEnv io_engine("DSV41_IO_ENGINE", engine);
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("table"), kRows, 5);
  uint64_t seed = base_seed();
  uint64_t rows = 0;
  for (const Geometry& geometry : kGeometries) {
    ++seed;
    INFO("ROW_STORE_TEST_SEED " << seed << ", engine " << engine << ", ways " << geometry.ways
                                << ", budget " << geometry.budget);
    const ScopedEnv ways("DSV41_CACHE_WAYS", geometry.ways);
    Run run(table, dir, seed, geometry.budget);
    for (int i = 0; i < steps / kSlower; ++i) run.step();
    run.check_stats();
    rows += run.rows_verified();
  }
  std::cerr << "model, " << engine << ": seeds " << base_seed() + 1 << " to " << seed << ", "
            << rows << " rows verified\n";
  CHECK(rows > 0);
}

}  // namespace

TEST_CASE("random calls agree with the oracle in every cache geometry", "[model]") {
  run_model("auto", 300);
}

TEST_CASE("random calls agree with the oracle when threads read", "[model]") {
  run_model("pool", 60);
}

TEST_CASE("random calls agree with the oracle when reads are buffered", "[model]") {
  run_model("buffered", 60);
}
