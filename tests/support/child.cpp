#include "support/child.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#if defined(__SANITIZE_THREAD__)
// The sanitizer's library looks these up in the executable, so they must be visible there.
#define ROW_STORE_FOR_TSAN extern "C" __attribute__((visibility("default"), used))
ROW_STORE_FOR_TSAN const char* __tsan_default_options();
ROW_STORE_FOR_TSAN const char* __tsan_default_suppressions();
// Children of processes with threads start threads of their own here.
const char* __tsan_default_options() { return "die_after_fork=0"; }
// The sanitizer does not know that a forked child has only one thread: what the parent's threads
// did to memory of which the child has a copy looks like a race with it, and a thread of the
// parent's that the child cannot join like a thread that was forgotten.
const char* __tsan_default_suppressions() {
  return "race:row_store::Store::detach_from_parent\nthread:start_quiet_thread\n";
}
#endif

bool ChildResult::aborted() const { return signal == SIGABRT; }

ChildResult run_in_child(const std::function<int()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::signal(SIGABRT, SIG_DFL);  // the test framework's handler would report a failed test
    ::alarm(60);
    int code = 99;
    try {
      code = body();
    } catch (...) {
    }
    ::_exit(code);
  }
  ::close(ends[1]);
  ChildResult result;
  char buffer[4096];
  ssize_t got;
  while ((got = ::read(ends[0], buffer, sizeof buffer)) > 0)
    result.standard_error.append(buffer, static_cast<size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

int line_count(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
