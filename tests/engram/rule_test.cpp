#include "engram/rule.h"

#include <numeric>
#include <string>
#include <vector>

#include "engram/primes.h"
#include "support/catch.h"

namespace row_store {
namespace {

std::vector<Rule> published_rules() {
  Result<std::vector<Rule>> rules = derive_rules(published_engram_config());
  REQUIRE(rules.ok());
  return rules.take();
}

TEST_CASE("trial division agrees on what is prime") {
  const auto by_division = [](uint32_t value) {
    for (uint32_t d = 2; uint64_t{d} * d <= value; ++d) {
      if (value % d == 0) return false;
    }
    return value >= 2;
  };
  for (uint32_t value = 0; value < 20'000; ++value) CHECK(is_prime(value) == by_division(value));
  for (uint32_t value = 16'000'000; value < 16'001'000; ++value) {
    CHECK(is_prime(value) == by_division(value));
  }
  CHECK(is_prime(4294967291U));   // the largest below 2^32
  CHECK(!is_prime(4294836225U));  // 65535^2
  CHECK(!is_prime(3215031751U));  // a strong pseudoprime to 2, 3, 5 and 7
}

TEST_CASE("a restarted run of primes passes over those in use") {
  PrimeDealer dealer;
  dealer.restart(10);
  CHECK(dealer.take() == 11U);
  CHECK(dealer.take() == 13U);
  dealer.restart(5);
  CHECK(dealer.take() == 5U);
  CHECK(dealer.take() == 7U);
  CHECK(dealer.take() == 17U);
  dealer.restart(10);
  CHECK(dealer.take() == 19U);
  dealer.restart(5);
  CHECK(dealer.take() == 23U);
}

TEST_CASE("the published tables have the published multipliers, primes and rows") {
  const std::vector<Rule> rules = published_rules();
  REQUIRE(rules.size() == 2);
  CHECK(rules[0].layer_id == 1);
  CHECK(rules[1].layer_id == 14);
  CHECK(rules[0].multipliers ==
        std::vector<uint64_t>{76632096046245, 4839876093313, 35959672319349, 73987337458391});
  CHECK(rules[1].multipliers ==
        std::vector<uint64_t>{67716810739261, 51510806800915, 30921347202721, 82619226485591});
  const std::vector<uint32_t> last_digits[2] = {
      {57,  79,  81,  97,  121, 129, 133, 183, 189, 207, 211, 253,
       277, 289, 307, 321, 339, 381, 393, 399, 403, 409, 447, 463},
      {477, 487, 499, 507, 511, 573, 609, 627, 667, 669, 693, 697,
       711, 729, 759, 769, 781, 799, 813, 819, 841, 877, 879, 889}};
  for (size_t layer = 0; layer < 2; ++layer) {
    REQUIRE(rules[layer].primes.size() == 24);
    uint64_t offset = 0;
    for (size_t column = 0; column < 24; ++column) {
      CHECK(rules[layer].primes[column] == 16'000'000 + last_digits[layer][column]);
      CHECK(rules[layer].offsets[column] == offset);
      offset += rules[layer].primes[column];
    }
  }
  CHECK(rules[0].rows == 384'006'168);
  CHECK(rules[1].rows == 384'016'682);
}

TEST_CASE("a table is known by its row count") {
  const std::vector<Rule> rules = published_rules();
  CHECK(find_rule(rules, 384'006'168) == &rules[0]);
  CHECK(find_rule(rules, 384'016'682) == &rules[1]);
  CHECK(find_rule(rules, 384'006'169) == nullptr);
}

TEST_CASE("a token's rows follow from its classes as the rule says") {
  const std::vector<Rule> rules = published_rules();
  for (const Rule& rule : rules) {
    const uint32_t lookback[4] = {99'091, 17, 0, 54'321};
    std::vector<int64_t> ids(24);
    RowHasher(rule).row_ids(lookback, ids.data());
    uint64_t hash = lookback[0] * rule.multipliers[0];
    for (size_t column = 0; column < 24; ++column) {
      if (column % 8 == 0) hash ^= lookback[column / 8 + 1] * rule.multipliers[column / 8 + 1];
      const uint64_t expected = rule.offsets[column] + hash % rule.primes[column];
      CHECK(ids[column] == static_cast<int64_t>(expected));
    }
  }
}

TEST_CASE("reduction without division is exact at the edges") {
  for (uint32_t value : {2U, 3U, 16'000'057U, 2'147'483'659U, 4'294'967'291U, 4'294'967'295U}) {
    const Modulus modulus(value);
    for (uint64_t quotient : {uint64_t{0}, uint64_t{1}, uint64_t{12345}, UINT64_MAX / value}) {
      const uint64_t multiple = quotient * value;
      CHECK(modulus.reduce(multiple) == 0);
      CHECK(modulus.reduce(multiple - 1) == (multiple - 1) % value);
      CHECK(modulus.reduce(multiple + 1) == (multiple + 1) % value);
    }
    CHECK(modulus.reduce(UINT64_MAX) == UINT64_MAX % value);
  }
}

TEST_CASE("other vocabularies, orders, heads, bases and layers make tables too") {
  EngramConfig config;
  config.layer_ids = {3, 9, 20};
  config.max_ngram = 3;
  config.heads = 2;
  config.bases = {1000, 990};
  config.classes = 500;
  config.pad_class = 1;
  Result<std::vector<Rule>> rules = derive_rules(config);
  REQUIRE(rules.ok());
  REQUIRE(rules.value().size() == 3);
  // Each order starts at its own base; what is used is passed over.
  CHECK(rules.value()[0].primes == std::vector<uint32_t>{1009, 1013, 991, 997});
  CHECK(rules.value()[1].primes == std::vector<uint32_t>{1019, 1021, 1031, 1033});
  CHECK(rules.value()[2].rows == 1039 + 1049 + 1051 + 1061);
  // NumPy: default_rng(30021).integers(0, (2**63 - 1) // 500 // 2, 3) * 2 + 1
  CHECK(rules.value()[0].multipliers ==
        std::vector<uint64_t>{5455406221258719, 16183555064901833, 2155831915262321});
  config.seed = 1;
  CHECK(derive_rules(config).value()[0].multipliers != rules.value()[0].multipliers);
}

TEST_CASE("sizes that the rule does not give are refused") {
  EngramConfig config = published_engram_config();
  config.rows[1] += 1;
  const Result<std::vector<Rule>> rules = derive_rules(config);
  REQUIRE(!rules.ok());
  CHECK(rules.status().code() == ErrorCode::kMismatch);
}

TEST_CASE("listed multipliers replace the draw, unless they could not be undone") {
  EngramConfig config = published_engram_config();
  config.multipliers = {{1, 3, 5, 7}, {9, 11, 13, 15}};
  REQUIRE(derive_rules(config).ok());
  CHECK(derive_rules(config).value()[1].multipliers == std::vector<uint64_t>{9, 11, 13, 15});
  config.multipliers[1][2] = 12;
  CHECK(derive_rules(config).status().code() == ErrorCode::kOverflow);
  config.multipliers[1][2] = (uint64_t{1} << 62) + 1;
  CHECK(derive_rules(config).status().code() == ErrorCode::kOverflow);
}

TEST_CASE("the largest config allowed still makes rules") {
  EngramConfig config;
  for (uint32_t layer = 0; layer < kEngramLayersMax; ++layer) config.layer_ids.push_back(layer);
  config.max_ngram = kEngramNgramMax;
  config.heads = kEngramHeadsMax;
  config.bases = {static_cast<uint32_t>(kEngramBaseMax)};
  config.classes = kEngramClassesMax;
  const Result<std::vector<Rule>> rules = derive_rules(config);
  REQUIRE(rules.ok());
  CHECK(rules.value().back().columns() == kEngramColumnsMax);
}

}  // namespace
}  // namespace row_store
