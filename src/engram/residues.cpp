#include "engram/residues.h"

#include <array>
#include <cstddef>

#include "format/engram_config.h"

namespace row_store {
namespace {

// value^(prime - 2), which is the inverse modulo a prime.
uint64_t inverse_mod(uint64_t value, const Modulus& prime) {
  uint64_t result = 1 % prime.value();
  uint64_t power = prime.reduce(value);
  for (uint32_t exponent = prime.value() - 2; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = prime.reduce(result * power);
    power = prime.reduce(power * power);
  }
  return result;
}

}  // namespace

ResidueDecoder::ResidueDecoder(std::span<const uint32_t> primes, uint64_t hash_mask)
    : hash_mask_(hash_mask) {
  for (uint32_t prime : primes) moduli_.emplace_back(prime);

  // As few heads as their product needs to exceed the mask. The weights stay within it.
  uint64_t product = 1;
  size_t digits = 0;
  while (digits < primes.size() && !decodes_) {
    weights_.push_back(product);
    const Uint128 next = static_cast<Uint128>(product) * primes[digits++];
    decodes_ = next > hash_mask;
    product = static_cast<uint64_t>(next);
  }
  if (!decodes_) return;
  last_digit_max_ = hash_mask / weights_.back();
  inverses_.resize(digits * digits);
  for (size_t j = 1; j < digits; ++j) {
    for (size_t i = 0; i < j; ++i) inverses_[j * digits + i] = inverse_mod(primes[i], moduli_[j]);
  }
}

bool ResidueDecoder::decode(const uint32_t* residues, uint64_t& hash) const {
  // Mixed radix: hash = d0 + d1 p0 + d2 p0 p1 ... Digit i is below prime i, hence below the later
  // primes, so adding a later prime before the subtraction keeps it from going below zero.
  const size_t digits = weights_.size();
  std::array<uint64_t, kEngramHeadsMax> digit;
  uint64_t sum = 0;
  for (size_t j = 0; j < digits; ++j) {
    const uint64_t* inverse = &inverses_[j * digits];
    uint64_t value = residues[j];
    for (size_t i = 0; i < j; ++i) {
      value = moduli_[j].reduce((value + moduli_[j].value() - digit[i]) * inverse[i]);
    }
    digit[j] = value;
    if (j + 1 == digits && value > last_digit_max_) return false;
    sum += value * weights_[j];
  }
  if (sum > hash_mask_) return false;
  for (size_t j = digits; j < moduli_.size(); ++j) {
    if (moduli_[j].reduce(sum) != residues[j]) return false;
  }
  hash = sum;
  return true;
}

}  // namespace row_store
