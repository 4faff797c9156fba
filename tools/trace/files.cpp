#include "trace/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace row_store::trace {
namespace {

Status io_error(const std::string& what, const std::string& path) {
  const int error = errno;
  return {ErrorCode::kIo, error, "cannot " + what + " " + path + ": " + std::strerror(error)};
}

Result<std::vector<uint8_t>> read_all(int fd, const std::string& path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return io_error("inspect", path);
  if (!S_ISREG(info.st_mode)) {
    return Status::error(ErrorCode::kNotFile, path + " is not a regular file");
  }
  std::vector<uint8_t> bytes(static_cast<uint64_t>(info.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(fd, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read", path);
    if (got == 0) return Status::error(ErrorCode::kShort, path + " shrank while it was read");
    done += static_cast<size_t>(got);
  }
  return bytes;
}

Status write_part(int fd, std::span<const uint8_t> part, const std::string& path) {
  size_t done = 0;
  while (done < part.size()) {
    const ssize_t put = write(fd, part.data() + done, part.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return io_error("write", path);
    done += static_cast<size_t>(put);
  }
  return {};
}

}  // namespace

Result<std::vector<uint8_t>> read_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return io_error("open", path);
  Result<std::vector<uint8_t>> bytes = read_all(fd, path);
  close(fd);
  return bytes;
}

Status write_file(const std::string& path, std::span<const std::span<const uint8_t>> parts) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return io_error("create", path);
  for (const auto& part : parts) {
    if (Status status = write_part(fd, part, path); !status.ok()) {
      close(fd);
      return status;
    }
  }
  if (close(fd) != 0) return io_error("finish", path);
  return {};
}

}  // namespace row_store::trace
