// Remainders by a fixed 32-bit number, without a division.
//
// Immutable once built, safe from any thread.
#ifndef ROW_STORE_ENGRAM_MODULUS_H
#define ROW_STORE_ENGRAM_MODULUS_H

#include <cstdint>

#include "engram/uint128.h"

namespace row_store {

class Modulus {
 public:
  Modulus() = default;
  // value is at least 2.
  explicit Modulus(uint32_t value) : value_(value), reciprocal_(UINT64_MAX / value) {}

  uint32_t value() const { return static_cast<uint32_t>(value_); }

  // x mod value, for every x: the estimated quotient is exact or one too small.
  uint64_t reduce(uint64_t x) const {
    const auto quotient = static_cast<uint64_t>((static_cast<Uint128>(x) * reciprocal_) >> 64);
    const uint64_t rest = x - quotient * value_;
    return rest >= value_ ? rest - value_ : rest;
  }

 private:
  uint64_t value_ = 2;
  uint64_t reciprocal_ = UINT64_MAX / 2;
};

}  // namespace row_store

#endif  // ROW_STORE_ENGRAM_MODULUS_H
