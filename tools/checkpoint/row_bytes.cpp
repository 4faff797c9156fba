#include "checkpoint/row_bytes.h"

#include <cstring>

namespace row_store::checkpoint {
namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
constexpr uint64_t kLowBits = 0x7F7F7F7F7F7F7F7F;
constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kWeightWords = kWeightBytes / sizeof(uint64_t);

constexpr uint64_t mix(uint64_t value) {
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
  value = (value ^ value >> 27) * 0x94D049BB133111EB;
  return value ^ value >> 31;
}

// Turns each byte 0x7F or 0xFF, the two NaNs of E4M3, into its neighbour 0x7E or 0xFE.
constexpr uint64_t without_nans(uint64_t word) {
  const uint64_t nan_marks = ((word & kLowBits) + kOnes) & (kOnes << 7);
  return word ^ nan_marks >> 7;
}
static_assert(without_nans(0xFF7F7E80FE00017F) == 0xFE7E7E80FE00017E);

// E8M0 exponents 96 .. 159, that is 2^-31 .. 2^32.
constexpr uint64_t moderate_scales(uint64_t word) {
  return (word & 0x3F3F3F3F3F3F3F3F) + 0x6060606060606060;
}

}  // namespace

void fill_row(uint64_t seed, uint64_t layer, uint64_t id, uint8_t* out) {
  const uint64_t start = mix(mix(mix(seed + kGolden) + layer) + id);
  uint64_t words[kRowBytes / sizeof(uint64_t)];
  for (uint64_t i = 0; i < kWeightWords; ++i) words[i] = without_nans(mix(start + i * kGolden));
  words[kWeightWords] = moderate_scales(mix(start + kWeightWords * kGolden));
  std::memcpy(out, words, sizeof words);
}

bool RowSource::matches(uint64_t id, const uint8_t* weights, const uint8_t* scales) const {
  uint8_t row[kRowBytes];
  fill(id, row);
  return std::memcmp(weights, row, kWeightBytes) == 0 &&
         std::memcmp(scales, row + kWeightBytes, kScaleBytes) == 0;
}

}  // namespace row_store::checkpoint
