#include "trace/trace_file.h"

#include <cstdlib>
#include <cstring>

#include "support/catch.h"
#include "trace/files.h"

using namespace row_store;
using namespace row_store::trace;

namespace {

constexpr size_t kLayerAt = 8, kOrdersAt = 12, kHeadsAt = 16, kKindAt = 20, kCallsAt = 24,
                 kTokensAt = 32, kPrimesAt = 40;

// Three calls, six tokens.
Trace small_trace() {
  Trace trace{make_addressing(14).value(), {}, {}};
  trace.calls = {{2, CallKind::kPrefill}, {3, CallKind::kDecode}, {1, CallKind::kDecode}};
  for (uint64_t i = 0; i < 6 * kOrders; ++i) trace.rolls.push_back(i * 0x123456789ABCDEF);
  return trace;
}

std::string temp_path() {
  std::string path = "/tmp/row-store-trace-XXXXXX";
  const int fd = mkstemp(path.data());
  REQUIRE(fd >= 0);
  return path;
}

std::vector<uint8_t> small_file() {
  const std::string path = temp_path();
  REQUIRE(save_trace(small_trace(), path).ok());
  Result<std::vector<uint8_t>> bytes = read_file(path);
  REQUIRE(bytes.ok());
  REQUIRE(std::remove(path.c_str()) == 0);
  return bytes.take();
}

template <typename T>
std::vector<uint8_t> with(size_t offset, T value) {
  std::vector<uint8_t> bytes = small_file();
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

ErrorCode code_of(const std::vector<uint8_t>& bytes) { return decode_trace(bytes).status().code(); }

}  // namespace

TEST_CASE("a trace written and read again is the same trace") {
  const Trace trace = small_trace();
  const Result<Trace> read = decode_trace(small_file());
  REQUIRE(read.ok());
  CHECK(read.value().rule.layer == 14);
  CHECK(read.value().rule.multipliers == trace.rule.multipliers);
  CHECK(read.value().rule.primes == trace.rule.primes);
  CHECK(read.value().rule.rows == 384016682);
  CHECK(read.value().rolls == trace.rolls);
  REQUIRE(read.value().calls.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(read.value().calls[i].tokens == trace.calls[i].tokens);
    CHECK(read.value().calls[i].kind == trace.calls[i].kind);
  }
}

TEST_CASE("a file is 232 bytes, 4 a call and 24 a token") {
  CHECK(small_file().size() == 232 + 3 * 4 + 6 * 24);
}

TEST_CASE("every prefix of a trace file is refused") {
  const std::vector<uint8_t> whole = small_file();
  for (size_t size = 0; size < whole.size(); ++size) {
    const Result<Trace> read = decode_trace(std::span(whole).first(size));
    REQUIRE_FALSE(read.ok());
    CHECK(read.status().code() ==
          (size < kTraceHeaderBytes ? ErrorCode::kShort : ErrorCode::kSize));
  }
}

TEST_CASE("a byte too many is refused") {
  std::vector<uint8_t> bytes = small_file();
  bytes.push_back(0);
  CHECK(code_of(bytes) == ErrorCode::kSize);
}

TEST_CASE("another magic, geometry or kind of file is refused") {
  CHECK(code_of(with<char>(7, '2')) == ErrorCode::kMismatch);
  CHECK(code_of(with<uint32_t>(kOrdersAt, 4)) == ErrorCode::kMismatch);
  CHECK(code_of(with<uint32_t>(kHeadsAt, 0)) == ErrorCode::kMismatch);
  CHECK(code_of(with<uint32_t>(kKindAt, 1)) == ErrorCode::kMismatch);
}

TEST_CASE("a layer without a table is refused") {
  CHECK(code_of(with<uint32_t>(kLayerAt, 2)) == ErrorCode::kArgument);
}

TEST_CASE("counts that no file could hold are refused before anything is allocated") {
  CHECK(code_of(with<uint64_t>(kCallsAt, UINT64_MAX)) == ErrorCode::kOverflow);
  CHECK(code_of(with<uint64_t>(kTokensAt, UINT64_MAX)) == ErrorCode::kOverflow);
  // These products wrap to small numbers when they are not checked.
  CHECK(code_of(with<uint64_t>(kCallsAt, (uint64_t{1} << 62) + 3)) == ErrorCode::kOverflow);
  CHECK(code_of(with<uint64_t>(kTokensAt, (uint64_t{1} << 61) + 6)) == ErrorCode::kOverflow);
  CHECK(code_of(with<uint64_t>(kCallsAt, uint64_t{1} << 40)) == ErrorCode::kSize);
  CHECK(code_of(with<uint64_t>(kTokensAt, uint64_t{1} << 40)) == ErrorCode::kSize);
}

TEST_CASE("counts that fit the size but not each other are refused") {
  // Six calls more and one token less take the same bytes.
  std::vector<uint8_t> bytes = with<uint64_t>(kCallsAt, 9);
  const uint64_t tokens = 5;
  std::memcpy(bytes.data() + kTokensAt, &tokens, sizeof tokens);
  CHECK(code_of(bytes) == ErrorCode::kArgument);
}

TEST_CASE("calls of no tokens, of too many or of an unknown kind are refused") {
  CHECK(code_of(with<uint32_t>(kTraceHeaderBytes, 0)) == ErrorCode::kArgument);
  CHECK(code_of(with<uint32_t>(kTraceHeaderBytes, 3)) == ErrorCode::kArgument);
  CHECK(code_of(with<uint32_t>(kTraceHeaderBytes, 0xFFFFFF)) == ErrorCode::kArgument);
  CHECK(code_of(with<uint32_t>(kTraceHeaderBytes, 2u << 24 | 2)) == ErrorCode::kArgument);
}

TEST_CASE("primes that are zero or pass 2^63 rows are refused") {
  CHECK(code_of(with<uint64_t>(kPrimesAt, 0)) == ErrorCode::kArgument);
  CHECK(code_of(with<uint64_t>(kPrimesAt, UINT64_MAX)) == ErrorCode::kOverflow);
  CHECK(code_of(with<uint64_t>(kPrimesAt + 8, INT64_MAX)) == ErrorCode::kOverflow);
}

TEST_CASE("a call that the format cannot hold is not written") {
  Trace trace = small_trace();
  trace.calls[0].tokens = kCallTokensMax + 1;
  const std::string path = temp_path();
  CHECK(save_trace(trace, path).code() == ErrorCode::kArgument);
  std::remove(path.c_str());
}

TEST_CASE("a missing file and a directory are refused with the path in the text") {
  CHECK(load_trace("/nonexistent/x.egtrace").status().code() == ErrorCode::kIo);
  CHECK(load_trace("/tmp").status().code() == ErrorCode::kNotFile);
  const std::string text = load_trace("/nonexistent/x.egtrace").status().text();
  CHECK(text.find("/nonexistent/x.egtrace") != std::string::npos);
}

TEST_CASE("a trace that cannot be written says so") {
  CHECK(save_trace(small_trace(), "/nonexistent/x.egtrace").code() == ErrorCode::kIo);
}

TEST_CASE("a rescaled trace asks for rows of the smaller table only") {
  Trace trace = small_trace();
  REQUIRE(trace.rescale(160000).ok());
  CHECK(trace.rule.rows == make_addressing(14, 160000).value().rows);
  std::vector<int64_t> ids(trace.ids());
  trace.expand(0, trace.tokens(), ids.data());
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto column = static_cast<int>(i % kColumns);
    CHECK(static_cast<uint64_t>(ids[i]) >= trace.rule.offsets[column]);
    CHECK(static_cast<uint64_t>(ids[i]) - trace.rule.offsets[column] < trace.rule.primes[column]);
  }
}
