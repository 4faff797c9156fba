// Which ways of a set carry a tag: all are compared at once, and the answer has a bit for each.
//
// The answer is a hint. Tags change under the set's lock while readers compare them, so whoever
// uses a way checks its tag again (SetTable::holds). Each 4-byte element of a vector load is read
// whole on every CPU here (x86: an aligned 16-byte load; Arm: the architecture's promise for
// elements of SIMD loads), and the acquire of the set's word orders what is used of it.
#ifndef ROW_STORE_CACHE_TAG_MATCH_H
#define ROW_STORE_CACHE_TAG_MATCH_H

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <atomic>
#include <cstdint>

namespace row_store {

template <typename Tag>
uint32_t match_tags_portable(const std::atomic<Tag>* tags, unsigned ways, Tag wanted) {
  uint32_t match = 0;
  for (unsigned way = 0; way < ways; ++way)
    match |= static_cast<uint32_t>(tags[way].load(std::memory_order_relaxed) == wanted) << way;
  return match;
}

#if defined(__SSE2__) || defined(__aarch64__)
#define ROW_STORE_HAS_TAG_LANES 1

// `tags` is 16-byte aligned and `ways` a multiple of 4, at most 16.
template <unsigned kWays>
__attribute__((no_sanitize("thread"))) uint32_t match_tags_lanes(const std::atomic<uint32_t>* tags,
                                                                 uint32_t wanted) {
  static_assert(kWays % 4 == 0 && kWays <= 16);
#if defined(__SSE2__)
  const __m128i all_wanted = _mm_set1_epi32(static_cast<int>(wanted));
  uint32_t match = 0;
  for (unsigned way = 0; way < kWays; way += 4) {
    const __m128i four = _mm_load_si128(reinterpret_cast<const __m128i*>(&tags[way]));
    const __m128 equal = _mm_castsi128_ps(_mm_cmpeq_epi32(four, all_wanted));
    match |= static_cast<uint32_t>(_mm_movemask_ps(equal)) << way;
  }
  return match;
#else
  // No movemask here: every way keeps its own bit of the comparison, and the sum of distinct bits
  // is their union.
  alignas(64) static constexpr uint32_t kBits[16] = {
      1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
  const uint32x4_t all_wanted = vdupq_n_u32(wanted);
  uint32x4_t match = vdupq_n_u32(0);
#pragma GCC unroll 4
  for (unsigned way = 0; way < kWays; way += 4) {
    const uint32x4_t four = vld1q_u32(reinterpret_cast<const uint32_t*>(&tags[way]));
    match = vorrq_u32(match, vandq_u32(vceqq_u32(four, all_wanted), vld1q_u32(&kBits[way])));
  }
  return vaddvq_u32(match);
#endif
}
#endif

template <unsigned kWays, typename Tag>
uint32_t match_tags(const std::atomic<Tag>* tags, Tag wanted) {
#if defined(ROW_STORE_HAS_TAG_LANES)
  if constexpr (sizeof(Tag) == 4) return match_tags_lanes<kWays>(tags, wanted);
#endif
  return match_tags_portable(tags, kWays, wanted);
}

}  // namespace row_store

#endif  // ROW_STORE_CACHE_TAG_MATCH_H
