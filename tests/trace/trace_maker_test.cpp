#include "trace/trace_maker.h"

#include "support/catch.h"

using namespace row_store;
using namespace row_store::trace;

namespace {

constexpr const char* kText = ROW_STORE_EXAMPLE_DATA "/two-dictionaries.egtok";

const Documents& text() {
  static const Documents documents = [] {
    Result<Documents> loaded = load_documents(kText);
    REQUIRE(loaded.ok());
    return loaded.take();
  }();
  return documents;
}

MadeTrace make(const MakeOptions& options) {
  Result<MadeTrace> made = make_trace(text(), options);
  REQUIRE(made.ok());
  return made.take();
}

uint64_t digest(const std::vector<uint64_t>& values) {
  uint64_t hash = 0xCBF29CE484222325;  // FNV-1a over words
  for (const uint64_t value : values) hash = (hash ^ value) * 0x100000001B3;
  return hash;
}

uint64_t tokens_of_calls(const Trace& trace) {
  uint64_t tokens = 0;
  for (const Call& call : trace.calls) tokens += call.tokens;
  return tokens;
}

}  // namespace

TEST_CASE("the committed text holds 58,940 tokens in four documents") {
  CHECK(text().tokens.size() == 58940);
  CHECK(text().starts.size() == 5);
}

TEST_CASE("the same seed gives the trace that earlier releases gave") {
  const MadeTrace made = make({});
  CHECK(made.trace.calls.size() == 2446);
  CHECK(made.trace.tokens() == 81868);
  CHECK(made.requests == 32);
  CHECK(digest(made.trace.rolls) == 0x2FC9199982DBE156);
}

TEST_CASE("a decode trace is the same on every machine too") {
  MakeOptions options{.mode = Mode::kDecode, .layer = 14, .seed = 5, .batch = 3};
  const MadeTrace made = make(options);
  CHECK(made.trace.calls.size() == 2944);
  CHECK(digest(made.trace.rolls) == 0xB69C9E2652B3CC5B);
}

TEST_CASE("calls add up to the tokens in every mode, limited or not") {
  for (const Mode mode : {Mode::kPrefill, Mode::kDecode, Mode::kMixed}) {
    for (const uint64_t limit : {uint64_t{0}, uint64_t{20000}}) {
      const Trace trace = make({.mode = mode, .token_limit = limit}).trace;
      CHECK(tokens_of_calls(trace) == trace.tokens());
      CHECK(trace.tokens() > 15000);
      CHECK((limit == 0 || trace.tokens() < limit + 8192));
    }
  }
}

TEST_CASE("both layers' traces have the same calls and different rows") {
  const MadeTrace first = make({.layer = 1, .token_limit = 20000});
  const MadeTrace second = make({.layer = 14, .token_limit = 20000});
  REQUIRE(first.trace.calls.size() == second.trace.calls.size());
  for (size_t i = 0; i < first.trace.calls.size(); ++i) {
    CHECK(first.trace.calls[i].tokens == second.trace.calls[i].tokens);
  }
  CHECK(first.trace.rolls != second.trace.rolls);
}

TEST_CASE("a decode call holds a whole verify block of each live request") {
  for (const Call& call : make({.mode = Mode::kDecode}).trace.calls) {
    CHECK(call.kind == CallKind::kDecode);
    CHECK(call.tokens % 6 == 0);
    CHECK(call.tokens <= 24);
  }
}

TEST_CASE("accepted tokens a block follow the draft's chance") {
  const MadeTrace sure = make({.mode = Mode::kDecode, .accept = 1});
  const MadeTrace never = make({.mode = Mode::kDecode, .accept = 0});
  CHECK(static_cast<double>(sure.accepted_tokens) / static_cast<double>(sure.blocks) > 5.9);
  CHECK(never.accepted_tokens == never.blocks);
}

TEST_CASE("answers that echo their prompt ask for fewer different rows") {
  const auto distinct = [](double echo) {
    std::vector<uint64_t> rolls = make({.mode = Mode::kDecode, .echo = echo}).trace.rolls;
    std::sort(rolls.begin(), rolls.end());
    return std::unique(rolls.begin(), rolls.end()) - rolls.begin();
  };
  CHECK(distinct(1) < distinct(0));
}

TEST_CASE("options out of range are refused") {
  const auto code = [](const MakeOptions& options) {
    return make_trace(text(), options).status().code();
  };
  CHECK(code({.batch = 0}) == ErrorCode::kArgument);
  CHECK(code({.block_tokens = 0}) == ErrorCode::kArgument);
  CHECK(code({.batch = 1u << 30, .block_tokens = 1u << 30}) == ErrorCode::kArgument);
  CHECK(code({.chunk_tokens = 0}) == ErrorCode::kArgument);
  CHECK(code({.chunk_tokens = 1u << 24}) == ErrorCode::kArgument);
  CHECK(code({.accept = 1.5}) == ErrorCode::kArgument);
  CHECK(code({.echo = -1}) == ErrorCode::kArgument);
  CHECK(code({.layer = 2}) == ErrorCode::kArgument);
}

TEST_CASE("documents too short for a request are refused") {
  CHECK(make_trace({{}, {0}}, {}).status().code() == ErrorCode::kArgument);
  CHECK(make_trace({std::vector<uint32_t>(63, 7), {0, 63}}, {}).status().code() ==
        ErrorCode::kArgument);
  CHECK(make_trace({std::vector<uint32_t>(64, 7), {0, 64}}, {}).status().code() ==
        ErrorCode::kArgument);
  CHECK(make_trace({std::vector<uint32_t>(65, 7), {0, 65}}, {}).ok());
}
