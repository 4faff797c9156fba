// The Engram addressing rule: from compressed token ids to row ids of one layer's table.
//
// A token asks for one row in each of 24 columns: 3 n-gram orders (2, 3, 4) by 8 heads. The heads
// of an order share one rolling hash and differ in the prime they reduce it by; each column owns as
// many rows as its prime, and the columns tile the table. Not a tokenizer: engram_vocab.py makes
// the ids. Invariant: offsets are the prefix sums of primes, rows is their total and below 2^63.
// Values only, so any thread may read a rule that nobody changes.
#ifndef ROW_STORE_TRACE_ADDRESSING_H
#define ROW_STORE_TRACE_ADDRESSING_H

#include <array>
#include <cstdint>
#include <span>

#include "base/status.h"

namespace row_store::trace {

inline constexpr int kOrders = 3;  // 2-, 3- and 4-grams
inline constexpr int kHeads = 8;   // an order
inline constexpr int kColumns = kOrders * kHeads;
inline constexpr int kLookback = kOrders + 1;     // tokens that a 4-gram spans
inline constexpr uint32_t kClasses = 99092;       // compressed vocabulary
inline constexpr uint32_t kPadClass = 2;          // stands before the start of a sequence
inline constexpr uint64_t kModelBase = 16000000;  // where the model's primes start
inline constexpr uint64_t kBaseMax = uint64_t{1} << 32;
inline constexpr std::array<uint32_t, 2> kLayers = {1, 14};

struct Addressing {
  uint32_t layer = 0;
  std::array<uint64_t, kLookback> multipliers{};
  std::array<uint64_t, kColumns> primes{};
  std::array<uint64_t, kColumns> offsets{};
  uint64_t rows = 0;

  // Rolling hashes of the 2-, 3- and 4-gram that end at a token. back[k] is the class k places
  // before it, back[0] its own; places before the sequence hold kPadClass.
  std::array<uint64_t, kOrders> roll(std::span<const uint32_t, kLookback> back) const;

  uint64_t id(int column, uint64_t rolling) const {
    return offsets[column] + rolling % primes[column];
  }
};

// The rule of a layer (1 or 14) whose primes start at base: kModelBase gives the model's own table,
// a smaller base a smaller table under the same text (its heads then hold more n-grams a row).
Result<Addressing> make_addressing(uint32_t layer, uint64_t base = kModelBase);

// Primes as a file gives them: kArgument for a zero, kOverflow when the rows pass 2^63 - 1.
Status set_primes(Addressing& rule, std::span<const uint64_t, kColumns> primes);

}  // namespace row_store::trace

#endif  // ROW_STORE_TRACE_ADDRESSING_H
