#include "base/fatal.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace row_store {
namespace {

// Holds the longest path that opens (4,095 bytes) and what is said about it.
constexpr size_t kLineBytes = 6144;

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

void write_line(char* line, size_t used) {
  used = std::min(used, kLineBytes - 1);
  // Paths and values are the user's: a line break in one must not make two lines of a log.
  std::replace_if(
      line, line + used, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; },
      '?');
  line[used++] = '\n';
  // A closed or full stderr must not stop a lookup, so the result is of no use.
  const ssize_t written = ::write(STDERR_FILENO, line, used);
  (void)written;
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
  write_line(line, used);
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
  write_line(line, used);
  std::abort();
}

}  // namespace row_store
