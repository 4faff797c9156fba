// A regular file whose few bytes of description are read through the page cache: an index, a
// header. Rows go through TableFile.
#ifndef ROW_STORE_IO_PLAIN_FILE_H
#define ROW_STORE_IO_PLAIN_FILE_H

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/status.h"

namespace row_store {

class PlainFile {
 public:
  // Never blocks on a FIFO; follows symbolic links. kIo or kNotFile.
  static Result<PlainFile> open(const std::string& path);
  // Takes over a descriptor that was opened with O_NONBLOCK; `path` is for messages.
  static Result<PlainFile> adopt(int fd, const std::string& path);
  PlainFile(PlainFile&& other) noexcept;
  PlainFile& operator=(PlainFile&& other) noexcept;
  ~PlainFile();

  const std::string& path() const { return path_; }
  uint64_t bytes() const { return static_cast<uint64_t>(stat_.st_size); }
  const struct stat& identity() const { return stat_; }

  // Up to `length` bytes at `offset`, fewer at the end of the file.
  Result<std::string> read(uint64_t offset, uint64_t length) const;

 private:
  PlainFile(int fd, std::string path);

  int fd_ = -1;
  std::string path_;
  struct stat stat_ {};
};

}  // namespace row_store

#endif  // ROW_STORE_IO_PLAIN_FILE_H
