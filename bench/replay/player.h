// Plays a trace against several libraries' stores, call by call in turn, and records what each call
// cost. The library that goes first changes from call to call, so that none profits from its place.
//
// Times are of the lookup alone; the check of its bytes comes after. CPU time is the process's, so
// it counts a library's own threads too. One thread plays.
#ifndef ROW_STORE_BENCH_REPLAY_PLAYER_H
#define ROW_STORE_BENCH_REPLAY_PLAYER_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/locate.h"
#include "checkpoint/row_bytes.h"
#include "library.h"
#include "trace/trace.h"

namespace row_store::bench {

struct NamedLibrary : Library {
  std::string name;  // shown in tables
};

enum class Again { kNo, kCall, kTrace };

struct PlayOptions {
  checkpoint::TableLocation table;
  checkpoint::RowSource rows;
  std::string packed_path;  // empty: rows come from the checkpoint
  uint64_t budget_bytes = 0;
  uint64_t split_ids = 0;  // cut calls to this many ids, 0 for whole calls
  uint64_t calls_max = 0;  // 0 for all
  Again again = Again::kNo;
  bool check = true;
};

struct CallCost {
  double wall_ns = 0;
  double cpu_ns = 0;
};

// What one library did in one pass over one kind of call.
struct Costs {
  std::vector<CallCost> calls;
  uint64_t ids = 0;
};

// What its counters say of one pass.
struct Counters {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t reads = 0;
};

inline constexpr int kPasses = 2;  // as the trace has it, and once more
inline constexpr int kKinds = 2;   // of call, by trace::CallKind

struct Played {
  std::array<std::array<Costs, kKinds>, kPasses> costs;
  std::array<Counters, kPasses> counters;
  uint64_t wrong_rows = 0;
  uint64_t cache_slots = 0;
};

// One entry a library. Fails when a store cannot be opened or a shard not attached.
Result<std::vector<Played>> play(const std::vector<NamedLibrary>& libraries,
                                 const trace::Trace& trace, const PlayOptions& options);

}  // namespace row_store::bench

#endif  // ROW_STORE_BENCH_REPLAY_PLAYER_H
