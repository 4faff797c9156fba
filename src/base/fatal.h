// The only place in the library that prints, and the only one that stops the process.
//
// Each line is one write(2) from a fixed buffer on the stack: no allocation and no stdio, so it
// works out of memory, with stderr closed, and from a CUDA host callback. A pipe or socket that is
// full or has no reader costs the line: it neither blocks nor raises SIGPIPE. Safe from any thread.
#ifndef ROW_STORE_BASE_FATAL_H
#define ROW_STORE_BASE_FATAL_H

namespace row_store {

// "Engram: TEXT" on stderr.
void log_line(const char* format, ...) __attribute__((format(printf, 1, 2)));

// "Engram retrieval failed: TEXT (errno=N)" on stderr, then SIGABRT: a generation must never go on
// with missing or stale rows. Waits half a second for room in a full pipe.
[[noreturn]] void fatal(int sys_errno, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

}  // namespace row_store

#endif  // ROW_STORE_BASE_FATAL_H
