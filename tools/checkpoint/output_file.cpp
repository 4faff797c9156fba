#include "checkpoint/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace row_store::checkpoint {

OutputFile::OutputFile(std::string path) : path_(std::move(path)), buffer_(kBufferBytes) {
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) fail("create");
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
}

void OutputFile::fail(const char* what) {
  const int error = errno;
  if (!status_.ok()) return;
  status_ = Status(ErrorCode::kIo, error,
                   std::string("cannot ") + what + " " + path_ + ": " + std::strerror(error));
}

void OutputFile::flush() {
  for (uint64_t done = 0; done < used_ && status_.ok();) {
    const ssize_t put = write(fd_, buffer_.data() + done, used_ - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      fail("write");
    } else {
      done += static_cast<uint64_t>(put);
    }
  }
  used_ = 0;
}

uint8_t* OutputFile::extend(uint64_t bytes) {
  if (used_ + bytes > kBufferBytes) flush();
  uint8_t* place = buffer_.data() + used_;
  used_ += bytes;
  return place;
}

void OutputFile::append(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const uint64_t part = std::min<uint64_t>(bytes.size(), kBufferBytes);
    std::memcpy(extend(part), bytes.data(), part);
    bytes = bytes.subspan(part);
  }
}

void OutputFile::append(std::string_view text) {
  append(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

Status OutputFile::finish() {
  flush();
  if (!status_.ok()) return status_;
  if (fdatasync(fd_) != 0) fail("sync");
  posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);  // only a hint; nothing depends on it
  if (close(fd_) != 0) fail("close");
  fd_ = -1;
  return status_;
}

}  // namespace row_store::checkpoint
