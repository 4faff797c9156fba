// Size arithmetic that cannot wrap: each helper returns nothing instead of a wrapped value.
#ifndef ROW_STORE_BASE_CHECKED_H
#define ROW_STORE_BASE_CHECKED_H

#include <cstdint>
#include <optional>

namespace row_store {

inline std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

constexpr uint64_t align_down(uint64_t value, uint64_t alignment) {
  return value - value % alignment;
}

// The caller knows that value + alignment does not wrap (file offsets stay below 2^63).
constexpr uint64_t align_up(uint64_t value, uint64_t alignment) {
  return align_down(value + alignment - 1, alignment);
}

}  // namespace row_store

#endif  // ROW_STORE_BASE_CHECKED_H
