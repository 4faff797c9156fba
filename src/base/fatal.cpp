#include "base/fatal.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace row_store {
namespace {

// Holds the longest path that opens (4,095 bytes) and what is said about it.
constexpr size_t kLineBytes = 6144;

// A full pipe may yet be read: the last line is worth a wait, but not a process that hangs.
constexpr int kFatalPatienceMs = 500;

// The line of fatal() again, for a core whose stderr is gone.
char g_last_words[kLineBytes];

// Appends to line[used..], keeping one byte for the newline; returns the new length.
size_t append(char* line, size_t used, const char* format, va_list arguments) {
  const size_t room = kLineBytes - used;
  const int wanted = std::vsnprintf(line + used, room, format, arguments);
  return wanted < 0 ? used : used + std::min(static_cast<size_t>(wanted), room - 1);
}

size_t append(char* line, size_t used, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
size_t append(char* line, size_t used, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  used = append(line, used, format, arguments);
  va_end(arguments);
  return used;
}

// Writes `bytes` that the descriptor takes at once; negative with errno when it takes none.
ssize_t write_at_once(mode_t kind, const char* text, size_t bytes) {
  if (S_ISSOCK(kind)) return ::send(STDERR_FILENO, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (S_ISFIFO(kind)) {
    // poll() promised room for PIPE_BUF bytes, but another writer may have taken it.
    const iovec piece{const_cast<char*>(text), std::min<size_t>(bytes, PIPE_BUF)};
    const ssize_t written = ::pwritev2(STDERR_FILENO, &piece, 1, -1, RWF_NOWAIT);
    if (written >= 0 || errno == EAGAIN || errno == EPIPE || errno == EINTR) return written;
    return ::write(STDERR_FILENO, piece.iov_base, piece.iov_len);  // Linux before 6.4
  }
  return ::write(STDERR_FILENO, text, bytes);
}

// A reader that is gone or does not read costs the line, not the process.
void write_patiently(const char* text, size_t bytes, int patience_ms) {
  struct stat info;
  if (::fstat(STDERR_FILENO, &info) != 0) return;
  while (bytes != 0) {
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    const int count = ::poll(&ready, 1, patience_ms);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    const ssize_t written = write_at_once(info.st_mode, text, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text += written;
    bytes -= static_cast<size_t>(written);
  }
}

void write_line(char* line, size_t used, int patience_ms) {
  used = std::min(used, kLineBytes - 1);
  // Paths and values are the user's: a line break in one must not make two lines of a log.
  std::replace_if(
      line, line + used, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; },
      '?');
  line[used++] = '\n';
  // The signal of a closed pipe would end a host that has not thought of it. It comes to the thread
  // that wrote, so it can be held back and taken away here; one that was pending before stays.
  sigset_t broken_pipe, before, pending;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  write_patiently(line, used, patience_ms);
  sigpending(&pending);
  constexpr timespec kNow{0, 0};
  if (!was_pending && sigismember(&pending, SIGPIPE) == 1)
    while (sigtimedwait(&broken_pipe, nullptr, &kNow) < 0 && errno == EINTR) {
    }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void log_line(const char* format, ...) {
  const int saved_errno = errno;
  char line[kLineBytes];
  size_t used = append(line, 0, "Engram: ");
  va_list arguments;
  va_start(arguments, format);
  used = append(line, used, format, arguments);
  va_end(arguments);
  write_line(line, used, 0);
  errno = saved_errno;
}

void fatal(int sys_errno, const char* format, ...) {
  char line[kLineBytes];
  size_t used = append(line, 0, "Engram retrieval failed: ");
  va_list arguments;
  va_start(arguments, format);
  used = append(line, used, format, arguments);
  va_end(arguments);
  used = append(line, used, " (errno=%d)", sys_errno);
  std::memcpy(g_last_words, line, used);
  write_line(line, used, kFatalPatienceMs);
  std::abort();
}

}  // namespace row_store
