// The bucket sizes of the Engram heads: rising runs of primes, none used twice.
//
// Pure functions over numbers below 2^32, safe from any thread.
#ifndef ROW_STORE_ENGRAM_PRIMES_H
#define ROW_STORE_ENGRAM_PRIMES_H

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace row_store {

bool is_prime(uint32_t value);

// Hands out primes of one table set. Each take() continues above the one before it; restart(base)
// begins a run at base, which passes over every prime handed out so far.
class PrimeDealer {
 public:
  void restart(uint32_t base);

  // The smallest unused prime from the run's place on; nothing once 2^32 is reached.
  std::optional<uint32_t> take();

 private:
  uint32_t base_ = 2;
  uint64_t next_ = 2;
  // Where the runs from each base stopped: nothing unused lies between, and a config with the most
  // layers and heads would otherwise walk the same stretch hundreds of times.
  std::map<uint32_t, uint64_t> stops_;
  std::set<uint32_t> used_;
};

}  // namespace row_store

#endif  // ROW_STORE_ENGRAM_PRIMES_H
