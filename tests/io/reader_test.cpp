// The three engines behind the Reader seam, and the threads behind one of them.
#include "io/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/memory_map.h"
#include "io/context.h"
#include "io/thread_pool.h"
#include "support/catch.h"
#include "support/temp_dir.h"

namespace {

using row_store::Engine;
using row_store::kPageBytes;
using row_store::ReadCompletion;
using row_store::Reader;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kFileBytes = 200 * 4096 + 777;  // the tail is no multiple of 512
constexpr uint32_t kDepth = 8;
constexpr int kLongMs = 20'000;  // never reached

uint8_t byte_at(uint64_t offset) { return static_cast<uint8_t>(offset * 31 + offset / 4096 * 7); }

// A file, a reader and one page of buffer for each token.
class Bench {
 public:
  explicit Bench(Engine engine, uint32_t depth = kDepth) : depth_(depth) {
    std::string bytes(kFileBytes, '\0');
    for (uint64_t i = 0; i < kFileBytes; ++i) bytes[i] = static_cast<char>(byte_at(i));
    std::ofstream(dir_.file("f"), std::ios::binary) << bytes;
    direct_ = ::open(dir_.file("f").c_str(), O_RDONLY | O_DIRECT);
    if (direct_ < 0) direct_ = ::open(dir_.file("f").c_str(), O_RDONLY);
    auto map = row_store::MemoryMap::create(depth * kPageBytes);
    REQUIRE(map.ok());
    buffers_ = map.take();
    auto made = row_store::make_reader(engine, depth);
    REQUIRE(made.ok());
    reader_ = made.take();
  }
  ~Bench() {
    reader_.reset();
    ::close(direct_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Reader& reader() { return *reader_; }
  int fd() const { return direct_; }
  uint8_t* buffer(uint32_t token) const { return buffers_.data() + token * kPageBytes; }
  void prepare(uint32_t token, uint64_t offset, int fd) {
    std::memset(buffer(token), 0xEE, kPageBytes);
    reader_->prepare({fd, kPageBytes, offset, buffer(token), token, false});
  }
  void prepare(uint32_t token, uint64_t offset) { prepare(token, offset, direct_); }
  // Whether a completion is the whole answer to a read of this page.
  bool is_right(const ReadCompletion& completion, uint64_t offset) const {
    const uint64_t there = offset < kFileBytes ? std::min(kPageBytes, kFileBytes - offset) : 0;
    if (completion.result < 0 || static_cast<uint64_t>(completion.result) != there) return false;
    for (uint64_t i = 0; i < there; ++i)
      if (buffer(completion.token)[i] != byte_at(offset + i)) return false;
    return true;
  }

 private:
  TempDir dir_;
  uint32_t depth_;
  int direct_ = -1;
  row_store::MemoryMap buffers_;
  std::unique_ptr<Reader> reader_;
};

// Each engine of this machine; one that a sandbox forbids is named.
void for_each_engine(const std::function<void(Engine)>& body) {
  for (const Engine engine : {Engine::kUring, Engine::kAio, Engine::kPool}) {
    const auto made = row_store::make_reader(engine, kDepth);
    if (!made.ok()) {
      std::cerr << "not tested here: " << made.status().text() << "\n";
      REQUIRE(engine != Engine::kPool);
      continue;
    }
    INFO(row_store::engine_name(engine));
    body(engine);
  }
}

int64_t elapsed_ms(Clock::time_point from) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - from).count();
}

}  // namespace

TEST_CASE("more requests than the depth are all served, in any order, each once", "[reader]") {
  for_each_engine([](Engine engine) {
    Bench bench(engine);
    std::mt19937_64 random(3);
    constexpr uint32_t kRequests = 1000;
    std::vector<uint32_t> free(kDepth);
    for (uint32_t i = 0; i < kDepth; ++i) free[i] = i;
    std::vector<uint64_t> offset_of(kDepth, UINT64_MAX);
    uint32_t sent = 0, done = 0, wrong = 0;
    while (done < kRequests) {
      while (!free.empty() && sent < kRequests && random() % 8 != 0) {
        const uint32_t token = free.back();
        free.pop_back();
        offset_of[token] = random() % 202 * kPageBytes;  // the tail and what is behind it too
        bench.prepare(token, offset_of[token]);
        ++sent;
      }
      if (random() % 3 != 0) REQUIRE(bench.reader().submit() == 0);
      ReadCompletion out[3];
      const uint32_t least = sent - done == 0 ? 0 : static_cast<uint32_t>(random() % 2);
      REQUIRE(bench.reader().submit() == 0);
      const int count = bench.reader().reap(out, least, kLongMs);
      REQUIRE(count >= static_cast<int>(least));
      REQUIRE(count <= 3);
      for (int i = 0; i < count; ++i) {
        const uint32_t token = out[i].token;
        REQUIRE(token < kDepth);
        REQUIRE(offset_of[token] != UINT64_MAX);  // in flight, so not seen before
        wrong += !bench.is_right(out[i], offset_of[token]);
        offset_of[token] = UINT64_MAX;
        free.push_back(token);
        ++done;
      }
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("the tail of a file comes short and what is behind it comes empty", "[reader]") {
  for_each_engine([](Engine engine) {
    Bench bench(engine);
    const uint64_t offsets[] = {kFileBytes / 4096 * 4096, (kFileBytes / 4096 + 1) * 4096,
                                uint64_t{1} << 40, 0};
    for (uint32_t token = 0; token < 4; ++token) bench.prepare(token, offsets[token]);
    REQUIRE(bench.reader().submit() == 0);
    ReadCompletion out[kDepth];
    REQUIRE(bench.reader().reap(out, 4, kLongMs) == 4);
    for (int i = 0; i < 4; ++i) CHECK(bench.is_right(out[i], offsets[out[i].token]));
    // A read that found nothing leaves the buffer alone.
    CHECK(bench.buffer(2)[0] == 0xEE);
  });
}

TEST_CASE("a read that fails says why and the others arrive", "[reader]") {
  for_each_engine([](Engine engine) {
    Bench bench(engine);
    const int closed = ::dup(bench.fd());
    ::close(closed);
    for (int round = 0; round < 3; ++round) {
      for (uint32_t token = 0; token < kDepth; ++token) {
        if (token % 3 == 1)
          bench.prepare(token, token * kPageBytes, closed);
        else
          bench.prepare(token, token * kPageBytes);
      }
      REQUIRE(bench.reader().submit() == 0);
      uint32_t seen = 0;
      for (uint32_t done = 0; done < kDepth;) {
        ReadCompletion out[kDepth];
        const int count = bench.reader().reap(out, 1, kLongMs);
        REQUIRE(count > 0);
        for (int i = 0; i < count; ++i) {
          seen |= 1u << out[i].token;
          if (out[i].token % 3 == 1)
            CHECK(out[i].result == -EBADF);
          else
            CHECK(bench.is_right(out[i], out[i].token * kPageBytes));
        }
        done += static_cast<uint32_t>(count);
      }
      CHECK(seen == (1u << kDepth) - 1);
    }
  });
}

TEST_CASE("a reap of nothing returns when its time is over", "[reader]") {
  for_each_engine([](Engine engine) {
    Bench bench(engine);
    ReadCompletion out[2];
    const auto from = Clock::now();
    CHECK(bench.reader().reap(out, 1, 60) == 0);
    CHECK(elapsed_ms(from) >= 50);
    CHECK(elapsed_ms(from) < 10'000);
    CHECK(bench.reader().reap(out, 0, kLongMs) == 0);
    CHECK(elapsed_ms(from) < 10'000);
    // And the reader is as good as before.
    bench.prepare(1, 4096);
    REQUIRE(bench.reader().submit() == 0);
    REQUIRE(bench.reader().reap(out, 1, kLongMs) == 1);
    CHECK(bench.is_right(out[0], 4096));
  });
}

TEST_CASE("a reap for more than there is room for fills the room", "[reader]") {
  for_each_engine([](Engine engine) {
    Bench bench(engine);
    for (uint32_t token = 0; token < 4; ++token) bench.prepare(token, token * kPageBytes);
    REQUIRE(bench.reader().submit() == 0);
    for (int i = 0; i < 4; ++i) {
      ReadCompletion out[1];
      REQUIRE(bench.reader().reap(out, 4, kLongMs) == 1);
      CHECK(bench.is_right(out[0], out[0].token * kPageBytes));
    }
  });
}

TEST_CASE("a read that does not come back leaves the caller free and arrives later", "[reader]") {
  auto made = row_store::make_reader(Engine::kUring, kDepth);
  if (!made.ok()) return;  // named by the tests above; the other engines cannot read a pipe
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  uint8_t buffer[16] = {};
  made.value()->prepare({ends[0], 5, 0, buffer, 3, false});
  REQUIRE(made.value()->submit() == 0);
  ReadCompletion out[2];
  const auto from = Clock::now();
  CHECK(made.value()->reap(out, 1, 60) == 0);
  CHECK(elapsed_ms(from) >= 50);
  CHECK(elapsed_ms(from) < 10'000);
  REQUIRE(::write(ends[1], "hello", 5) == 5);
  REQUIRE(made.value()->reap(out, 1, kLongMs) == 1);
  CHECK(out[0].token == 3);
  CHECK(out[0].result == 5);
  CHECK(std::memcmp(buffer, "hello", 5) == 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a reader may go while others of its engine read on", "[reader]") {
  for_each_engine([](Engine engine) {
    Bench kept(engine);
    for (uint32_t token = 0; token < 4; ++token) kept.prepare(token, token * kPageBytes);
    REQUIRE(kept.reader().submit() == 0);
    for (int i = 0; i < 5; ++i) {
      Bench other(engine);
      other.prepare(0, 8192);
      REQUIRE(other.reader().submit() == 0);
      ReadCompletion out[1];
      REQUIRE(other.reader().reap(out, 1, kLongMs) == 1);
      CHECK(other.is_right(out[0], 8192));
    }
    ReadCompletion out[4];
    REQUIRE(kept.reader().reap(out, 4, kLongMs) == 4);
    for (const ReadCompletion& completion : out)
      CHECK(kept.is_right(completion, completion.token * kPageBytes));
  });
}

namespace {

using row_store::Helper;
using row_store::ThreadPool;

// Threads that come stay until they are let go.
class Gate final : public Helper {
 public:
  void help() override {
    ++inside_;
    ++came_;
    while (!open_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --inside_;
  }
  void open() { open_ = true; }
  int inside() const { return inside_; }
  int came() const { return came_; }

 private:
  std::atomic<bool> open_{false};
  std::atomic<int> inside_{0}, came_{0};
};

bool soon(const std::function<bool()>& holds) {
  const auto from = Clock::now();
  while (!holds() && elapsed_ms(from) < 10'000)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return holds();
}

// A pool's threads live as long as the process, and so must the pool.
ThreadPool& make_pool(uint32_t limit) {
  static auto& pools = *new std::vector<ThreadPool*>;
  pools.push_back(new ThreadPool(limit));
  return *pools.back();
}

}  // namespace

TEST_CASE("exactly as many threads come as were asked for, up to the limit", "[thread_pool]") {
  ThreadPool& pool = make_pool(3);
  for (const uint32_t asked : {1u, 2u, 3u, 10u}) {
    const int expected = static_cast<int>(std::min(asked, 3u));
    Gate gate;
    pool.ask(&gate, asked);
    REQUIRE(soon([&] { return gate.inside() == expected; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(gate.inside() == expected);
    gate.open();
    pool.dismiss(&gate);
    CHECK(gate.inside() == 0);
    CHECK(gate.came() == expected);
  }
}

TEST_CASE("a dismissal waits for the threads inside", "[thread_pool]") {
  ThreadPool& pool = make_pool(2);
  Gate gate;
  pool.ask(&gate, 2);
  REQUIRE(soon([&] { return gate.inside() == 2; }));
  std::atomic<bool> dismissed{false};
  std::thread waiting([&] {
    pool.dismiss(&gate);
    dismissed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(dismissed);
  gate.open();
  waiting.join();
  CHECK(gate.inside() == 0);
}

TEST_CASE("what was asked for and not taken up is withdrawn", "[thread_pool]") {
  ThreadPool& pool = make_pool(1);
  Gate busy;
  pool.ask(&busy, 1);
  REQUIRE(soon([&] { return busy.inside() == 1; }));
  {
    Gate late;
    pool.ask(&late, 1);
    pool.dismiss(&late);  // returns although the only thread is elsewhere
    CHECK(late.came() == 0);
  }
  busy.open();
  pool.dismiss(&busy);
  Gate next;
  next.open();
  pool.ask(&next, 1);
  REQUIRE(soon([&] { return next.came() == 1; }));
  pool.dismiss(&next);
}

TEST_CASE("a pool of no threads and a dismissal of a stranger do nothing", "[thread_pool]") {
  ThreadPool& pool = make_pool(0);
  Gate gate;
  pool.ask(&gate, 5);
  pool.dismiss(&gate);
  pool.dismiss(&gate);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(gate.came() == 0);
}

TEST_CASE("helpers that are done and not dismissed leave room for others", "[thread_pool]") {
  ThreadPool& pool = make_pool(2);
  std::vector<std::unique_ptr<Gate>> gates;
  for (int i = 0; i < 100; ++i) {
    gates.push_back(std::make_unique<Gate>());
    Gate& gate = *gates.back();
    gate.open();
    REQUIRE(pool.ask(&gate, 1));
    REQUIRE(soon([&] { return gate.came() == 1; }));
  }
  for (const auto& gate : gates) pool.dismiss(gate.get());
}

TEST_CASE("many helpers at once each get their threads back", "[thread_pool]") {
  ThreadPool& pool = make_pool(4);
  std::vector<std::thread> callers;
  std::atomic<int> left{0}, came{0};
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        Gate gate;
        gate.open();
        pool.ask(&gate, 2);
        if (round % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        pool.dismiss(&gate);
        left += gate.inside();
        came += gate.came();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(left == 0);
  CHECK(came > 0);
}
