// Real text: the rows of layer 1 give those of layer 14, call by call.
//
// ROW_STORE_TRACES names a folder with mixed-b4.egtrace and mixed-b4-l14.egtrace, the same tokens
// for both layers. Without it there is nothing to run on.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engram/invert.h"
#include "support/catch.h"

namespace row_store {
namespace {

constexpr size_t kColumns = 24;
constexpr size_t kOrders = 3;

struct Trace {
  std::vector<uint32_t> call_tokens;
  std::vector<uint64_t> hashes;  // of each token's 2-, 3- and 4-gram
};

Trace load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  REQUIRE(bytes.size() > 232);
  REQUIRE(std::memcmp(bytes.data(), "EGTRACE1", 8) == 0);
  uint64_t sizes[2];  // calls, tokens
  std::memcpy(sizes, &bytes[24], sizeof sizes);
  REQUIRE(bytes.size() == 232 + sizes[0] * 4 + sizes[1] * kOrders * 8);
  Trace trace;
  trace.call_tokens.resize(sizes[0]);
  trace.hashes.resize(sizes[1] * kOrders);
  std::memcpy(trace.call_tokens.data(), &bytes[232], sizes[0] * 4);
  for (uint32_t& tokens : trace.call_tokens) tokens &= 0xffffff;
  std::memcpy(trace.hashes.data(), &bytes[232 + sizes[0] * 4], trace.hashes.size() * 8);
  return trace;
}

std::vector<int64_t> row_ids(const Trace& trace, const Rule& rule) {
  std::vector<int64_t> ids;
  ids.reserve(trace.hashes.size() / kOrders * kColumns);
  for (size_t token = 0; token < trace.hashes.size() / kOrders; ++token) {
    for (size_t column = 0; column < kColumns; ++column) {
      const uint64_t hash = trace.hashes[token * kOrders + column / 8];
      ids.push_back(static_cast<int64_t>(rule.offsets[column] + hash % rule.primes[column]));
    }
  }
  return ids;
}

TEST_CASE("layer 1 rows of a real mixed load give every layer 14 row") {
  const char* folder = std::getenv("ROW_STORE_TRACES");
  if (folder == nullptr) {
    std::fputs("ROW_STORE_TRACES is not set: it names the folder of mixed-b4.egtrace\n", stderr);
    std::exit(77);
  }
  const Trace first = load(std::string(folder) + "/mixed-b4.egtrace");
  const Trace last = load(std::string(folder) + "/mixed-b4-l14.egtrace");
  REQUIRE(first.call_tokens == last.call_tokens);

  // Also the small table of the benchmarks, which needs more residues for a hash.
  for (const uint32_t base : {16'000'000U, 160'000U}) {
    EngramConfig config = published_engram_config();
    config.bases = {base};
    config.rows.clear();
    const std::vector<Rule> rules = derive_rules(config).take();
    const auto inverter = Inverter::create(rules[0]).take();
    const RowHasher target(rules[1]);
    const std::vector<int64_t> ids = row_ids(first, rules[0]);
    const std::vector<int64_t> expected = row_ids(last, rules[1]);
    std::vector<int64_t> predicted(expected.size());
    std::vector<TokenState> states(expected.size() / kColumns);
    InvertCounts sum;
    size_t token = 0;
    for (const uint32_t tokens : first.call_tokens) {
      const InvertCounts counts = inverter->translate(&ids[token * kColumns], tokens, target,
                                                      &predicted[token * kColumns], &states[token]);
      sum.known += counts.known;
      sum.searches += counts.searches;
      token += tokens;
    }
    CHECK(predicted == expected);
    CHECK(sum.known == states.size());
    std::printf("base %u: %zu tokens in %zu calls, %zu searches\n", base, states.size(),
                first.call_tokens.size(), sum.searches);
  }
}

}  // namespace
}  // namespace row_store
