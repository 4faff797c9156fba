// Readers whose system calls the kernel refuses while reads are waited for.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iostream>
#include <thread>

#include "io/context.h"
#include "io/reader.h"
#include "support/catch.h"
#include "support/seccomp.h"

namespace {

using row_store::Engine;
using row_store::ReadCompletion;

}  // namespace

TEST_CASE("a wait that is interrupted or refused for ever ends at its time", "[reader]") {
  for (const Engine engine : {Engine::kUring, Engine::kAio}) {
    for (const int error : {EINTR, EAGAIN}) {
      if (engine == Engine::kAio && error == EAGAIN) continue;  // io_getevents never says so
      auto made = row_store::make_reader(engine, 4);
      if (!made.ok()) {
        std::cerr << "not tested here: " << made.status().text() << "\n";
        continue;
      }
      bool filtered = false;
      bool fired = false;
      int reaped = -1;
      // A filter holds for its thread, for good.
      std::thread([&] {
        const int zero = open("/dev/zero", O_RDONLY);
        std::array<uint8_t, 512> buffer{};
        row_store::ReadRequest request;
        request.fd = zero;
        request.buffer = buffer.data();
        request.length = 512;
        made.value()->prepare(request);
        filtered = refuse_system_calls({SYS_io_uring_enter, SYS_io_getevents}, error);
        fired = syscall(SYS_io_getevents, 0, 0, 0, nullptr, nullptr) == -1 && errno == error;
        std::array<ReadCompletion, 4> out;
        reaped = made.value()->reap(out, 1, 50);
        close(zero);
      }).join();
      if (!filtered) continue;
      REQUIRE(fired);
      INFO(row_store::engine_name(engine) << ", errno " << error);
      REQUIRE(reaped == 0);
    }
  }
}

TEST_CASE("AIO reads that failed at submission survive a refused wait", "[reader]") {
  auto made = row_store::make_reader(Engine::kAio, 4);
  if (!made.ok()) {
    std::cerr << "not tested here: " << made.status().text() << "\n";
    return;
  }
  bool filtered = false;
  int first = 0;
  int second = 0;
  std::array<ReadCompletion, 4> out;
  std::thread([&] {
    const int zero = open("/dev/zero", O_RDONLY);
    std::array<uint8_t, 512> buffer{};
    row_store::ReadRequest request;
    request.buffer = buffer.data();
    request.length = 512;
    request.fd = zero;
    made.value()->prepare(request);
    request.fd = -1;
    request.token = 1;
    made.value()->prepare(request);
    filtered = refuse_system_calls({SYS_io_getevents}, EXDEV);
    made.value()->submit();
    first = made.value()->reap(out, 2, 50);
    std::array<ReadCompletion, 4> later;
    second = made.value()->reap(later, 1, 50);
    close(zero);
  }).join();
  if (!filtered) return;
  REQUIRE(second == -EXDEV);  // the fault fired
  REQUIRE(first == 1);
  REQUIRE(out[0].token == 1);
  REQUIRE(out[0].result == -EBADF);
}
