// Lines on a stderr that is full, closed or slow: the line may be lost, the process must not be.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "base/fatal.h"
#include "support/catch.h"
#include "support/child.h"

namespace {

enum class Kind { kPipe, kSocket };

struct Ends {
  int read = -1;
  int write = -1;
};

Ends make(Kind kind) {
  int ends[2];
  const int made = kind == Kind::kPipe ? ::pipe(ends) : ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  return made == 0 ? Ends{ends[0], ends[1]} : Ends{};
}

// Writes until nothing more goes in, and leaves the descriptor blocking. How much that was.
size_t fill(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  const std::vector<char> block(4096, '#');
  size_t bytes = 0;
  for (size_t piece : {size_t{4096}, size_t{1}})
    for (ssize_t got; (got = ::write(fd, block.data(), piece)) > 0;)
      bytes += static_cast<size_t>(got);
  ::fcntl(fd, F_SETFL, flags);
  return bytes;
}

bool has_room(int fd) {
  pollfd ready{fd, POLLOUT, 0};
  return ::poll(&ready, 1, 0) == 1;
}

std::string drain(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  return text;
}

bool is_pending(int number) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, number) == 1;
}

}  // namespace

TEST_CASE("a line for a full pipe or socket is lost and nobody waits", "[log_line]") {
  for (const Kind kind : {Kind::kPipe, Kind::kSocket}) {
    INFO((kind == Kind::kPipe ? "pipe" : "socket"));
    // A child, since a line that blocks would block the tests: its alarm ends it.
    const ChildResult child = run_in_child([&] {
      const Ends ends = make(kind);
      if (fill(ends.write) == 0 || has_room(ends.write)) return 10;
      ::dup2(ends.write, STDERR_FILENO);
      errno = ENOTTY;
      row_store::log_line("lost %d", 1);
      if (errno != ENOTTY) return 1;
      if (drain(ends.read).find("lost") != std::string::npos) return 2;
      row_store::log_line("kept %d", 2);
      return drain(ends.read) == "Engram: kept 2\n" ? 0 : 3;
    });
    CHECK(child.signal == 0);
    CHECK(child.exit_code == 0);
  }
}

TEST_CASE("a line for a pipe without a reader raises no signal", "[log_line]") {
  for (const Kind kind : {Kind::kPipe, Kind::kSocket}) {
    INFO((kind == Kind::kPipe ? "pipe" : "socket"));
    const ChildResult child = run_in_child([&] {
      ::signal(SIGPIPE, SIG_DFL);
      const Ends ends = make(kind);
      ::close(ends.read);
      ::dup2(ends.write, STDERR_FILENO);
      row_store::log_line("to nobody");
      sigset_t mask;
      pthread_sigmask(SIG_SETMASK, nullptr, &mask);
      if (sigismember(&mask, SIGPIPE) != 0 || is_pending(SIGPIPE)) return 1;
      // A signal that the host holds back for itself stays.
      sigset_t broken_pipe;
      sigemptyset(&broken_pipe);
      sigaddset(&broken_pipe, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
      ::raise(SIGPIPE);
      row_store::log_line("to nobody");
      return is_pending(SIGPIPE) ? 0 : 2;
    });
    CHECK(child.signal == 0);
    CHECK(child.exit_code == 0);
  }
}

TEST_CASE("a fatal line aborts though stderr is full, without a reader or closed", "[log_line]") {
  for (const int state : {0, 1, 2}) {
    const ChildResult child = run_in_child([&] {
      ::signal(SIGPIPE, SIG_DFL);
      const Ends ends = make(Kind::kPipe);
      if (state == 0 && fill(ends.write) == 0) return 10;
      if (state == 1) ::close(ends.read);
      ::dup2(ends.write, STDERR_FILENO);
      if (state == 2) ::close(STDERR_FILENO);
      row_store::fatal(EIO, "the end");
    });
    INFO("state " << state << " code " << child.exit_code << " signal " << child.signal);
    CHECK(child.aborted());
  }
}

TEST_CASE("a fatal line waits for a reader that is slow", "[log_line]") {
  const Ends ends = make(Kind::kPipe);
  const Ends ready = make(Kind::kPipe);
  const size_t filled = fill(ends.write);
  std::thread reader([&] {
    char byte;
    if (::read(ready.read, &byte, 1) != 1) return;
    // Byte by byte: there is room only when the first page of the pipe is empty.
    for (size_t left = filled; left != 0; --left)
      if (::read(ends.read, &byte, 1) != 1) return;
  });
  const ChildResult child = run_in_child([&] {
    ::dup2(ends.write, STDERR_FILENO);
    // From here on the reader makes room, most likely after the line was tried.
    if (::write(ready.write, "x", 1) != 1) return 1;
    row_store::fatal(EIO, "the end");
  });
  reader.join();
  CHECK(child.aborted());
  CHECK(drain(ends.read) == "Engram retrieval failed: the end (errno=5)\n");
  for (const int fd : {ends.read, ends.write, ready.read, ready.write}) ::close(fd);
}

TEST_CASE("a line longer than a pipe takes in one piece arrives whole", "[log_line]") {
  const std::string path(5000, 'p');
  const ChildResult child = run_in_child([&] {
    row_store::log_line("%s", path.c_str());
    return 0;
  });
  CHECK(child.standard_error == "Engram: " + path + "\n");
}
