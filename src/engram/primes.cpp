#include "engram/primes.h"

#include <initializer_list>

namespace row_store {
namespace {

uint64_t power_mod(uint64_t base, uint32_t exponent, uint32_t modulus) {
  uint64_t result = 1;
  base %= modulus;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = result * base % modulus;
    base = base * base % modulus;
  }
  return result;
}

// One Miller-Rabin round: false proves that odd value is composite.
bool may_be_prime(uint32_t value, uint32_t witness) {
  uint32_t odd = value - 1;
  int halvings = 0;
  for (; (odd & 1) == 0; odd >>= 1) ++halvings;
  uint64_t x = power_mod(witness, odd, value);
  if (x == 1 || x == value - 1) return true;
  for (int i = 1; i < halvings; ++i) {
    x = x * x % value;
    if (x == value - 1) return true;
  }
  return false;
}

}  // namespace

bool is_prime(uint32_t value) {
  // These three witnesses leave no composite below 4,759,123,141, so none below 2^32.
  for (uint32_t witness : {2U, 7U, 61U}) {
    if (value == witness) return true;
  }
  if (value < 2 || value % 2 == 0) return false;
  for (uint32_t witness : {2U, 7U, 61U}) {
    if (!may_be_prime(value, witness)) return false;
  }
  return true;
}

void PrimeDealer::restart(uint32_t base) {
  stops_[base_] = next_;
  base_ = base;
  const auto stop = stops_.find(base);
  next_ = stop != stops_.end() ? stop->second : base;
}

std::optional<uint32_t> PrimeDealer::take() {
  for (; next_ <= UINT32_MAX; ++next_) {
    const auto candidate = static_cast<uint32_t>(next_);
    if (used_.count(candidate) != 0 || !is_prime(candidate)) continue;
    used_.insert(candidate);
    ++next_;
    return candidate;
  }
  return std::nullopt;
}

}  // namespace row_store
