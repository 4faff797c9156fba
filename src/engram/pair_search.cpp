#include "engram/pair_search.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace row_store {
namespace {

// Candidates between two looks at whether any of them fits.
constexpr uint32_t kBlock = 64;

#if defined(__x86_64__)
bool cpu_has_vectors() { return __builtin_cpu_supports("avx2") != 0; }

// The start of the first block at or after first in which some candidate's low half fits, or last
// when there is none. last - first is a multiple of kBlock; classes is at most 2^24.
__attribute__((target("avx2"))) uint32_t next_block(uint32_t hash, uint32_t multiplier,
                                                    uint32_t inverse, uint32_t classes,
                                                    uint32_t first, uint32_t last) {
  constexpr uint32_t kLanes = 8;
  const __m256i hashes = _mm256_set1_epi32(static_cast<int>(hash));
  const __m256i inverses = _mm256_set1_epi32(static_cast<int>(inverse));
  const __m256i largest = _mm256_set1_epi32(static_cast<int>(classes - 1));
  const __m256i step = _mm256_set1_epi32(static_cast<int>(multiplier * kLanes));
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i start = _mm256_add_epi32(lane, _mm256_set1_epi32(static_cast<int>(first)));
  __m256i product = _mm256_mullo_epi32(start, _mm256_set1_epi32(static_cast<int>(multiplier)));
  for (; first != last; first += kBlock) {
    __m256i fits = _mm256_setzero_si256();
    for (uint32_t i = 0; i < kBlock / kLanes; ++i) {
      const __m256i other = _mm256_mullo_epi32(_mm256_xor_si256(hashes, product), inverses);
      const __m256i capped = _mm256_min_epu32(other, largest);
      fits = _mm256_or_si256(fits, _mm256_cmpeq_epi32(other, capped));
      product = _mm256_add_epi32(product, step);
    }
    if (!_mm256_testz_si256(fits, fits)) return first;
  }
  return last;
}
#else
bool cpu_has_vectors() { return false; }
uint32_t next_block(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t first, uint32_t) {
  return first;
}
#endif

}  // namespace

PairSearch::PairSearch(uint64_t newest_multiplier, uint64_t before_multiplier, uint32_t classes,
                       bool use_vectors)
    : before_multiplier_(before_multiplier),
      newest_inverse_(inverse_mod_word(newest_multiplier)),
      classes_(classes),
      use_vectors_(use_vectors && cpu_has_vectors()) {}

std::optional<uint32_t> PairSearch::first_in(uint64_t hash, uint32_t first, uint32_t last) const {
  const auto low_hash = static_cast<uint32_t>(hash);
  const auto low_inverse = static_cast<uint32_t>(newest_inverse_);
  uint32_t product = first * static_cast<uint32_t>(before_multiplier_);
  for (uint32_t before = first; before != last; ++before) {
    if ((low_hash ^ product) * low_inverse < classes_ && newest(hash, before)) return before;
    product += static_cast<uint32_t>(before_multiplier_);
  }
  return std::nullopt;
}

std::optional<uint32_t> PairSearch::before(uint64_t hash) const {
  if (!use_vectors_) return first_in(hash, 0, classes_);
  const uint32_t whole = classes_ - classes_ % kBlock;
  uint32_t first = 0;
  while ((first = next_block(static_cast<uint32_t>(hash), static_cast<uint32_t>(before_multiplier_),
                             static_cast<uint32_t>(newest_inverse_), classes_, first, whole)) !=
         whole) {
    if (const auto found = first_in(hash, first, first + kBlock)) return found;
    first += kBlock;
  }
  return first_in(hash, whole, classes_);
}

}  // namespace row_store
