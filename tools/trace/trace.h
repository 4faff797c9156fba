// An Engram access trace: which tokens each lookup asked about, and their n-gram hashes.
//
// Hashes are kept instead of row ids: a quarter of the size, and the same trace then serves a table
// of another size (rescale). Not the file format, which is trace_file.h. Invariant: the calls'
// tokens add up to tokens(). Values only; any thread may read a trace that nobody changes.
#ifndef ROW_STORE_TRACE_TRACE_H
#define ROW_STORE_TRACE_TRACE_H

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "trace/addressing.h"

namespace row_store::trace {

enum class CallKind : uint8_t { kPrefill = 0, kDecode = 1 };

const char* call_kind_name(CallKind kind);

struct Call {
  uint32_t tokens = 0;
  CallKind kind = CallKind::kPrefill;

  uint64_t ids() const { return uint64_t{tokens} * kColumns; }
};

struct Trace {
  Addressing rule;
  std::vector<Call> calls;
  std::vector<uint64_t> rolls;  // kOrders a token

  uint64_t tokens() const { return rolls.size() / kOrders; }
  uint64_t ids() const { return tokens() * kColumns; }
  uint64_t id(uint64_t token, int column) const {
    return rule.id(column, rolls[token * kOrders + column / kHeads]);
  }

  // The same text against the table whose primes start at base.
  Status rescale(uint64_t base);

  // The row ids of `count` tokens from `first` on, kColumns each, as a lookup takes them.
  void expand(uint64_t first, uint64_t count, int64_t* ids) const;
};

}  // namespace row_store::trace

#endif  // ROW_STORE_TRACE_TRACE_H
