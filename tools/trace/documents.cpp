#include "trace/documents.h"

#include <cstring>

#include "trace/addressing.h"
#include "trace/files.h"

namespace row_store::trace {
namespace {

constexpr std::string_view kMagic = "EGTOK001";

// Takes values off the front of a span; failed() once one did not fit.
class Cursor {
 public:
  explicit Cursor(std::span<const uint8_t> bytes) : left_(bytes) {}

  template <typename T>
  T take() {
    T value{};
    const auto bytes = skip(sizeof(T));
    if (!failed_) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  std::span<const uint8_t> skip(uint64_t count) {
    if (count > left_.size()) {
      failed_ = true;
      return {};
    }
    const auto front = left_.first(count);
    left_ = left_.subspan(count);
    return front;
  }

  uint64_t left() const { return left_.size(); }
  bool failed() const { return failed_; }

 private:
  std::span<const uint8_t> left_;
  bool failed_ = false;
};

Status short_file(const char* place) {
  return Status::error(ErrorCode::kShort, std::string("ends inside its ") + place);
}

Status read_starts(Cursor& cursor, uint32_t documents, uint32_t kinds, Documents& out) {
  if (documents > cursor.left() / 8) return short_file("document list");
  out.starts.reserve(uint64_t{documents} + 1);
  uint64_t tokens = 0;  // cannot wrap: below 2^32 documents of below 2^32 tokens
  out.starts.push_back(tokens);
  for (uint32_t i = 0; i < documents; ++i) {
    if (cursor.take<uint32_t>() >= kinds) {
      return Status::error(ErrorCode::kArgument,
                           "document " + std::to_string(i) + " is of a kind that has no name");
    }
    tokens += cursor.take<uint32_t>();
    out.starts.push_back(tokens);
  }
  return {};
}

Status read_tokens(Cursor& cursor, Documents& out) {
  const uint64_t tokens = out.starts.back();
  if (cursor.left() % sizeof(uint32_t) != 0 || cursor.left() / sizeof(uint32_t) != tokens) {
    return Status::error(ErrorCode::kSize, "token bytes: expected " + std::to_string(tokens) +
                                               " times 4, found " + std::to_string(cursor.left()));
  }
  const auto bytes = cursor.skip(cursor.left());
  out.tokens.resize(tokens);
  if (!bytes.empty()) std::memcpy(out.tokens.data(), bytes.data(), bytes.size());
  for (uint64_t i = 0; i < tokens; ++i) {
    if (out.tokens[i] >= kClasses) {
      return Status::error(ErrorCode::kArgument, "token " + std::to_string(i) + " has class " +
                                                     std::to_string(out.tokens[i]) +
                                                     "; the vocabulary ends at " +
                                                     std::to_string(kClasses - 1));
    }
  }
  return {};
}

}  // namespace

Result<Documents> decode_documents(std::span<const uint8_t> bytes) {
  Cursor cursor(bytes);
  const auto magic = cursor.skip(kMagic.size());
  if (cursor.failed() || std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) {
    return Status::error(ErrorCode::kMismatch, "does not start with EGTOK001");
  }
  const auto documents = cursor.take<uint32_t>();
  const auto kinds = cursor.take<uint32_t>();
  for (uint32_t i = 0; i < kinds && !cursor.failed(); ++i) cursor.skip(cursor.take<uint16_t>());
  if (cursor.failed()) return short_file("head");

  Documents out;
  if (Status status = read_starts(cursor, documents, kinds, out); !status.ok()) return status;
  if (Status status = read_tokens(cursor, out); !status.ok()) return status;
  return out;
}

Result<Documents> load_documents(const std::string& path) {
  Result<std::vector<uint8_t>> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  Result<Documents> documents = decode_documents(bytes.value());
  if (documents.ok()) return documents;
  return Status::error(documents.status().code(),
                       path + " is not a usable token file: " + documents.status().text());
}

}  // namespace row_store::trace
