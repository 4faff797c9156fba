#include "cache/row_copy.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace row_store {

#if defined(__x86_64__)

namespace {

constexpr int kLanes = 320 / 16;  // the five lines that hold a row, in 16-byte loads

// MOVNTDQA on write-combined memory fetches a line once into a fill buffer; it needs SSE4.1, which
// the baseline build does not assume.
__attribute__((target("sse4.1"))) void load_lines_streaming(const uint8_t* first, __m128i* lanes) {
  for (int lane = 0; lane < kLanes; ++lane) {
    auto* at = reinterpret_cast<__m128i*>(const_cast<uint8_t*>(first) + 16 * lane);
    lanes[lane] = _mm_stream_load_si128(at);
  }
}

void load_lines_plain(const uint8_t* first, __m128i* lanes) {
  for (int lane = 0; lane < kLanes; ++lane)
    lanes[lane] = _mm_load_si128(reinterpret_cast<const __m128i*>(first + 16 * lane));
}

}  // namespace

void copy_row_out_wc(const uint8_t* row, uint8_t* weights, uint8_t* scales) {
  static const bool streaming = __builtin_cpu_supports("sse4.1");
  // Slabs start on a page and end on one, so whole lines around a row stay inside.
  const uintptr_t address = reinterpret_cast<uintptr_t>(row);
  const uint8_t* first = row - address % kCacheLineBytes;
  __m128i lanes[kLanes];
  if (streaming) {
    load_lines_streaming(first, lanes);
  } else {
    load_lines_plain(first, lanes);
  }
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(lanes) + address % kCacheLineBytes;
  std::memcpy(weights, bytes, kWeightBytes);
  std::memcpy(scales, bytes + kWeightBytes, kScaleBytes);
}

void copy_row_in_wc(uint8_t* row, const uint8_t* weights, const uint8_t* scales) {
  std::memcpy(row, weights, kWeightBytes);
  std::memcpy(row + kWeightBytes, scales, kScaleBytes);
  // A release store does not order write-combined stores on x86.
  _mm_sfence();
}

void fence_before_wc_reads() { _mm_mfence(); }

#elif defined(__aarch64__)

void copy_row_out_wc(const uint8_t* row, uint8_t* weights, uint8_t* scales) {
  uint8x16_t lanes[16];
  for (int lane = 0; lane < 16; ++lane) lanes[lane] = vld1q_u8(row + 16 * lane);
  const uint8x8_t scale = vld1_u8(row + kWeightBytes);
  for (int lane = 0; lane < 16; ++lane) vst1q_u8(weights + 16 * lane, lanes[lane]);
  vst1_u8(scales, scale);
}

void copy_row_in_wc(uint8_t* row, const uint8_t* weights, const uint8_t* scales) {
  std::memcpy(row, weights, kWeightBytes);
  std::memcpy(row + kWeightBytes, scales, kScaleBytes);
}

// Normal non-cacheable loads are ordered by the set lock's acquire.
void fence_before_wc_reads() {}

#else

void copy_row_out_wc(const uint8_t* row, uint8_t* weights, uint8_t* scales) {
  std::memcpy(weights, row, kWeightBytes);
  std::memcpy(scales, row + kWeightBytes, kScaleBytes);
}

void copy_row_in_wc(uint8_t* row, const uint8_t* weights, const uint8_t* scales) {
  std::memcpy(row, weights, kWeightBytes);
  std::memcpy(row + kWeightBytes, scales, kScaleBytes);
}

void fence_before_wc_reads() { std::atomic_thread_fence(std::memory_order_seq_cst); }

#endif

}  // namespace row_store
