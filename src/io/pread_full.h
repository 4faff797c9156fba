// One synchronous read of a whole extent.
#ifndef ROW_STORE_IO_PREAD_FULL_H
#define ROW_STORE_IO_PREAD_FULL_H

#include <cstdint>

namespace row_store {

// Reads until `length` bytes or the end of the file; EINTR is retried without end. Returns the
// bytes, or -errno. After a short direct read it goes on from the last page boundary, so offset,
// length and buffer must be page-aligned for direct files.
int64_t pread_full(int fd, uint8_t* buffer, uint64_t length, uint64_t offset);

}  // namespace row_store

#endif  // ROW_STORE_IO_PREAD_FULL_H
