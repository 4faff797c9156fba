// The library's own threads: deaf to signals, small, and refused with the system's error.
#include "base/quiet_thread.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "support/catch.h"
#include "support/child.h"

namespace {

using row_store::start_quiet_thread;

struct Seen {
  std::atomic<bool> done{false};
  bool blocks_all = true;
  size_t stack_bytes = 0;
};

void* look_around(void* argument) {
  auto* seen = static_cast<Seen*>(argument);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (const int number : {SIGTERM, SIGINT, SIGALRM, SIGCHLD, SIGUSR1, SIGPROF, SIGHUP, SIGPIPE})
    seen->blocks_all = seen->blocks_all && sigismember(&mask, number) == 1;
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* base = nullptr;
  pthread_attr_getstack(&attributes, &base, &seen->stack_bytes);
  pthread_attr_destroy(&attributes);
  seen->done = true;
  return nullptr;
}

}  // namespace

TEST_CASE("a thread blocks every signal and leaves its starter's mask alone", "[quiet_thread]") {
  sigset_t usr2, before, after;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  pthread_sigmask(SIG_SETMASK, &usr2, &before);
  Seen seen;
  pthread_t thread;
  REQUIRE(start_quiet_thread(&thread, 128 * 1024, look_around, &seen) == 0);
  pthread_sigmask(SIG_SETMASK, &before, &after);
  pthread_join(thread, nullptr);
  CHECK(seen.blocks_all);
  CHECK(sigismember(&after, SIGUSR2) == 1);
  CHECK(sigismember(&after, SIGTERM) == 0);
  CHECK(seen.stack_bytes >= 128 * 1024);
  CHECK(seen.stack_bytes < 1024 * 1024);
}

TEST_CASE("a stack that cannot be had becomes the system's default", "[quiet_thread]") {
  Seen seen;
  pthread_t thread;
  REQUIRE(start_quiet_thread(&thread, 1, look_around, &seen) == 0);
  pthread_join(thread, nullptr);
  CHECK(seen.stack_bytes > 128 * 1024);
}

TEST_CASE("a thread that nobody joins runs", "[quiet_thread]") {
  static Seen& seen = *new Seen;  // it may be used after this function's end
  REQUIRE(start_quiet_thread(nullptr, 128 * 1024, look_around, &seen) == 0);
  while (!seen.done) ::usleep(1000);
  CHECK(seen.blocks_all);
}

TEST_CASE("a refused thread is the system's error", "[quiet_thread]") {
  if (::getuid() != 0) return;  // the limit is per user; the tests' own user has other processes
  const ChildResult child = run_in_child([] {
    const rlimit few{1, 1};
    if (::setrlimit(RLIMIT_NPROC, &few) != 0 || ::setuid(61'234) != 0) return 10;
    Seen seen;
    pthread_t thread;
    return start_quiet_thread(&thread, 128 * 1024, look_around, &seen) == EAGAIN ? 0 : 1;
  });
  CHECK(child.exit_code == 0);
}
