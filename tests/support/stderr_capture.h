// Collects what is written to descriptor 2 during its life, as the library writes it: without
// stdio.
#ifndef ROW_STORE_SUPPORT_STDERR_CAPTURE_H
#define ROW_STORE_SUPPORT_STDERR_CAPTURE_H

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

class StderrCapture {
 public:
  StderrCapture() : kept_(::dup(STDERR_FILENO)), file_(::memfd_create("stderr", MFD_CLOEXEC)) {
    if (kept_ < 0 || file_ < 0) throw std::runtime_error("cannot capture stderr");
    ::dup2(file_, STDERR_FILENO);
  }
  ~StderrCapture() {
    stop();
    ::close(file_);
  }
  StderrCapture(const StderrCapture&) = delete;
  StderrCapture& operator=(const StderrCapture&) = delete;

  // Gives stderr back; later output is not collected.
  void stop() {
    if (kept_ < 0) return;
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
    kept_ = -1;
  }
  std::string text() const {
    std::string all;
    char buffer[4096];
    ssize_t got;
    while ((got = ::pread(file_, buffer, sizeof buffer, static_cast<off_t>(all.size()))) > 0)
      all.append(buffer, static_cast<size_t>(got));
    return all;
  }

 private:
  int kept_;
  int file_;
};

#endif  // ROW_STORE_SUPPORT_STDERR_CAPTURE_H
