#include "engram/numpy_draw.h"

#include <array>
#include <bit>
#include <cstddef>

#include "engram/uint128.h"

namespace row_store {
namespace {

constexpr size_t kPoolWords = 4;

// Spreads a seed over the 256 bits that PCG64 wants (NumPy's SeedSequence with no spawn key).
class SeedSequence {
 public:
  explicit SeedSequence(uint64_t seed) {
    const std::array<uint32_t, kPoolWords> entropy = {static_cast<uint32_t>(seed),
                                                      static_cast<uint32_t>(seed >> 32), 0, 0};
    for (size_t i = 0; i < kPoolWords; ++i) pool_[i] = absorb(entropy[i]);
    for (size_t from = 0; from < kPoolWords; ++from) {
      for (size_t to = 0; to < kPoolWords; ++to) {
        if (from != to) pool_[to] = mix(pool_[to], absorb(pool_[from]));
      }
    }
  }

  std::array<uint64_t, 4> state() const {
    std::array<uint64_t, 4> words{};
    uint32_t constant = 0x8b51f9dd;
    for (size_t i = 0; i < 8; ++i) {
      uint32_t value = pool_[i % kPoolWords] ^ constant;
      constant *= 0x58f38ded;
      value *= constant;
      value ^= value >> 16;
      words[i / 2] |= static_cast<uint64_t>(value) << (32 * (i % 2));
    }
    return words;
  }

 private:
  uint32_t absorb(uint32_t value) {
    value ^= constant_;
    constant_ *= 0x931e8875;
    value *= constant_;
    return value ^ (value >> 16);
  }

  static uint32_t mix(uint32_t x, uint32_t y) {
    const uint32_t value = 0xca01f9ddU * x - 0x4973f715U * y;
    return value ^ (value >> 16);
  }

  std::array<uint32_t, kPoolWords> pool_{};
  uint32_t constant_ = 0x43b0d7e5;
};

class Pcg64 {
 public:
  explicit Pcg64(uint64_t seed) {
    const std::array<uint64_t, 4> words = SeedSequence(seed).state();
    const Uint128 start = (static_cast<Uint128>(words[0]) << 64) | words[1];
    const Uint128 stream = (static_cast<Uint128>(words[2]) << 64) | words[3];
    increment_ = (stream << 1) | 1;
    step();
    state_ += start;
    step();
  }

  uint64_t next64() {
    step();
    const uint64_t folded = static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_);
    return std::rotr(folded, static_cast<int>(state_ >> 122));
  }

  // NumPy hands out the low half of a word first and keeps the high half for the next call.
  uint32_t next32() {
    if (half_is_kept_) {
      half_is_kept_ = false;
      return kept_half_;
    }
    const uint64_t word = next64();
    half_is_kept_ = true;
    kept_half_ = static_cast<uint32_t>(word >> 32);
    return static_cast<uint32_t>(word);
  }

 private:
  void step() {
    constexpr Uint128 kMultiplier =
        (static_cast<Uint128>(2549297995355413924U) << 64) | 4865540595714422341U;
    state_ = state_ * kMultiplier + increment_;
  }

  Uint128 state_ = 0;
  Uint128 increment_ = 0;
  uint32_t kept_half_ = 0;
  bool half_is_kept_ = false;
};

uint64_t bounded64(Pcg64& random, uint64_t high) {
  // Values below 2^64 mod high would be drawn once too often, so they are drawn again.
  const uint64_t threshold = (0 - high) % high;
  Uint128 product;
  do {
    product = static_cast<Uint128>(random.next64()) * high;
  } while (static_cast<uint64_t>(product) < threshold);
  return static_cast<uint64_t>(product >> 64);
}

uint64_t bounded32(Pcg64& random, uint32_t high) {
  const uint32_t threshold = (0U - high) % high;
  uint64_t product;
  do {
    product = static_cast<uint64_t>(random.next32()) * high;
  } while (static_cast<uint32_t>(product) < threshold);
  return product >> 32;
}

}  // namespace

void numpy_integers(uint64_t seed, uint64_t high, std::span<uint64_t> out) {
  constexpr uint64_t kWord32 = uint64_t{1} << 32;
  Pcg64 random(seed);
  for (uint64_t& value : out) {
    if (high <= 1) {
      value = 0;
    } else if (high < kWord32) {
      value = bounded32(random, static_cast<uint32_t>(high));
    } else if (high == kWord32) {
      value = random.next32();
    } else {
      value = bounded64(random, high);
    }
  }
}

}  // namespace row_store
