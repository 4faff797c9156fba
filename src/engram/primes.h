// The bucket sizes of the Engram heads: rising runs of primes, none used twice.
//
// Pure functions over numbers below 2^32, safe from any thread.
#ifndef ROW_STORE_ENGRAM_PRIMES_H
#define ROW_STORE_ENGRAM_PRIMES_H

#include <cstdint>
#include <optional>
#include <set>

namespace row_store {

bool is_prime(uint32_t value);

// Hands out primes of one table set. Each take() continues above the one before it; restart(base)
// begins a new run, which passes over every prime handed out so far.
class PrimeDealer {
 public:
  void restart(uint32_t base) { next_ = base; }

  // The smallest unused prime from the run's place on; nothing once 2^32 is reached.
  std::optional<uint32_t> take();

 private:
  uint64_t next_ = 2;
  std::set<uint32_t> used_;
};

}  // namespace row_store

#endif  // ROW_STORE_ENGRAM_PRIMES_H
