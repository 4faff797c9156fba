// An n-gram's hash, from what is left of it after division by each head's prime.
//
// The heads of one order see the same hash modulo different primes. Where the product of their
// primes exceeds every hash, the Chinese remainder theorem gives the hash back from the first few
// heads, and the others confirm it. Immutable once built, safe from any thread.
#ifndef ROW_STORE_ENGRAM_RESIDUES_H
#define ROW_STORE_ENGRAM_RESIDUES_H

#include <cstdint>
#include <span>
#include <vector>

#include "engram/modulus.h"

namespace row_store {

class ResidueDecoder {
 public:
  // primes rise; hash_mask is the number of all one-bits that no hash exceeds (at most 63 of them).
  ResidueDecoder(std::span<const uint32_t> primes, uint64_t hash_mask);

  // Whether the residues determine the hash at all. If not, decode() must not be called.
  bool decodes() const { return decodes_; }

  // The hash with these residues (each below its prime), one a head; false where there is none.
  bool decode(const uint32_t* residues, uint64_t& hash) const;

  // Whether hash leaves these residues.
  bool matches(uint64_t hash, const uint32_t* residues) const {
    for (size_t i = 0; i < moduli_.size(); ++i) {
      if (moduli_[i].reduce(hash) != residues[i]) return false;
    }
    return true;
  }

 private:
  std::vector<Modulus> moduli_;
  std::vector<uint64_t> weights_;   // product of the primes before this one; of the heads in use
  std::vector<uint64_t> inverses_;  // of prime i modulo prime j, at j * digits + i, i < j
  uint64_t hash_mask_;
  uint64_t last_digit_max_ = 0;
  bool decodes_ = false;
};

}  // namespace row_store

#endif  // ROW_STORE_ENGRAM_RESIDUES_H
