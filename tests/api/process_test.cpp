// What the host process may do around the store: fork, exit, signals, small stacks, few
// descriptors.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/child.h"
#include "support/scoped_env.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

namespace {

constexpr uint64_t kRows = 3001;
constexpr uint64_t kBudget = 150'000;  // holds a fifth of the rows

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr size_t kSmallStack = 512 * 1024;  // their frames are larger
#else
constexpr size_t kSmallStack = 64 * 1024;
#endif

struct Fixture {
  TempDir dir;
  TestTable table = TestTable::checkpoint(dir.file("t"), kRows, 11);
  row_store_t* store = table.open(kBudget);

  Fixture() { REQUIRE(store != nullptr); }
};

bool look_up_is_right(row_store_t* store, const TestTable& table, uint64_t seed, uint64_t count) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> ids(count);
  for (int64_t& id : ids) id = static_cast<int64_t>(random() % kRows);
  LookupBuffers buffers(count);
  buffers.look_up(store, ids);
  return buffers.first_wrong(table, ids, 0, kRows) == -1 && buffers.canaries_whole();
}

// Threads that look up and compare until they are told to stop.
class Lookups {
 public:
  Lookups(row_store_t* store, const TestTable& table, int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([&, store, i] {
        for (uint64_t seed = static_cast<uint64_t>(i); !stop_; seed += 100) {
          wrong_ += !look_up_is_right(store, table, seed, 700);
          ++rounds_;
        }
      });
    }
    while (rounds_ < static_cast<uint64_t>(count)) std::this_thread::yield();
  }
  ~Lookups() { stop(); }
  uint64_t stop() {
    stop_ = true;
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
    return wrong_;
  }
  uint64_t rounds() const { return rounds_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> wrong_{0}, rounds_{0};
  std::vector<std::thread> threads_;
};

// The result of a function on a thread with a small stack.
template <typename Body>
bool on_small_stack(Body body) {
  struct Call {
    Body* body;
    bool result;
  } call{&body, false};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, kSmallStack) == 0);
  pthread_t thread;
  const auto main = [](void* argument) -> void* {
    auto* made = static_cast<Call*>(argument);
    made->result = (*made->body)();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, main, &call) == 0);
  pthread_attr_destroy(&attributes);
  pthread_join(thread, nullptr);
  return call.result;
}

int lowest_free_descriptor() {
  const int fd = ::open("/dev/null", O_RDONLY);
  ::close(fd);
  return fd;
}

// Of every thread with this name: its blocked signals as the kernel tells them.
std::vector<uint64_t> blocked_signals_of(const std::string& thread_name) {
  std::vector<uint64_t> masks;
  DIR* tasks = ::opendir("/proc/self/task");
  while (const dirent* entry = ::readdir(tasks)) {
    std::ifstream status(std::string("/proc/self/task/") + entry->d_name + "/status");
    std::string line, name;
    while (std::getline(status, line)) {
      if (line.rfind("Name:", 0) == 0) name = line.substr(6);
      if (line.rfind("SigBlk:", 0) == 0 && name == thread_name)
        masks.push_back(std::stoull(line.substr(8), nullptr, 16));
    }
  }
  ::closedir(tasks);
  return masks;
}

}  // namespace

TEST_CASE("a forked child serves right rows from every backing and the parent goes on",
          "[process]") {
  struct Backing {
    const char* mode;
    const char* scales;
    const char* engine;
    bool packed;
  };
  for (const Backing& backing :
       {Backing{"nvme", "1", "auto", false}, Backing{"nvme", "0", "auto", false},
        Backing{"nvme", "1", "auto", true}, Backing{"nvme", "1", "pool", true},
        Backing{"nvme", "0", "buffered", false}, Backing{"ram", "1", "auto", false}}) {
    INFO(backing.mode << " " << backing.scales << " " << backing.engine << " " << backing.packed);
    const ScopedEnv mode("OFFLOAD_MODE", backing.mode);
    const ScopedEnv scales("DSV41_RESIDENT_SCALES", backing.scales);
    const ScopedEnv engine("DSV41_IO_ENGINE", backing.engine);
    Fixture f;
    row_store_range(f.store, 0, kRows);
    if (backing.packed) {
      f.table.write_packed(f.dir.file("p"), row_store::PackedLayout::kDense, 1, 0, kRows);
      REQUIRE(row_store_attach_packed(f.store, f.dir.file("p").c_str(), 1) == 1);
    }
    REQUIRE(look_up_is_right(f.store, f.table, 1, 2000));
    const ChildResult child = run_in_child([&] {
      if (!look_up_is_right(f.store, f.table, 1, 2000)) return 1;
      row_store_t* own = f.table.open(kBudget);
      if (own == nullptr || !look_up_is_right(own, f.table, 2, 2000)) return 2;
      if (!look_up_is_right(own, f.table, 2, 20)) return 3;
      row_store_close(own);
      // A child of the child, while the child has threads of its own.
      const ChildResult grandchild =
          run_in_child([&] { return look_up_is_right(f.store, f.table, 4, 300) ? 0 : 1; });
      if (grandchild.exit_code != 0) {
        std::cerr << grandchild.standard_error << "grandchild: exit code " << grandchild.exit_code
                  << ", signal " << grandchild.signal << "\n";
        return 4;
      }
      row_store_close(f.store);
      return 0;
    });
    INFO(child.standard_error);
    CHECK(child.exit_code == 0);
    CHECK(look_up_is_right(f.store, f.table, 1, 2000));
    CHECK(look_up_is_right(f.store, f.table, 5, 2000));
    row_store_close(f.store);
  }
}

TEST_CASE("forks while threads look up disturb neither side", "[process]") {
  for (const char* engine : {"auto", "pool"}) {
    const ScopedEnv io_engine("DSV41_IO_ENGINE", engine);
    Fixture f;
    row_store_range(f.store, 0, kRows);
    Lookups lookups(f.store, f.table, 4);
    for (uint64_t i = 0; i < 15; ++i) {
      const ChildResult child =
          run_in_child([&] { return look_up_is_right(f.store, f.table, i, 500) ? 0 : 1; });
      INFO(child.standard_error);
      CHECK(child.exit_code == 0);
      CHECK(child.signal == 0);
    }
    const uint64_t before = lookups.rounds();
    while (lookups.rounds() < before + 8) std::this_thread::yield();
    CHECK(lookups.stop() == 0);
    row_store_close(f.store);
  }
}

TEST_CASE("a process may exit while its threads look up", "[process]") {
  for (const char* engine : {"auto", "pool"}) {
    const ScopedEnv io_engine("DSV41_IO_ENGINE", engine);
    const TempDir dir;
    const TestTable table = TestTable::checkpoint(dir.file("t"), kRows, 11);
    for (int round = 0; round < 5; ++round) {
      const ChildResult child = run_in_child([&]() -> int {
        row_store_t* store = table.open(kBudget);
        row_store_range(store, 0, kRows);
        // Leaked: its destructor would stop the threads.
        auto* lookups = new Lookups(store, table, 4);
        std::this_thread::sleep_for(std::chrono::milliseconds(round));
        std::exit(lookups->rounds() != 0 ? 7 : 8);
      });
      INFO(child.standard_error);
      CHECK(child.signal == 0);
      CHECK(child.exit_code == 7);
    }
  }
}

TEST_CASE("a signal every millisecond costs no byte", "[process]") {
  for (const char* engine : {"uring", "aio", "pool", "buffered"}) {
    INFO("engine " << engine);
    const ScopedEnv io_engine("DSV41_IO_ENGINE", engine);
    Fixture f;
    static std::atomic<uint64_t> alarms;
    alarms = 0;
    struct sigaction action {
    }, before;
    action.sa_handler = [](int) { alarms.fetch_add(1, std::memory_order_relaxed); };
    ::sigaction(SIGALRM, &action, &before);  // without SA_RESTART
    const itimerval every{{0, 1000}, {0, 1000}}, never{};
    ::setitimer(ITIMER_REAL, &every, nullptr);
    uint64_t wrong = 0;
    // An open reads the file too.
    row_store_t* own = f.table.open(0);
    for (uint64_t seed = 0; seed < 5000 && (seed < 60 || alarms < 50); ++seed)
      wrong += !look_up_is_right(seed % 2 == 0 ? f.store : own, f.table, seed, 400);
    row_store_range(own, 0, kRows);
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
    CHECK(wrong == 0);
    CHECK(alarms >= 50);
    row_store_close(own);
    row_store_close(f.store);
  }
}

TEST_CASE("the library's threads leave every signal to the host", "[process]") {
  const ScopedEnv engine("DSV41_IO_ENGINE", "pool");
  Fixture f;
  CHECK(look_up_is_right(f.store, f.table, 1, 2000));
  const std::vector<uint64_t> masks = blocked_signals_of("row_store_io");
  REQUIRE_FALSE(masks.empty());
  for (const uint64_t mask : masks)
    for (const int number : {SIGTERM, SIGINT, SIGALRM, SIGCHLD, SIGUSR1, SIGPROF, SIGHUP})
      CHECK((mask >> (number - 1) & 1) == 1);
  row_store_close(f.store);
}

TEST_CASE("64 KiB of stack are enough for every call", "[process]") {
  for (const char* engine : {"auto", "aio", "pool", "buffered"}) {
    INFO("engine " << engine);
    const ScopedEnv io_engine("DSV41_IO_ENGINE", engine);
    const TempDir dir;
    const TestTable table = TestTable::checkpoint(dir.file("t"), kRows, 11);
    table.write_packed(dir.file("p"), row_store::PackedLayout::kPage15, 1, 0, kRows);
    const bool right = on_small_stack([&] {
      row_store_t* store = table.open(kBudget);
      if (store == nullptr) return false;
      bool good = look_up_is_right(store, table, 1, 20'000);
      row_store_range(store, 0, kRows);
      good = good && row_store_attach_packed(store, dir.file("none").c_str(), 1) == 0;
      good = good && row_store_attach_packed(store, dir.file("p").c_str(), 1) == 1;
      good = good && look_up_is_right(store, table, 2, 5000);
      row_store_close(store);
      return good;
    });
    CHECK(right);
  }
}

TEST_CASE("an open without a free descriptor is refused and one more is enough to serve",
          "[process]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows, 11);
  for (const char* engine : {"auto", "uring", "pool"}) {
    INFO("engine " << engine);
    const ScopedEnv io_engine("DSV41_IO_ENGINE", engine);
    const ChildResult child = run_in_child([&] {
      const auto free = static_cast<rlim_t>(lowest_free_descriptor());
      const rlimit none{free, free + 1};
      if (::setrlimit(RLIMIT_NOFILE, &none) != 0) return 10;
      errno = 0;
      if (table.open(kBudget) != nullptr) return 1;
      if (errno != EMFILE) return 2;
      char text[256];
      if (row_store_last_error(text, sizeof text) != 2) return 3;
      const rlimit one{free + 1, free + 1};
      if (::setrlimit(RLIMIT_NOFILE, &one) != 0) return 11;
      row_store_t* store = table.open(kBudget);
      if (store == nullptr) return 4;
      if (!look_up_is_right(store, table, 1, 3000)) return 5;
      row_store_close(store);
      return 0;
    });
    INFO(child.standard_error);
    CHECK(child.exit_code == 0);
    CHECK(child.standard_error.find("Too many open files") != std::string::npos);
  }
}

TEST_CASE("a process without room for threads reads by itself", "[process]") {
  if (::getuid() != 0) return;  // the limit is per user; the tests' own user has other processes
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows, 11);
  const ScopedEnv io_engine("DSV41_IO_ENGINE", "pool");
  const ChildResult child = run_in_child([&] {
    const int file = ::open(table.path.c_str(), O_RDONLY);
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    const rlimit few{1, 1};
    if (::setrlimit(RLIMIT_NPROC, &few) != 0 || ::setuid(61'234) != 0) return 10;
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // or /proc/self stays root's
    row_store_t* store =
        row_store_open(path.c_str(), table.rows, table.weight_offset, table.scale_offset, kBudget);
    if (store == nullptr) return 2;
    row_store_range(store, 0, kRows);
    return look_up_is_right(store, table, 1, 3000) ? 0 : 1;
  });
  INFO(child.standard_error);
  CHECK(child.exit_code == 0);
  CHECK(child.standard_error.find("cannot start I/O thread") != std::string::npos);
  CHECK(child.standard_error.find("could not keep the scales") != std::string::npos);
}
