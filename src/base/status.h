// Errors inside the library: what rule was broken, with the text a user needs.
//
// A Status is ok or carries a stable code (the numbers of row_store_last_error), an errno and one
// line of text. Only src/api turns a Status into NULL, 0 or an abort. Not for the lookup path's
// success case: building one allocates.
#ifndef ROW_STORE_BASE_STATUS_H
#define ROW_STORE_BASE_STATUS_H

#include <optional>
#include <string>
#include <utility>

namespace row_store {

// Append only: the numbers are public through row_store_last_error.
enum class ErrorCode : int {
  kOk = 0,
  kArgument = 1,      // a caller's value is out of its documented range
  kIo = 2,            // a system call on the file failed
  kNotFile = 3,       // not a regular file
  kShort = 4,         // file shorter than its fixed head
  kHeaderLength = 5,  // safetensors header length implausible
  kUtf8 = 6,          // safetensors header is not UTF-8
  kJson = 7,          // safetensors header is not strict JSON
  kSchema = 8,        // JSON of the wrong shape
  kDuplicate = 9,     // a name stands twice
  kDtype = 10,        // tensor has another element type
  kOverflow = 11,     // sizes in the header wrap 64 bits
  kShape = 12,        // tensor has another shape
  kLayout = 13,       // tensors do not tile the data section
  kSize = 14,         // file size differs from what the header needs
  kMissing = 15,      // no such tensor
  kMismatch = 16,     // a packed shard that belongs to another store
  kMemory = 17,       // memory could not be had
  kState = 18,        // the call is not allowed in this state
  kChecksum = 19,     // stored and computed sums differ
  kUnsupported = 20,  // the platform or file system cannot do it
};

// Static lower-case name of a code, for logs and row_store_error_name.
const char* error_code_name(ErrorCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(ErrorCode code, int sys_errno, std::string text)
      : code_(code), sys_errno_(sys_errno), text_(std::move(text)) {}
  static Status error(ErrorCode code, std::string text) { return {code, 0, std::move(text)}; }

  bool ok() const { return code_ == ErrorCode::kOk; }
  ErrorCode code() const { return code_; }
  int sys_errno() const { return sys_errno_; }
  const std::string& text() const { return text_; }

 private:
  ErrorCode code_ = ErrorCode::kOk;
  int sys_errno_ = 0;
  std::string text_;
};

// The same failure, its text behind the file that it is about.
Status with_path(const std::string& path, const Status& status);

// A value or the Status that explains its absence.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T take() { return std::move(*value_); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace row_store

#endif  // ROW_STORE_BASE_STATUS_H
