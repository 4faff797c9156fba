// Gives the page cache's pages back after a buffered read, so that a file system without direct
// reads does not fill the memory that the KV cache needs.
//
// The kernel drops only pages that lie whole in the range it is given, and its pages may be larger
// than the 4096 bytes we read (64 KiB on some Arm kernels): the range is widened to theirs. What
// else lies in those pages goes too, and costs a read if anybody wants it.
#ifndef ROW_STORE_IO_DROP_PAGES_H
#define ROW_STORE_IO_DROP_PAGES_H

#include <cstdint>

#include "format/row_layout.h"

namespace row_store {

// The pages of page_bytes that `extent` touches.
Extent whole_pages(Extent extent, uint64_t page_bytes);

void drop_pages(int fd, Extent extent);

}  // namespace row_store

#endif  // ROW_STORE_IO_DROP_PAGES_H
