// A large file written front to back: buffered, synced at the end, dropped from the page cache, so
// that direct reads that follow find no dirty or cached pages. The first error sticks; finish()
// reports it.
#ifndef ROW_STORE_CHECKPOINT_OUTPUT_FILE_H
#define ROW_STORE_CHECKPOINT_OUTPUT_FILE_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace row_store::checkpoint {

class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void append(std::span<const uint8_t> bytes);
  void append(std::string_view text);

  // The next `bytes` bytes (at most kBufferBytes), for the caller to fill before the next call.
  uint8_t* extend(uint64_t bytes);

  Status finish();

  static constexpr uint64_t kBufferBytes = uint64_t{1} << 20;

 private:
  void flush();
  void fail(const char* what);

  std::string path_;
  int fd_ = -1;
  std::vector<uint8_t> buffer_;
  uint64_t used_ = 0;
  Status status_;
};

}  // namespace row_store::checkpoint

#endif  // ROW_STORE_CHECKPOINT_OUTPUT_FILE_H
