#include "trace/addressing.h"

#include "support/catch.h"

using namespace row_store;
using namespace row_store::trace;

TEST_CASE("the model's tables have 384,006,168 and 384,016,682 rows") {
  CHECK(make_addressing(1).value().rows == 384006168);
  CHECK(make_addressing(14).value().rows == 384016682);
}

TEST_CASE("primes rise from 16,000,057 and go on in layer 14 where layer 1 stopped") {
  const Addressing first = make_addressing(1).value();
  const Addressing second = make_addressing(14).value();
  const std::array<uint64_t, kColumns> first_tails = {57,  79,  81,  97,  121, 129, 133, 183,
                                                      189, 207, 211, 253, 277, 289, 307, 321,
                                                      339, 381, 393, 399, 403, 409, 447, 463};
  const std::array<uint64_t, kColumns> second_tails = {477, 487, 499, 507, 511, 573, 609, 627,
                                                       667, 669, 693, 697, 711, 729, 759, 769,
                                                       781, 799, 813, 819, 841, 877, 879, 889};
  for (int column = 0; column < kColumns; ++column) {
    CHECK(first.primes[column] == kModelBase + first_tails[column]);
    CHECK(second.primes[column] == kModelBase + second_tails[column]);
  }
}

TEST_CASE("columns tile the table without gap or overlap") {
  const Addressing rule = make_addressing(14).value();
  uint64_t next = 0;
  for (int column = 0; column < kColumns; ++column) {
    CHECK(rule.offsets[column] == next);
    next += rule.primes[column];
  }
  CHECK(next == rule.rows);
}

TEST_CASE("the first token of a request asks for the rows that the reference rule gives") {
  // BOS after padding in layer 1; the numbers are worked out by hand from the published rule:
  // 0 * m0 ^ 2 * m1, then ^ 2 * m2, then ^ 2 * m3, each modulo 16000057, 16000189, 16000339.
  const Addressing rule = make_addressing(1).value();
  const uint32_t back[kLookback] = {0, kPadClass, kPadClass, kPadClass};
  const auto rolling = rule.roll(back);
  CHECK(rolling[0] == 9679752186626);
  CHECK(rule.id(0, rolling[0]) == 9679752186626 % 16000057);
  CHECK(rolling[1] == (uint64_t{9679752186626} ^ uint64_t{71919344638698}));
  CHECK(rolling[2] == (rolling[1] ^ uint64_t{147974674916782}));
  CHECK(rule.id(8, rolling[1]) == rule.offsets[8] + rolling[1] % 16000189);
  CHECK(rule.id(23, rolling[2]) == rule.offsets[23] + rolling[2] % 16000463);
}

TEST_CASE("known ids: the second token of a request in both layers") {
  // The numbers come from an independent Python implementation of the published rule.
  const uint32_t back[kLookback] = {97812 + 803, 0, kPadClass, kPadClass};
  const Addressing first = make_addressing(1).value();
  const Addressing second = make_addressing(14).value();
  CHECK(first.id(0, first.roll(back)[0]) == 3695168);
  CHECK(first.id(23, first.roll(back)[2]) == 371393845);
  CHECK(second.id(0, second.roll(back)[0]) == 5519679);
  CHECK(second.id(23, second.roll(back)[2]) == 383764017);
}

TEST_CASE("the largest class times a multiplier stays below 2^63") {
  for (const uint32_t layer : kLayers) {
    const Addressing rule = make_addressing(layer).value();
    for (const uint64_t multiplier : rule.multipliers) {
      CHECK(multiplier % 2 == 1);
      CHECK(multiplier <= uint64_t{INT64_MAX} / (kClasses - 1));
    }
  }
}

TEST_CASE("a base of 160,000 gives the 3,842,930 rows of the benchmarks' table") {
  CHECK(make_addressing(1, 160000).value().rows == 3842930);
}

TEST_CASE("the smallest base starts at the first prime") {
  const Addressing rule = make_addressing(1, 2).value();
  CHECK(rule.primes[0] == 2);
  CHECK(rule.primes[1] == 3);
  CHECK(rule.primes[23] == 89);
}

TEST_CASE("layers without a table are refused") {
  for (const uint32_t layer : {0u, 2u, 13u, 15u, UINT32_MAX}) {
    CHECK(make_addressing(layer).status().code() == ErrorCode::kArgument);
  }
}

TEST_CASE("bases outside the documented range are refused") {
  CHECK(make_addressing(1, 0).status().code() == ErrorCode::kArgument);
  CHECK(make_addressing(1, 1).status().code() == ErrorCode::kArgument);
  CHECK(make_addressing(1, kBaseMax + 1).status().code() == ErrorCode::kArgument);
  CHECK(make_addressing(1, kBaseMax).ok());
}

TEST_CASE("foreign primes that pass 2^63 - 1 rows, or hold a zero, leave the rule as it was") {
  Addressing rule = make_addressing(1).value();
  std::array<uint64_t, kColumns> primes = rule.primes;
  primes[23] = INT64_MAX;
  CHECK(set_primes(rule, primes).code() == ErrorCode::kOverflow);
  primes[23] = UINT64_MAX;
  CHECK(set_primes(rule, primes).code() == ErrorCode::kOverflow);
  primes[23] = 0;
  CHECK(set_primes(rule, primes).code() == ErrorCode::kArgument);
  CHECK(rule.rows == 384006168);
}
