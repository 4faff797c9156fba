#include "io/plain_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/pread_full.h"

namespace row_store {

PlainFile::PlainFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

PlainFile::PlainFile(PlainFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), stat_(other.stat_) {}

PlainFile& PlainFile::operator=(PlainFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(stat_, other.stat_);
  return *this;
}

PlainFile::~PlainFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<PlainFile> PlainFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const int error = errno;
    return Status(ErrorCode::kIo, error,
                  path + ": cannot open: " + strerror(error) +
                      "; check the path, the mount and the process's permissions");
  }
  return adopt(fd, path);
}

Result<PlainFile> PlainFile::adopt(int fd, const std::string& path) {
  PlainFile file(fd, path);
  if (::fstat(fd, &file.stat_) != 0) {
    const int error = errno;
    return Status(ErrorCode::kIo, error, path + ": cannot stat: " + strerror(error));
  }
  if (!S_ISREG(file.stat_.st_mode)) {
    const int error = S_ISDIR(file.stat_.st_mode) ? EISDIR : EINVAL;
    return Status(ErrorCode::kNotFile, error, path + ": not a regular file");
  }
  // Some file systems answer reads of a non-blocking descriptor with EAGAIN.
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0) ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
  return file;
}

Result<std::string> PlainFile::read(uint64_t offset, uint64_t length) const {
  const uint64_t rest = offset < bytes() ? bytes() - offset : 0;
  std::string text(std::min(length, rest), '\0');
  const int64_t got = pread_full(fd_, reinterpret_cast<uint8_t*>(text.data()), text.size(), offset);
  if (got < 0) {
    const int error = static_cast<int>(-got);
    return Status(ErrorCode::kIo, error,
                  path_ + ": cannot read " + std::to_string(text.size()) + " bytes at " +
                      std::to_string(offset) + ": " + strerror(error));
  }
  text.resize(static_cast<size_t>(got));
  return text;
}

}  // namespace row_store
