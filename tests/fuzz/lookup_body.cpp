#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "format/row_layout.h"
#include "fuzz_bodies.h"
#include "input.h"
#include "support/scoped_env.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

namespace row_store::fuzz {
namespace {

constexpr uint64_t kRows = 3001;
constexpr uint64_t kRowsMost = 9000;  // of one batch: helpers join from 8,192 on
constexpr uint64_t kLayer = 14;
constexpr size_t kStores = 3;

constexpr RowRange kRanges[] = {{0, kRows},    {0, 1},     {1, kRows}, {1000, 2000},
                                {2990, kRows}, {700, 700}, {15, 30}};
constexpr size_t kRangeCount = std::size(kRanges);

// The files of this process: one checkpoint, and a shard of each layout and range.
class Files {
 public:
  static Files& instance() {
    static Files files;
    return files;
  }
  const TestTable& table(bool raw) const { return raw ? raw_ : checkpoint_; }
  std::string shard(size_t range, bool page15) const {
    return dir_.file((page15 ? "page15-" : "dense-") + std::to_string(range));
  }
  // The model: no cache, no plan, no engine; what one pread of the whole file gave.
  const uint8_t* weights(uint64_t id) const {
    return bytes_.data() + checkpoint_.weight_offset + id * kWeightBytes;
  }
  const uint8_t* scales(uint64_t id) const {
    return bytes_.data() + checkpoint_.scale_offset + id * kScaleBytes;
  }

 private:
  Files() {
    // Few, so that a batch needs many rounds; read once a process, at the first open.
    ::setenv("DSV41_IO_DEPTH", "8", 1);
    ::setenv("DSV41_IO_THREADS", "3", 1);
    for (size_t range = 0; range < kRangeCount; ++range) {
      for (const bool page15 : {false, true}) {
        checkpoint_.write_packed(shard(range, page15),
                                 page15 ? PackedLayout::kPage15 : PackedLayout::kDense, kLayer,
                                 kRanges[range].begin, kRanges[range].end);
      }
    }
    const int fd = ::open(checkpoint_.path.c_str(), O_RDONLY | O_CLOEXEC);
    bytes_.resize(checkpoint_.scale_offset + kRows * kScaleBytes);
    FUZZ_CHECK(::pread(fd, bytes_.data(), bytes_.size(), 0) == static_cast<ssize_t>(bytes_.size()));
    ::close(fd);
  }

  TempDir dir_;
  TestTable checkpoint_ = TestTable::checkpoint(dir_.file("checkpoint"), kRows, 11);
  TestTable raw_ = TestTable::raw(dir_.file("raw"), kRows, 11);
  std::vector<uint8_t> bytes_;
};

// Output buffers between canaries, made once.
LookupBuffers& buffers() {
  static LookupBuffers all(kRowsMost);
  return all;
}

// One store and what is known about it.
class Served {
 public:
  ~Served() { row_store_close(store_); }
  Served() = default;
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  bool is_open() const { return store_ != nullptr; }
  bool zero_negative() const { return zero_negative_; }
  void open(Input& input);
  void set_range(Input& input);
  void attach(Input& input);
  void look_up(const std::vector<int64_t>& ids);
  void check_counters();
  void close() {
    row_store_close(store_);
    store_ = nullptr;
  }

 private:
  row_store_t* store_ = nullptr;
  size_t range_ = 0;
  bool bound_ = false;  // rows, scales or a shard belong to the range: it may not move
  bool ram_ = false;
  bool attached_ = false;
  bool zero_negative_ = false;
  uint64_t in_range_ = 0;
};

void Served::open(Input& input) {
  static constexpr const char* kEngines[] = {"auto", "uring", "aio", "pool", "buffered"};
  static constexpr const char* kWays[] = {"12", "1", "4", "16"};
  static constexpr uint64_t kBudgets[] = {0, 64 + 12 * 264, 40'000, 130'000, kRows * 300};
  const uint8_t how = input.byte();
  const uint8_t cache = input.byte();
  close();
  const ScopedEnv engine("DSV41_IO_ENGINE", kEngines[how % std::size(kEngines)]);
  ram_ = (how & 0x40) != 0;
  const ScopedEnv mode("OFFLOAD_MODE", ram_ ? "ram" : "nvme");
  zero_negative_ = (how & 0x20) != 0;
  const ScopedEnv negative("DSV41_NEGATIVE_IDS", zero_negative_ ? "zero" : "abort");
  const ScopedEnv ways("DSV41_CACHE_WAYS", kWays[cache % std::size(kWays)]);
  const ScopedEnv huge("DSV41_HUGE_PAGES", (cache & 0x40) != 0 ? "1" : "0");
  const uint64_t budget = kBudgets[(cache >> 2) % std::size(kBudgets)];
  store_ = Files::instance().table((how & 0x80) != 0).open(budget);
  FUZZ_CHECK(store_ != nullptr);
  range_ = 0;
  bound_ = attached_ = false;
  in_range_ = 0;
}

// A range moves only while nothing belongs to the one before: anything else rightly aborts.
void Served::set_range(Input& input) {
  const uint8_t choice = input.byte();
  if (!bound_) range_ = choice % kRangeCount;
  const bool resident = (choice & 0x80) != 0;
  const ScopedEnv scales("DSV41_RESIDENT_SCALES", resident ? "1" : "0");
  row_store_range(store_, kRanges[range_].begin, kRanges[range_].end);
  bound_ |= kRanges[range_].count() != 0 && (ram_ || resident);
}

void Served::attach(Input& input) {
  const uint8_t choice = input.byte();
  const bool own = (choice & 2) == 0;
  const size_t range = own ? range_ : (choice >> 2) % kRangeCount;
  const std::string path = Files::instance().shard(range, (choice & 1) != 0);
  const uint64_t layer = (choice & 0x80) != 0 ? kLayer + 1 : kLayer;
  const bool good = !attached_ && range == range_ && layer == kLayer;
  FUZZ_CHECK(row_store_attach_packed(store_, path.c_str(), layer) == (good ? 1 : 0));
  if (good) attached_ = bound_ = true;
}

void Served::look_up(const std::vector<int64_t>& ids) {
  LookupBuffers& out = buffers();
  out.look_up(store_, ids);
  bound_ |= ram_;  // loaded by the first lookup at the latest
  FUZZ_CHECK(out.canaries_whole());
  static constexpr uint8_t kZeros[kRowBytes] = {};
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<uint64_t>(ids[i]);
    const bool owned = kRanges[range_].contains(id);
    in_range_ += owned;
    const uint8_t* weights = owned ? Files::instance().weights(id) : kZeros;
    const uint8_t* scales = owned ? Files::instance().scales(id) : kZeros;
    FUZZ_CHECK(std::memcmp(out.weights() + i * kWeightBytes, weights, kWeightBytes) == 0);
    FUZZ_CHECK(std::memcmp(out.scales() + i * kScaleBytes, scales, kScaleBytes) == 0);
  }
}

void Served::check_counters() {
  uint64_t words[ROW_STORE_STAT_COUNT];
  row_store_stats(store_, words);
  FUZZ_CHECK(words[ROW_STORE_STAT_HITS] + words[ROW_STORE_STAT_MISSES] == in_range_);
  FUZZ_CHECK(words[ROW_STORE_STAT_READS] <= 2 * words[ROW_STORE_STAT_MISSES]);
  FUZZ_CHECK(words[ROW_STORE_STAT_PACKED] == (attached_ ? 1 : 0));
}

// A batch in one of five shapes.
std::vector<int64_t> read_ids(Input& input, bool negative) {
  const uint8_t shape = input.byte();
  const uint64_t count = std::min<uint64_t>(
      kRowsMost, (shape & 0x80) != 0 ? input.half() : uint64_t{input.byte()} + 1);
  std::vector<int64_t> ids(count);
  const uint64_t from = input.half() % kRows;
  std::mt19937_64 random(from);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t id = 0;
    switch (shape % 5) {
      case 0:  // as the input says, while it lasts
        id = input.half();
        break;
      case 1:  // neighbours
        id = from + i;
        break;
      case 2:  // few rows, many repeats
        id = from + random() % 7;
        break;
      case 3:  // anywhere
        id = random();
        break;
      default:  // one row a page
        id = from + 16 * i;
        break;
    }
    ids[i] = static_cast<int64_t>(id % kRows);
    if (negative && (shape & 0x40) != 0 && random() % 8 == 0) ids[i] = -1 - ids[i];
  }
  return ids;
}

}  // namespace

// One byte an operation, its low two bits the store: bits 2 to 4 choose open, range, attach,
// counters, close, or else a lookup, which goes to every open store.
void lookups(std::span<const uint8_t> input_bytes) {
  constexpr int kOperationsMost = 24;
  Files::instance();
  std::array<Served, kStores> stores;
  Input input(input_bytes);
  for (int i = 0; i < kOperationsMost && !input.ended(); ++i) {
    const uint8_t operation = input.byte();
    Served& served = stores[operation % 4 % kStores];
    const int kind = operation >> 2 & 7;
    if (kind == 0 || (kind < 5 && !served.is_open())) {
      served.open(input);
    } else if (kind == 1) {
      served.set_range(input);
    } else if (kind == 2) {
      served.attach(input);
    } else if (kind == 3) {
      served.check_counters();
    } else if (kind == 4) {
      served.close();
    } else {
      bool negative = true;
      for (const Served& each : stores) negative &= !each.is_open() || each.zero_negative();
      const std::vector<int64_t> ids = read_ids(input, negative);
      for (Served& each : stores)
        if (each.is_open() && !ids.empty()) each.look_up(ids);
    }
  }
}

}  // namespace row_store::fuzz
