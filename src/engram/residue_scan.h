// Classes by trial, for tables too small to give their hashes back.
//
// With few heads or small primes the residues of an order do not determine its hash, but the
// residues of all orders together still determine the classes. Trying all classes for the newest
// place, or all pairs in a small vocabulary, finds them. Slow beside ResidueDecoder; every call is
// bounded by the caller's budget of trials. Immutable once built, safe from any thread.
#ifndef ROW_STORE_ENGRAM_RESIDUE_SCAN_H
#define ROW_STORE_ENGRAM_RESIDUE_SCAN_H

#include <cstdint>
#include <vector>

#include "engram/residues.h"
#include "engram/rule.h"

namespace row_store {

class ResidueScan {
 public:
  // decoders, one an order, outlive this object.
  ResidueScan(const Rule& rule, const std::vector<ResidueDecoder>& decoders);

  // lookback[1..] is given; finds lookback[0]. Does not begin unless budget allows every class, and
  // takes what it tried from it.
  bool find_newest(const uint32_t* residues, uint32_t* lookback, uint64_t& budget) const;

  // Finds every place. Only tried where the pairs of classes are few (2^20).
  bool find_all(const uint32_t* residues, uint32_t* lookback, uint64_t& budget) const;

 private:
  // Finds places place.. given the hash of the ones before them.
  bool find_older(const uint32_t* residues, uint32_t place, uint64_t hash, uint32_t* lookback,
                  uint64_t& budget) const;

  // Whether the hash of places 0..place fits the residues of its order.
  bool fits(const uint32_t* residues, uint32_t place, uint64_t hash) const {
    return (*decoders_)[place - 1].matches(hash, residues + (place - 1) * heads_);
  }

  const std::vector<ResidueDecoder>* decoders_;
  std::vector<uint64_t> multipliers_;
  uint32_t heads_;
  uint32_t classes_;
};

}  // namespace row_store

#endif  // ROW_STORE_ENGRAM_RESIDUE_SCAN_H
