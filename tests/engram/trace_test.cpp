// Real text: the rows of layer 1 give those of layer 14, call by call.
//
// The traces are made here from the committed text. ROW_STORE_TRACES may name a folder with a
// larger pair as well: mixed-b4.egtrace and mixed-b4-l14.egtrace, the same tokens for both layers.
#include <cstdlib>
#include <string>
#include <vector>

#include "engram/invert.h"
#include "support/catch.h"
#include "trace/documents.h"
#include "trace/trace_file.h"
#include "trace/trace_maker.h"

namespace row_store {
namespace {

struct Pair {
  trace::Trace first;
  trace::Trace last;
};

Pair make_pair(trace::Mode mode, uint64_t base, uint32_t block_tokens) {
  const Result<trace::Documents> text =
      trace::load_documents(ROW_STORE_EXAMPLE_DATA "/two-dictionaries.egtok");
  REQUIRE(text.ok());
  trace::MakeOptions options{.mode = mode, .base = base, .block_tokens = block_tokens};
  options.layer = 1;
  Pair pair;
  pair.first = trace::make_trace(text.value(), options).take().trace;
  options.layer = 14;
  pair.last = trace::make_trace(text.value(), options).take().trace;
  return pair;
}

// Every call of the first layer, translated as it comes; all rows of the last have to come out.
InvertCounts check_pair(const Pair& pair, uint64_t base) {
  EngramConfig config = published_engram_config();
  config.bases = {static_cast<uint32_t>(base)};
  config.rows.clear();
  const std::vector<Rule> rules = derive_rules(config).take();
  REQUIRE(rules[0].rows == pair.first.rule.rows);
  REQUIRE(rules[1].rows == pair.last.rule.rows);
  REQUIRE(pair.first.tokens() == pair.last.tokens());
  const auto inverter = Inverter::create(rules[0]).take();
  const RowHasher target(rules[1]);
  InvertCounts sum;
  uint64_t token = 0;
  std::vector<int64_t> ids;
  std::vector<int64_t> expected;
  std::vector<int64_t> predicted;
  std::vector<TokenState> states;
  for (const trace::Call& call : pair.first.calls) {
    ids.resize(call.ids());
    expected.resize(call.ids());
    predicted.resize(call.ids());
    states.resize(call.tokens);
    pair.first.expand(token, call.tokens, ids.data());
    pair.last.expand(token, call.tokens, expected.data());
    const InvertCounts counts =
        inverter->translate(ids.data(), call.tokens, target, predicted.data(), states.data());
    REQUIRE(predicted == expected);
    sum.known += counts.known;
    sum.searches += counts.searches;
    token += call.tokens;
  }
  CHECK(sum.known == pair.first.tokens());
  return sum;
}

TEST_CASE("real text: every layer 14 row follows from layer 1's, without a search in blocks") {
  // The smaller base is that of the benchmarks' table; it takes more residues to make a hash.
  for (const uint64_t base : {uint64_t{16'000'000}, uint64_t{160'000}}) {
    for (const trace::Mode mode :
         {trace::Mode::kMixed, trace::Mode::kDecode, trace::Mode::kPrefill}) {
      CHECK(check_pair(make_pair(mode, base, 6), base).searches == 0);
    }
  }
}

TEST_CASE("real text, one token a step: a request is searched for once, not at every step") {
  const Pair mixed = make_pair(trace::Mode::kMixed, trace::kModelBase, 1);
  // Its prompt tells all, unless other requests' prompts have pushed it out of memory since.
  CHECK(check_pair(mixed, trace::kModelBase).searches <= mixed.first.tokens() / 1000);
  const Pair decode = make_pair(trace::Mode::kDecode, trace::kModelBase, 1);
  CHECK(check_pair(decode, trace::kModelBase).searches <= decode.first.tokens() / 100);
}

TEST_CASE("a larger pair of traces from outside comes out exactly") {
  const char* folder = std::getenv("ROW_STORE_TRACES");
  if (folder == nullptr) return;
  Result<trace::Trace> first = trace::load_trace(std::string(folder) + "/mixed-b4.egtrace");
  Result<trace::Trace> last = trace::load_trace(std::string(folder) + "/mixed-b4-l14.egtrace");
  REQUIRE(first.ok());
  REQUIRE(last.ok());
  Pair pair{first.take(), last.take()};
  for (const uint64_t base : {uint64_t{16'000'000}, uint64_t{160'000}}) {
    REQUIRE(pair.first.rescale(base).ok());
    REQUIRE(pair.last.rescale(base).ok());
    CHECK(check_pair(pair, base).searches == 0);
  }
}

}  // namespace
}  // namespace row_store
