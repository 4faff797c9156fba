#include "trace/documents.h"

#include <cstring>

#include "support/catch.h"
#include "trace/addressing.h"

using namespace row_store;
using namespace row_store::trace;

namespace {

class Bytes {
 public:
  template <typename T>
  Bytes& add(T value) {
    const auto* first = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), first, first + sizeof value);
    return *this;
  }
  Bytes& text(const char* characters) {
    bytes_.insert(bytes_.end(), characters, characters + std::strlen(characters));
    return *this;
  }
  const std::vector<uint8_t>& get() const { return bytes_; }
  ErrorCode code() const { return decode_documents(bytes_).status().code(); }

 private:
  std::vector<uint8_t> bytes_;
};

Bytes head(uint32_t documents, uint32_t kinds) {
  return Bytes().text("EGTOK001").add(documents).add(kinds);
}

// Two documents of one kind, of two tokens and of one.
Bytes small(uint32_t last_token = 9) {
  Bytes bytes = head(2, 1);
  bytes.add<uint16_t>(2).text("en").add(0u).add(2u).add(0u).add(1u);
  return bytes.add(7u).add(8u).add(last_token);
}

}  // namespace

TEST_CASE("documents come out with their tokens and borders") {
  const Result<Documents> read = decode_documents(small().get());
  REQUIRE(read.ok());
  CHECK(read.value().tokens == std::vector<uint32_t>{7, 8, 9});
  CHECK(read.value().starts == std::vector<uint64_t>{0, 2, 3});
}

TEST_CASE("every prefix of a token file is refused, and a byte too many") {
  std::vector<uint8_t> bytes = small().get();
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(decode_documents(std::span(bytes).first(size)).ok());
  }
  bytes.push_back(0);
  CHECK(decode_documents(bytes).status().code() == ErrorCode::kSize);
}

TEST_CASE("another magic is refused") {
  CHECK(Bytes().text("EGTOK002").add(0u).add(0u).code() == ErrorCode::kMismatch);
}

TEST_CASE("counts that the file cannot hold are refused before anything is allocated") {
  CHECK(head(UINT32_MAX, 0).code() == ErrorCode::kShort);
  CHECK(head(0, UINT32_MAX).code() == ErrorCode::kShort);
  CHECK(head(1, 1).add<uint16_t>(UINT16_MAX).text("en").code() == ErrorCode::kShort);
  CHECK(head(1, 1).add<uint16_t>(0).add(0u).add(UINT32_MAX).code() == ErrorCode::kSize);
}

TEST_CASE("a document of an unnamed kind is refused") {
  CHECK(head(1, 1).add<uint16_t>(0).add(1u).add(0u).code() == ErrorCode::kArgument);
}

TEST_CASE("a class outside the vocabulary is refused") {
  CHECK(small(kClasses - 1).code() == ErrorCode::kOk);
  CHECK(small(kClasses).code() == ErrorCode::kArgument);
}
