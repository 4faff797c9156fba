// Copies of one 264-byte row between a slab and its two homes in a caller's buffers.
//
// Cached slabs are read without a lock (see set_table.h): a copy may race with a writer, and the
// sequence check then throws the torn row away. The copies are 16-byte vector loads and stores;
// 8-byte atomics took 199 ns a row where these take 117 (random rows, huge pages, an EPYC guest).
// Like every sequence lock they rely on the machine, not on the language, for the meaning of such a
// load, so the thread sanitizer is told to look at the words that vouch for a row and not at the
// row. Write-combined slabs are only touched under the set lock, every line loaded before the first
// store.
#ifndef ROW_STORE_CACHE_ROW_COPY_H
#define ROW_STORE_CACHE_ROW_COPY_H

#include <cstdint>
#include <cstring>
#include <span>

#include "format/row_layout.h"

namespace row_store {

inline constexpr uint64_t kCacheLineBytes = 64;

inline void prefetch_row(const uint8_t* row) {
  // Any 8-byte-aligned 264 bytes touch exactly five lines: 56 + 264 = 320.
  for (uint64_t at = 0; at < kRowBytes; at += kCacheLineBytes) __builtin_prefetch(row + at);
}

// 16 bytes in one register, on every CPU the compilers know vectors for. Typedefs: clang 14 drops
// the alignment from an alias declaration, and its aligned loads then fault on every other slot.
typedef uint8_t Lane __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t Word __attribute__((aligned(1), may_alias));
static_assert(alignof(Lane) == 1 && alignof(Word) == 1);

__attribute__((no_sanitize("thread"))) inline void copy_row(const uint8_t* from_weights,
                                                            const uint8_t* from_scales,
                                                            uint8_t* weights, uint8_t* scales) {
  for (uint64_t at = 0; at < kWeightBytes; at += sizeof(Lane))
    *reinterpret_cast<Lane*>(weights + at) = *reinterpret_cast<const Lane*>(from_weights + at);
  *reinterpret_cast<Word*>(scales) = *reinterpret_cast<const Word*>(from_scales);
}

// Slab to outputs. The outputs need no alignment.
inline void copy_row_out(const uint8_t* row, uint8_t* weights, uint8_t* scales) {
  copy_row(row, row + kWeightBytes, weights, scales);
}

inline void copy_row_in(uint8_t* row, const uint8_t* weights, const uint8_t* scales) {
  copy_row(weights, scales, row, row + kWeightBytes);
}

// The same copies for write-combined slabs. The caller holds the row's set lock. copy_row_out_wc
// may load up to 24 bytes on either side of the row: slabs start and end on multiples of 32 bytes.
void copy_row_out_wc(const uint8_t* row, uint8_t* weights, uint8_t* scales);
void copy_row_in_wc(uint8_t* row, const uint8_t* weights, const uint8_t* scales);

// The ways of reading that this CPU can run, the one that copy_row_out_wc uses first.
struct WcReadKernel {
  const char* name;
  void (*copy_out)(const uint8_t* row, uint8_t* weights, uint8_t* scales);
};
std::span<const WcReadKernel> wc_read_kernels();

}  // namespace row_store

#endif  // ROW_STORE_CACHE_ROW_COPY_H
