#include "cache/row_copy.h"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace row_store {
namespace {

// Plain loads of whatever width the C library chooses: right everywhere, slow on memory that is not
// cached.
void copy_out_portable(const uint8_t* row, uint8_t* weights, uint8_t* scales) {
  std::memcpy(weights, row, kWeightBytes);
  std::memcpy(scales, row + kWeightBytes, kScaleBytes);
}

// The wide kernels also load, and throw away, bytes of the neighbouring rows, which another thread
// may be writing under its own lock. ThreadSanitizer cannot know that they are thrown away.
#define ROW_STORE_READS_NEIGHBOURS __attribute__((no_sanitize("thread")))

#if defined(__x86_64__)

// Streaming loads fetch a line of write-combined memory once, into a buffer that serves the other
// loads of that line; plain loads fetch what each of them asks for. All loads come before the first
// store, so that the lines of a row are fetched side by side.
//
// Neighbouring rows share lines, and such a buffer may hold a line from before another core filled
// the row: the fence empties the buffers. The set lock alone does not promise that.
__attribute__((target("avx2"))) ROW_STORE_READS_NEIGHBOURS void copy_out_avx2(const uint8_t* row,
                                                                              uint8_t* weights,
                                                                              uint8_t* scales) {
  constexpr uint64_t kLaneBytes = 32, kLanes = 9;
  static_assert(kLaneBytes - 8 + kRowBytes <= kLanes * kLaneBytes, "a row starts at any word");
  const uint64_t skip = reinterpret_cast<uintptr_t>(row) % kLaneBytes;
  const uint8_t* first = row - skip;
  _mm_mfence();
  __m256i lanes[kLanes];
  for (uint64_t lane = 0; lane < kLanes; ++lane)
    lanes[lane] =
        _mm256_stream_load_si256(reinterpret_cast<const __m256i*>(first + kLaneBytes * lane));
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(lanes) + skip;
  std::memcpy(weights, bytes, kWeightBytes);
  std::memcpy(scales, bytes + kWeightBytes, kScaleBytes);
}

__attribute__((target("sse4.1"))) ROW_STORE_READS_NEIGHBOURS void copy_out_sse41(const uint8_t* row,
                                                                                 uint8_t* weights,
                                                                                 uint8_t* scales) {
  constexpr uint64_t kLaneBytes = 16, kLanes = 17;
  static_assert(kLaneBytes - 8 + kRowBytes <= kLanes * kLaneBytes, "a row starts at any word");
  const uint64_t skip = reinterpret_cast<uintptr_t>(row) % kLaneBytes;
  const uint8_t* first = row - skip;
  _mm_mfence();
  __m128i lanes[kLanes];
  for (uint64_t lane = 0; lane < kLanes; ++lane) {
    // The intrinsic of older compilers takes a mutable pointer.
    auto* at = const_cast<uint8_t*>(first + kLaneBytes * lane);
    lanes[lane] = _mm_stream_load_si128(reinterpret_cast<__m128i*>(at));
  }
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(lanes) + skip;
  std::memcpy(weights, bytes, kWeightBytes);
  std::memcpy(scales, bytes + kWeightBytes, kScaleBytes);
}

#elif defined(__aarch64__)

// Write-combined memory is Normal Non-cacheable here: no load finds what an earlier one fetched, so
// the loads are aligned (a load across two lines would be two fetches) and each is 16 bytes. The 17
// lanes stay in registers. The set lock's acquire orders them behind the row's stores.
ROW_STORE_READS_NEIGHBOURS void copy_out_neon(const uint8_t* row, uint8_t* weights,
                                              uint8_t* scales) {
  constexpr uint64_t kLaneBytes = 16, kWholeLanes = kWeightBytes / kLaneBytes;
  uint8x16_t lanes[kWholeLanes + 1];
  if (reinterpret_cast<uintptr_t>(row) % kLaneBytes == 0) {
    for (uint64_t lane = 0; lane < kWholeLanes; ++lane)
      lanes[lane] = vld1q_u8(row + kLaneBytes * lane);
    const uint8x8_t scale = vld1_u8(row + kWeightBytes);
    for (uint64_t lane = 0; lane < kWholeLanes; ++lane)
      vst1q_u8(weights + kLaneBytes * lane, lanes[lane]);
    vst1_u8(scales, scale);
    return;
  }
  // A row starts at a multiple of 8, so this one starts in the middle of a lane and ends with one.
  for (uint64_t lane = 0; lane <= kWholeLanes; ++lane)
    lanes[lane] = vld1q_u8(row - 8 + kLaneBytes * lane);
  for (uint64_t lane = 0; lane < kWholeLanes; ++lane)
    vst1q_u8(weights + kLaneBytes * lane, vextq_u8(lanes[lane], lanes[lane + 1], 8));
  vst1_u8(scales, vget_high_u8(lanes[kWholeLanes]));
}

#endif

struct WcReadKernels {
  std::array<WcReadKernel, 3> kernels;
  size_t count = 0;
  void add(const char* name, decltype(WcReadKernel::copy_out) copy_out) {
    kernels[count++] = {name, copy_out};
  }
};

WcReadKernels find_kernels() {
  WcReadKernels found{};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) found.add("avx2", copy_out_avx2);
  if (__builtin_cpu_supports("sse4.1")) found.add("sse4.1", copy_out_sse41);
#elif defined(__aarch64__)
  found.add("neon", copy_out_neon);
#endif
  found.add("portable", copy_out_portable);
  return found;
}

}  // namespace

std::span<const WcReadKernel> wc_read_kernels() {
  static const WcReadKernels found = find_kernels();
  return {found.kernels.data(), found.count};
}

void copy_row_out_wc(const uint8_t* row, uint8_t* weights, uint8_t* scales) {
  static const auto copy_out = wc_read_kernels().front().copy_out;
  copy_out(row, weights, scales);
}

// Ascending, so that write-combining buffers leave as whole lines.
void copy_row_in_wc(uint8_t* row, const uint8_t* weights, const uint8_t* scales) {
#if defined(__x86_64__)
  for (uint64_t at = 0; at < kWeightBytes; at += 16)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(row + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(weights + at)));
  std::memcpy(row + kWeightBytes, scales, kScaleBytes);
  // The release store that unlocks the set does not order write-combined stores on x86.
  _mm_sfence();
#else
  std::memcpy(row, weights, kWeightBytes);
  std::memcpy(row + kWeightBytes, scales, kScaleBytes);
#endif
}

}  // namespace row_store
