// How long does one batch of a kind take, in each of several libraries, and how far is that from
// what the hardware allows?
//
// Batches are drawn at random, every library answers the same ones, call by call in turn, and every
// byte is checked. The limit of a batch of hits is a plain copy of the same rows from known
// addresses; that of a batch of misses is the same number of 4 KiB reads through io_uring at depth
// 128.
// Figures
// are medians; ratios are medians of the ratios of neighbouring calls, with their quartiles.
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "base/memory_map.h"
#include "checkpoint/row_bytes.h"
#include "checkpoint/table_builder.h"
#include "io/context.h"
#include "library.h"

namespace {

using row_store::kPageBytes;
using row_store::kRowBytes;
using row_store::bench::Library;

constexpr uint64_t kLayer = 1;
constexpr uint64_t kSeed = 1;

struct Options {
  std::vector<std::string> libraries;
  std::string dir = ".";
  std::string hot_dir = "/dev/shm";
  std::vector<std::string> cases;
  uint64_t rows = 4'000'000;
  uint64_t hot_rows = 2'000'000;
  int rounds = 0;
};

struct Case {
  const char* name;
  uint64_t count;
  bool hits;
  bool repeats;
  int threads;
  int rounds;
  unsigned idle_us;  // between calls, as a decode loop has
};

// clang-format off
const Case kCases[] = {
    {"hits-144",         144,  true, false, 1, 2000, 200},
    {"hits-1152",       1152,  true, false, 1,  500, 200},
    {"hits-49152",     49152,  true, false, 1,   60,   0},
    {"hits-144-x2",      144,  true, false, 2,   20,   0},
    {"miss-8",             8, false, false, 1,  400, 500},
    {"miss-16",           16, false, false, 1,  400, 500},
    {"miss-64",           64, false, false, 1,  300, 500},
    {"miss-144",         144, false, false, 1,  300, 500},
    {"miss-1024",       1024, false, false, 1,   60, 500},
    {"miss-8192",       8192, false, false, 1,   14, 500},
    {"repeat-144",       144, false,  true, 1,  300, 500},
    {"repeat-8192",     8192, false,  true, 1,   16, 500},
};
// clang-format on

double seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Cost {
  double wall_us = 0;
  double cpu_us = 0;
};

Cost measure(const std::function<void()>& body) {
  const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  const double wall = seconds(CLOCK_MONOTONIC);
  body();
  const double wall_end = seconds(CLOCK_MONOTONIC);
  return {(wall_end - wall) * 1e6, (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) * 1e6};
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "compare: %s\n", why.c_str());
  std::exit(2);
}

// The table: a packed shard of real bytes behind a checkpoint of holes, which only open looks at.
class Table {
 public:
  Table(const std::string& dir, uint64_t rows)
      : rows_(rows), checkpoint_(dir + "/compare.raw"), packed_(dir + "/compare.bin") {
    const int fd = ::open(checkpoint_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    const uint64_t bytes = kPageBytes + rows * kRowBytes;
    if (fd < 0 || ::pwrite(fd, "raw extents", 11, 0) != 11 ||
        ::ftruncate(fd, static_cast<off_t>(bytes)) != 0)
      die("cannot write " + checkpoint_);
    ::close(fd);
    struct stat info;
    if (::stat(packed_.c_str(), &info) == 0 && static_cast<uint64_t>(info.st_size) == bytes) return;
    row_store::checkpoint::PackedSpec spec;
    spec.table = {kLayer, rows};
    spec.range = {0, rows};
    spec.seed = kSeed;
    const auto status = row_store::checkpoint::write_packed_shard(spec, packed_);
    if (!status.ok()) die(status.text());
  }
  row_store_t* open(const Library& library, uint64_t budget) const {
    row_store_t* store =
        library.open(checkpoint_.c_str(), rows_, kPageBytes, kPageBytes + rows_ * 256, budget);
    if (store == nullptr) die(library.path + ": open failed");
    if (library.attach(store, packed_.c_str(), kLayer) != 1) die(library.path + ": attach failed");
    return store;
  }
  uint64_t rows() const { return rows_; }
  const std::string& packed() const { return packed_; }

 private:
  uint64_t rows_;
  std::string checkpoint_;
  std::string packed_;
};

struct Buffers {
  explicit Buffers(uint64_t count) : weights(count * 256), scales(count * 8) {}
  std::vector<uint8_t> weights;
  std::vector<uint8_t> scales;
};

void look_up(const Library& library, row_store_t* store, const std::vector<int64_t>& ids,
             Buffers& out) {
  row_store_work work{store, ids.data(), out.weights.data(), out.scales.data(), ids.size()};
  library.lookup(&work);
}

void check(const Library& library, const std::vector<int64_t>& ids, const Buffers& out) {
  const row_store::checkpoint::RowSource source{kSeed, kLayer};
  for (size_t i = 0; i < ids.size(); ++i)
    if (!source.matches(static_cast<uint64_t>(ids[i]), &out.weights[i * 256], &out.scales[i * 8]))
      die(library.path + ": WRONG BYTES for row " + std::to_string(ids[i]));
}

// The limit of hits: the same rows from known places in memory of the same kind.
class Gather {
 public:
  explicit Gather(uint64_t rows) {
    auto map = row_store::MemoryMap::create(rows * kRowBytes);
    if (!map.ok()) die(map.status().text());
    memory_ = map.take();
    const row_store::checkpoint::RowSource source{kSeed, kLayer};
    for (uint64_t id = 0; id < rows; ++id) source.fill(id, memory_.data() + id * kRowBytes);
  }
  void run(const std::vector<int64_t>& ids, Buffers& out) const {
    uint8_t* weights = out.weights.data();
    uint8_t* scales = out.scales.data();
    for (const int64_t id : ids) {
      const uint8_t* row = memory_.data() + static_cast<uint64_t>(id) * kRowBytes;
      std::memcpy(weights, row, 256);
      std::memcpy(scales, row + 256, 8);
      weights += 256;
      scales += 8;
    }
  }

 private:
  row_store::MemoryMap memory_;
};

// The limit of misses: as many random page reads, 128 in flight, nothing else.
class Drive {
 public:
  static constexpr uint32_t kDepth = 128;
  explicit Drive(const Table& table) {
    fd_ = ::open(table.packed().c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
    auto reader = row_store::make_reader(row_store::Engine::kUring, kDepth);
    auto map = row_store::MemoryMap::create(kDepth * kPageBytes);
    if (fd_ < 0 || !reader.ok() || !map.ok()) die("cannot measure the drive's ceiling");
    reader_ = reader.take();
    buffers_ = map.take();
    pages_ = table.rows() * kRowBytes / kPageBytes;
  }
  void run(uint64_t count, std::mt19937_64& random) {
    uint64_t sent = 0, done = 0;
    const auto send = [&](uint32_t token) {
      reader_->prepare({fd_, kPageBytes, random() % pages_ * kPageBytes,
                        buffers_.data() + token * kPageBytes, token, false});
      ++sent;
    };
    for (uint32_t token = 0; token < std::min<uint64_t>(kDepth, count); ++token) send(token);
    row_store::ReadCompletion completions[64];
    while (done < count) {
      const auto least = static_cast<uint32_t>(std::min<uint64_t>(16, sent - done));
      reader_->submit();
      const int arrived = reader_->reap(completions, least, 5000);
      for (int i = 0; i < arrived; ++i)
        if (sent < count) send(completions[i].token);
      done += static_cast<uint64_t>(std::max(arrived, 0));
    }
  }

 private:
  int fd_ = -1;
  std::unique_ptr<row_store::Reader> reader_;
  row_store::MemoryMap buffers_;
  uint64_t pages_ = 0;
};

std::vector<int64_t> draw(const Case& kind, uint64_t rows, std::mt19937_64& random) {
  std::vector<int64_t> ids(kind.count);
  const uint64_t distinct = kind.repeats ? kind.count / 2 : kind.count;
  for (uint64_t i = 0; i < kind.count; ++i) {
    ids[i] = i < distinct ? static_cast<int64_t>(random() % rows) : ids[i - distinct];
  }
  std::shuffle(ids.begin(), ids.end(), random);
  return ids;
}

// Several threads on one store, each with batches of its own, many calls a round.
void run_threads(const Library& library, row_store_t* store, const Case& kind, uint64_t rows,
                 int threads, uint64_t seed) {
  constexpr int kCalls = 2000;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      std::mt19937_64 random(seed + static_cast<uint64_t>(t));
      Buffers out(kind.count);
      std::vector<int64_t> ids(kind.count);
      for (int call = 0; call < kCalls; ++call) {
        for (int64_t& id : ids) id = static_cast<int64_t>(random() % rows);
        look_up(library, store, ids, out);
      }
      check(library, ids, out);
    });
  }
  for (std::thread& thread : all) thread.join();
}

void print_row(const std::string& kind, const std::string& who, const std::vector<Cost>& costs,
               const std::vector<Cost>& first, const std::vector<Cost>* limit) {
  std::vector<double> wall, cpu, ratio, over_limit;
  for (size_t i = 0; i < costs.size(); ++i) {
    wall.push_back(costs[i].wall_us);
    cpu.push_back(costs[i].cpu_us);
    ratio.push_back(costs[i].wall_us / first[i].wall_us);
    if (limit != nullptr) over_limit.push_back(costs[i].wall_us / (*limit)[i].wall_us);
  }
  std::printf("%-12s %-28s %10.1f %10.1f %10.1f   %5.2f (%.2f-%.2f)", kind.c_str(), who.c_str(),
              quantile(wall, 0.5), quantile(wall, 0.99), quantile(cpu, 0.5), quantile(ratio, 0.5),
              quantile(ratio, 0.25), quantile(ratio, 0.75));
  if (limit != nullptr) std::printf("   %5.2f", quantile(over_limit, 0.5));
  std::printf("\n");
}

class Runner {
 public:
  Runner(const Options& options, const Table& table, bool hits)
      : options_(options), table_(table), hits_(hits) {
    // Enough for 4 M slots by anybody's arithmetic.
    constexpr uint64_t kHotBudget = 4'000'000ull * 272;
    for (const std::string& path : options.libraries) {
      libraries_.push_back(Library::load(path));
      stores_.push_back(table.open(libraries_.back(), hits ? kHotBudget : 0));
    }
    if (hits) {
      gather_ = std::make_unique<Gather>(options.hot_rows);
      warm();
    } else {
      drive_ = std::make_unique<Drive>(table);
    }
  }
  ~Runner() {
    for (size_t i = 0; i < libraries_.size(); ++i) libraries_[i].close(stores_[i]);
  }

  void run(const Case& kind) {
    if (kind.threads > 1) return run_scaling(kind);
    std::vector<std::vector<Cost>> costs(libraries_.size());
    std::vector<Cost> limit;
    Buffers out(kind.count);
    const int rounds = options_.rounds != 0 ? options_.rounds : kind.rounds;
    for (int round = 0; round < rounds; ++round) {
      const std::vector<int64_t> ids =
          draw(kind, hits_ ? options_.hot_rows : table_.rows(), random_);
      for (size_t k = 0; k <= libraries_.size(); ++k) {
        const size_t who = (k + static_cast<size_t>(round)) % (libraries_.size() + 1);
        if (kind.idle_us != 0) ::usleep(kind.idle_us);
        if (who == libraries_.size()) {
          limit.push_back(measure([&] {
            if (hits_)
              gather_->run(ids, out);
            else
              drive_->run(kind.repeats ? kind.count / 2 : kind.count, random_);
          }));
          continue;
        }
        costs[who].push_back(measure([&] { look_up(libraries_[who], stores_[who], ids, out); }));
        check(libraries_[who], ids, out);
      }
    }
    for (size_t i = 0; i < libraries_.size(); ++i)
      print_row(kind.name, libraries_[i].path, costs[i], costs[0], &limit);
    print_row(kind.name, hits_ ? "(limit: gather)" : "(limit: drive, depth 128)", limit, costs[0],
              nullptr);
  }

 private:
  void warm() {
    constexpr uint64_t kStep = 8192;
    Buffers out(kStep);
    std::vector<int64_t> ids;
    // Twice: a row that a set could not keep the first time is seen to be wanted.
    for (int pass = 0; pass < 2; ++pass) {
      for (uint64_t at = 0; at < options_.hot_rows; at += kStep) {
        ids.clear();
        for (uint64_t id = at; id < std::min(at + kStep, options_.hot_rows); ++id)
          ids.push_back(static_cast<int64_t>(id));
        for (size_t i = 0; i < libraries_.size(); ++i) look_up(libraries_[i], stores_[i], ids, out);
      }
    }
  }
  void run_scaling(const Case& kind) {
    for (size_t i = 0; i < libraries_.size(); ++i) {
      std::vector<double> ratios, alone;
      for (int round = 0; round < kind.rounds; ++round) {
        const auto time = [&](int threads) {
          return measure([&] {
                   run_threads(libraries_[i], stores_[i], kind, options_.hot_rows, threads,
                               random_());
                 })
              .wall_us;
        };
        const double one = time(1);
        alone.push_back(one);
        ratios.push_back(kind.threads * one / time(kind.threads));
      }
      std::printf("%-12s %-28s rows/s of %d threads: %.2f (%.2f-%.2f) times those of one\n",
                  kind.name, libraries_[i].path.c_str(), kind.threads, quantile(ratios, 0.5),
                  quantile(ratios, 0.25), quantile(ratios, 0.75));
    }
  }

  const Options& options_;
  const Table& table_;
  bool hits_;
  std::vector<Library> libraries_;
  std::vector<row_store_t*> stores_;
  std::unique_ptr<Gather> gather_;
  std::unique_ptr<Drive> drive_;
  std::mt19937_64 random_{11};
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Times batches of one kind in several librow_store.so, beside the hardware's limit"};
  Options options;
  app.add_option("libraries", options.libraries,
                 "librow_store.so files; the first is the reference")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--dir", options.dir, "folder on the drive to measure");
  app.add_option("--hot-dir", options.hot_dir, "folder for the tables that are read only once");
  app.add_option("--case", options.cases, "only these (hits-144, miss-64, ...)");
  app.add_option("--rows", options.rows, "rows of the table on the drive");
  app.add_option("--hot-rows", options.hot_rows, "rows that the hits are drawn from");
  app.add_option("--rounds", options.rounds, "calls of each library and case");
  CLI11_PARSE(app, argc, argv);
  std::printf("%-12s %-28s %10s %10s %10s   %-18s %s\n", "case", "library", "median us", "p99 us",
              "cpu us", "time / first's", "time / limit");
  for (const bool hits : {true, false}) {
    std::unique_ptr<Table> table;
    std::unique_ptr<Runner> runner;
    for (const Case& kind : kCases) {
      const bool wanted = options.cases.empty() ||
                          std::count(options.cases.begin(), options.cases.end(), kind.name) != 0;
      if (kind.hits != hits || !wanted) continue;
      if (!runner) {
        table = std::make_unique<Table>(hits ? options.hot_dir : options.dir,
                                        hits ? options.hot_rows : options.rows);
        runner = std::make_unique<Runner>(options, *table, hits);
      }
      runner->run(kind);
      std::fflush(stdout);
    }
  }
}
