// From the rows that tokens ask of one Engram layer, to the rows that they will ask of another.
//
// Both layers hash the same classes, so a token's row ids in one layer give its classes, and those
// the ids in the other. This is how the classes come out:
//
//   - The residues of an order give its hash (residues.h).
//   - Neighbouring orders differ by one class times an odd number, so the classes two and more
//   places
//     back follow by one multiplication each: a token tells what stood before the token before it.
//   - The two newest classes share the 2-gram's hash, and either follows from the other. The class
//     before the newest is known from the previous token of the run, or from the next one, which
//     tells it directly; it is the pad at the start of a sequence; it may be remembered from an
//     earlier batch. Only where all of these fail, at a lone token out of context, are all classes
//     tried (pair_search.h). A wrong candidate does not pass: it would have to give a number below
//     the vocabulary out of 64 bits.
//
// Tokens may be of several requests, in runs of any length, with rows of no token between them.
// Invariants: no output id lies outside the target's table, whatever the input; work per batch is
// bounded; calls allocate nothing. A result may be wrong only where the ids are not of this rule.
// Not thread-safe: one Inverter belongs to one thread at a time, for it remembers contexts and the
// order of columns. Does no I/O.
#ifndef ROW_STORE_ENGRAM_INVERT_H
#define ROW_STORE_ENGRAM_INVERT_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "engram/context_memory.h"
#include "engram/pair_search.h"
#include "engram/residue_scan.h"
#include "engram/residues.h"
#include "engram/rule.h"
#include "format/engram_config.h"

namespace row_store {

enum class TokenState : uint8_t {
  kUnknown,  // not the rows of any token, or one that was not found within the batch's budget
  kIdle,     // row 0 in every column: a place in the batch that holds no token
  kKnown,
};

struct InverterOptions {
  // Classes tried in one batch. Where it runs out, tokens that need a search stay unknown; the rest
  // are not affected. The default allows 40 searches of 99,092 classes.
  uint64_t trials_max = 4'000'000;
  uint32_t memory_set_bits = 14;  // 1..24; 16 bytes a set
};

struct InvertCounts {
  size_t known = 0;
  size_t idle = 0;
  size_t unknown = 0;
  size_t searches = 0;  // tokens whose classes had to be tried
};

class Inverter {
 public:
  // kUnsupported when the rule's ids do not determine the classes.
  static Result<std::unique_ptr<Inverter>> create(const Rule& source,
                                                  const InverterOptions& options = {});

  Inverter(const Inverter&) = delete;
  Inverter& operator=(const Inverter&) = delete;

  // ids: tokens x columns() global row ids of the source layer, token by token, the columns in any
  // order. classes: tokens x max_ngram() lookbacks, as RowHasher takes them; the pad class
  // throughout where a token's state is not kKnown.
  InvertCounts invert(const int64_t* ids, size_t tokens, uint32_t* classes, TokenState* states);

  // The same, hashed for another layer of the same checkpoint. out: tokens x target.columns() ids
  // in the rule's column order; row 0 throughout where a token's state is not kKnown.
  InvertCounts translate(const int64_t* ids, size_t tokens, const RowHasher& target, int64_t* out,
                         TokenState* states);

  uint32_t columns() const { return columns_; }
  uint32_t max_ngram() const { return max_ngram_; }

 private:
  using Lookback = std::array<uint32_t, kEngramNgramMax>;

  // What one token's ids say on their own.
  struct Reading {
    TokenState state;  // kKnown: the rows of some token
    uint64_t pair_hash;
    Lookback lookback;  // from place 2 on, where the hashes come out
    std::array<uint32_t, kEngramColumnsMax> residues;
  };

  Inverter(const Rule& source, const InverterOptions& options);

  template <typename Sink>
  InvertCounts run(const int64_t* ids, size_t tokens, TokenState* states, const Sink& sink);

  void read(const int64_t* ids, Reading& reading);
  bool read_residues(const int64_t* ids, Reading& reading) const;
  bool read_hashes(Reading& reading) const;
  bool learn_column_order(const int64_t* ids);

  // Completes the reading's lookback. before is the previous token's, or nullptr.
  bool solve(Reading& reading, const Reading* next, const Lookback* before, InvertCounts& counts);
  bool solve_by_hash(Reading& reading, const Reading* next, const Lookback* before,
                     InvertCounts& counts);
  bool solve_by_scan(Reading& reading, const Lookback* before, InvertCounts& counts);
  bool accept(Reading& reading, uint32_t before) const;

  const uint32_t max_ngram_;
  const uint32_t heads_;
  const uint32_t columns_;
  const uint32_t classes_;
  const uint32_t pad_class_;
  const uint64_t trials_max_;
  const std::vector<uint32_t> primes_;
  const std::vector<uint64_t> offsets_;
  std::vector<uint64_t> inverses_;        // of the multipliers, modulo 2^64
  std::vector<ResidueDecoder> decoders_;  // one an order
  bool hashes_come_out_ = true;
  const PairSearch pair_search_;
  const ResidueScan scan_;
  std::vector<uint32_t> places_;      // of each column in a token's ids
  std::vector<uint32_t> new_places_;  // scratch of learn_column_order
  ContextMemory memory_;
  uint64_t trials_left_ = 0;
};

}  // namespace row_store

#endif  // ROW_STORE_ENGRAM_INVERT_H
