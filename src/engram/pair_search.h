// The two classes of a 2-gram, from its hash alone.
//
// hash = newest * m0 ^ before * m1. Either class follows from the other by one multiplication with
// an inverse modulo 2^64, so the search tries every class for one place and asks whether the other
// comes out as a class. Low halves alone decide that for all but a few candidates, eight at a time
// where the CPU has AVX2. Immutable once built, safe from any thread.
#ifndef ROW_STORE_ENGRAM_PAIR_SEARCH_H
#define ROW_STORE_ENGRAM_PAIR_SEARCH_H

#include <cstdint>
#include <optional>

namespace row_store {

// The inverse of an odd number modulo 2^64.
constexpr uint64_t inverse_mod_word(uint64_t odd) {
  uint64_t inverse = odd;  // right in the low 3 bits; each round doubles them
  for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - odd * inverse;
  return inverse;
}

class PairSearch {
 public:
  // use_vectors false keeps to portable code, for tests.
  PairSearch(uint64_t newest_multiplier, uint64_t before_multiplier, uint32_t classes,
             bool use_vectors = true);

  // The newest class, if this is the class before it.
  std::optional<uint32_t> newest(uint64_t hash, uint32_t before) const {
    const uint64_t value = (hash ^ before * before_multiplier_) * newest_inverse_;
    if (value >= classes_) return std::nullopt;
    return static_cast<uint32_t>(value);
  }

  // The smallest class before the newest one that fits the hash. Tries each of them at most once.
  std::optional<uint32_t> before(uint64_t hash) const;

 private:
  std::optional<uint32_t> first_in(uint64_t hash, uint32_t first, uint32_t last) const;

  uint64_t before_multiplier_;
  uint64_t newest_inverse_;
  uint32_t classes_;
  bool use_vectors_;
};

}  // namespace row_store

#endif  // ROW_STORE_ENGRAM_PAIR_SEARCH_H
