// Copies of one 264-byte row between a slab and its two homes in a caller's buffers.
//
// Cached slabs are read without a lock (see set_table.h), so both sides there move 8-byte words
// with relaxed atomics: a torn row is possible and is thrown away by the sequence check, an
// undefined one is not. Write-combined slabs are only touched under the set lock, in the widest
// loads, every line loaded before the first store.
#ifndef ROW_STORE_CACHE_ROW_COPY_H
#define ROW_STORE_CACHE_ROW_COPY_H

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>

#include "format/row_layout.h"

namespace row_store {

inline constexpr uint64_t kCacheLineBytes = 64;
inline constexpr uint64_t kWeightWords = kWeightBytes / 8;

inline void prefetch_row(const uint8_t* row) {
  // Any 8-byte-aligned 264 bytes touch exactly five lines: 56 + 264 = 320.
  for (uint64_t at = 0; at < kRowBytes; at += kCacheLineBytes) __builtin_prefetch(row + at);
}

inline uint64_t load_word(const uint8_t* at) {
  // atomic_ref wants a mutable object; a relaxed load does not write.
  auto* word = reinterpret_cast<uint64_t*>(const_cast<uint8_t*>(at));
  return std::atomic_ref<uint64_t>(*word).load(std::memory_order_relaxed);
}

inline void store_word(uint8_t* at, uint64_t value) {
  std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(at))
      .store(value, std::memory_order_relaxed);
}

// Slab to outputs. The outputs need no alignment.
inline void copy_row_out(const uint8_t* row, uint8_t* weights, uint8_t* scales) {
  for (uint64_t word = 0; word < kWeightWords; ++word) {
    const uint64_t value = load_word(row + 8 * word);
    std::memcpy(weights + 8 * word, &value, 8);
  }
  const uint64_t scale = load_word(row + kWeightBytes);
  std::memcpy(scales, &scale, 8);
}

inline void copy_row_in(uint8_t* row, const uint8_t* weights, const uint8_t* scales) {
  uint64_t value;
  for (uint64_t word = 0; word < kWeightWords; ++word) {
    std::memcpy(&value, weights + 8 * word, 8);
    store_word(row + 8 * word, value);
  }
  std::memcpy(&value, scales, 8);
  store_word(row + kWeightBytes, value);
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
