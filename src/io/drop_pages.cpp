#include "io/drop_pages.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/checked.h"

namespace row_store {

Extent whole_pages(Extent extent, uint64_t page_bytes) {
  const uint64_t begin = align_down(extent.offset, page_bytes);
  return {begin, align_up(extent.offset + extent.bytes, page_bytes) - begin};
}

void drop_pages(int fd, Extent extent) {
  static const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const Extent pages = whole_pages(extent, page_bytes);
  ::posix_fadvise(fd, static_cast<off_t>(pages.offset), static_cast<off_t>(pages.bytes),
                  POSIX_FADV_DONTNEED);
}

}  // namespace row_store
