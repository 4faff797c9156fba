// Which class lately followed the same few classes, kept from batch to batch.
//
// A guess, never an answer: the caller checks what it gets. Fixed size, four guesses a set, the
// newest first; a set may mix contexts. Not safe for two threads at once.
#ifndef ROW_STORE_ENGRAM_CONTEXT_MEMORY_H
#define ROW_STORE_ENGRAM_CONTEXT_MEMORY_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace row_store {

class ContextMemory {
 public:
  using Guesses = std::array<uint32_t, 4>;

  // 2^set_bits sets of 16 bytes; set_bits is 1..24.
  explicit ContextMemory(uint32_t set_bits)
      : shift_(64 - set_bits), sets_(size_t{1} << set_bits, Guesses{}) {}

  const Guesses& recall(std::span<const uint32_t> context) const { return sets_[index(context)]; }

  void learn(std::span<const uint32_t> context, uint32_t next) {
    Guesses& guesses = sets_[index(context)];
    const auto last = std::find(guesses.begin(), guesses.end() - 1, next);
    std::copy_backward(guesses.begin(), last, last + 1);
    guesses[0] = next;
  }

 private:
  size_t index(std::span<const uint32_t> context) const {
    uint64_t mixed = 0;
    for (uint32_t item : context) mixed = (mixed ^ item) * 0x9e3779b97f4a7c15U;
    return static_cast<size_t>(mixed >> shift_);
  }

  uint32_t shift_;
  std::vector<Guesses> sets_;
};

}  // namespace row_store

#endif  // ROW_STORE_ENGRAM_CONTEXT_MEMORY_H
