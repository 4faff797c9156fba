// The vector comparison of tags against the portable one.
#include "cache/tag_match.h"

#include <algorithm>
#include <random>

#include "support/catch.h"

using row_store::match_tags;
using row_store::match_tags_portable;

namespace {

template <unsigned kWays>
void compare() {
  struct alignas(16) Set {
    std::atomic<uint32_t> tags[kWays];
  } set;
  std::mt19937_64 random(kWays);
  uint64_t found = 0;
  for (int round = 0; round < 20000; ++round) {
    // Few values, so that a tag stands several times; the extremes, which sign bits might upset.
    const uint32_t values[] = {0,          1,          0x7FFFFFFF,
                               0x80000000, 0xFFFFFFFF, static_cast<uint32_t>(random())};
    for (auto& tag : set.tags) tag = values[random() % std::size(values)];
    for (const uint32_t wanted : values) {
      const uint32_t match = match_tags_portable(set.tags, kWays, wanted);
      REQUIRE(match_tags<kWays>(set.tags, wanted) == match);
      found += match != 0;
    }
  }
  CHECK(found > 20000);
}

}  // namespace

TEST_CASE("tags compared in vectors and one by one agree", "[cache]") {
  compare<12>();
  compare<16>();
#if defined(__SSE2__) || defined(__aarch64__)
  CHECK(ROW_STORE_HAS_TAG_LANES == 1);
#endif
}

TEST_CASE("every way alone is found at its own bit", "[cache]") {
  struct alignas(16) Set {
    std::atomic<uint32_t> tags[12];
  } set;
  for (unsigned way = 0; way < 12; ++way) {
    for (auto& tag : set.tags) tag = 7;
    set.tags[way] = 9;
    CHECK(match_tags<12>(set.tags, uint32_t{9}) == 1u << way);
    CHECK(match_tags<12>(set.tags, uint32_t{7}) == (0xFFFu & ~(1u << way)));
  }
}
