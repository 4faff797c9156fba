#include "io/pread_full.h"

#include <unistd.h>

#include <cerrno>

#include "base/checked.h"
#include "format/row_layout.h"

namespace row_store {

int64_t pread_full(int fd, uint8_t* buffer, uint64_t length, uint64_t offset) {
  uint64_t got = 0;
  while (got < length) {
    // A direct read must start on a boundary, so a ragged short read is partly repeated.
    const uint64_t from = align_down(got, kPageBytes);
    const ssize_t result =
        ::pread(fd, buffer + from, length - from, static_cast<off_t>(offset + from));
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) return -errno;
    const uint64_t now = from + static_cast<uint64_t>(result);
    if (now <= got) {
      // No progress from a page boundary is the end of the file. A file system that never gives
      // more than a part of a page (some FUSE ones) is read on from where it stopped.
      const ssize_t rest =
          from == got ? 0
                      : ::pread(fd, buffer + got, length - got, static_cast<off_t>(offset + got));
      if (rest < 0 && errno == EINTR) continue;
      if (rest <= 0) break;
      got += static_cast<uint64_t>(rest);
      continue;
    }
    got = now;
  }
  return static_cast<int64_t>(got);
}

}  // namespace row_store
