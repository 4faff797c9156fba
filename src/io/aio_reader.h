// Asynchronous direct reads through Linux AIO by raw system calls: the tier that default container
// profiles allow where they forbid io_uring. Asynchronous only for files opened with O_DIRECT.
#ifndef ROW_STORE_IO_AIO_READER_H
#define ROW_STORE_IO_AIO_READER_H

#include <memory>

#include "base/status.h"
#include "io/reader.h"

namespace row_store {

// EAGAIN: fs.aio-max-nr of the host is used up; EPERM or ENOSYS: the sandbox forbids it.
Result<std::unique_ptr<Reader>> make_aio_reader(uint32_t depth);

}  // namespace row_store

#endif  // ROW_STORE_IO_AIO_READER_H
