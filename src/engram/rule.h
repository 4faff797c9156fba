// The Engram addressing rule: which rows of a layer's table the last few tokens ask for.
//
// Token classes (compressed token ids) go in, row ids come out; see numpy_draw.h and primes.h for
// where the constants come from. Nothing here reads files or knows tables' contents. A Rule's
// columns stand order by order (2-grams first), head by head; within an order the primes rise, and
// the columns' row ranges tile the table. Pure functions and immutable values, safe from any
// thread.
#ifndef ROW_STORE_ENGRAM_RULE_H
#define ROW_STORE_ENGRAM_RULE_H

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "engram/modulus.h"
#include "format/engram_config.h"

namespace row_store {

// The constants of one layer.
struct Rule {
  uint32_t layer_id = 0;
  uint32_t max_ngram = 0;
  uint32_t heads = 0;
  uint32_t classes = 0;
  uint32_t pad_class = 0;
  std::vector<uint64_t> multipliers;  // one a lookback, 0..max_ngram - 1; odd
  std::vector<uint32_t> primes;       // one a column
  std::vector<uint64_t> offsets;      // one a column: its first row
  uint64_t rows = 0;

  uint32_t orders() const { return max_ngram - 1; }
  uint32_t columns() const { return orders() * heads; }
};

// One Rule a layer, in the order of config.layer_ids. kMismatch when the sizes differ from those
// that the config lists, kOverflow when a listed multiplier is even or leaves 63 bits.
Result<std::vector<Rule>> derive_rules(const EngramConfig& config);

// The rule whose table has this many rows, or nullptr. Row counts differ between the layers of one
// checkpoint, since no prime is used twice.
const Rule* find_rule(std::span<const Rule> rules, uint64_t rows);

// A Rule, made ready to hash many tokens.
class RowHasher {
 public:
  explicit RowHasher(const Rule& rule);

  uint32_t max_ngram() const { return static_cast<uint32_t>(multipliers_.size()); }
  uint32_t columns() const { return static_cast<uint32_t>(moduli_.size()); }

  // lookback[k] is the class k places before the token, max_ngram of them, each below rule.classes;
  // places before the start of a sequence hold the pad class. Writes columns() ids, in column
  // order.
  void row_ids(const uint32_t* lookback, int64_t* ids) const;

 private:
  uint32_t heads_;
  std::vector<uint64_t> multipliers_;
  std::vector<Modulus> moduli_;
  std::vector<uint64_t> offsets_;
};

}  // namespace row_store

#endif  // ROW_STORE_ENGRAM_RULE_H
