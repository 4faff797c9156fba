// Asynchronous reads through io_uring, submitted and reaped by the calling thread.
//
// The ring works from any thread (no SINGLE_ISSUER), polls nothing and registers nothing, so that
// it needs little locked memory. Lookups own it one at a time.
#ifndef ROW_STORE_IO_URING_READER_H
#define ROW_STORE_IO_URING_READER_H

#include <memory>

#include "base/status.h"
#include "io/reader.h"

namespace row_store {

// The error's errno tells why: EPERM and EACCES a container's seccomp profile or
// kernel.io_uring_disabled, ENOSYS an old kernel, ENOMEM RLIMIT_MEMLOCK.
Result<std::unique_ptr<Reader>> make_uring_reader(uint32_t depth);

}  // namespace row_store

#endif  // ROW_STORE_IO_URING_READER_H
