// The hit rate of whole lookups on real text against SIEVE on a list, which takes one id after the
// other: probing by blocks, filling later, dedup and helpers must not cost hits. Without helpers
// (DSV41_IO_THREADS=1) the hits are those of a list model that keeps the lookup's order.
//
// Lookups run on a simulated drive that answers at once, so ids are those of the full-size table.
// With ROW_STORE_TRACES=FOLDER the traces decode-b4, prefill-2048 and mixed-b4 (.egtrace) of that
// folder are played instead of those made of the committed text, and the rates are printed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/options.h"
#include "bench/simulated_table.h"
#include "cache/sieve_model.h"
#include "support/catch.h"
#include "trace/trace_file.h"
#include "trace/trace_maker.h"

namespace {

using row_store::BatchCounts;
using row_store::DriveSettings;
using row_store::SimulatedTable;
using row_store::trace::Call;
using row_store::trace::Mode;
using row_store::trace::Trace;

constexpr unsigned kWays = 12;
constexpr double kPoints = 0.05;
constexpr double kSame = 0.002;  // what is left to the time at which a read comes back
constexpr uint64_t kSlots[] = {65'536, 262'144, 1'048'576};

// Calls body(ids) for each call of the trace.
template <typename Body>
void for_each_call(const Trace& trace, Body body) {
  std::vector<int64_t> ids;
  uint64_t token = 0;
  for (const Call& call : trace.calls) {
    ids.resize(call.ids());
    trace.expand(token, call.tokens, ids.data());
    token += call.tokens;
    body(ids);
  }
}

double percent(uint64_t hits, uint64_t rows) {
  return 100 * static_cast<double>(hits) / static_cast<double>(rows);
}

// SIEVE on a list, in the cache's sets: their hash is no part of the question.
class Model {
 public:
  explicit Model(uint64_t sets) {
    for (uint64_t i = 0; i < sets; ++i) sets_.emplace_back(kWays);
  }
  bool holds(uint64_t id) { return set_of(id).find(id) != nullptr; }
  // Whether it is there; it was seen then.
  bool see(uint64_t id) {
    SieveEntry* entry = set_of(id).find(id);
    return entry != nullptr && (entry->seen = true);
  }
  void insert(uint64_t id) { set_of(id).insert(id); }

 private:
  SieveSet& set_of(uint64_t id) {
    return sets_[static_cast<uint64_t>(
        static_cast<row_store::Uint128>(row_store::mix_id(id)) * sets_.size() >> 64)];
  }
  std::deque<SieveSet> sets_;
};

// One id after the other, whatever call it belongs to.
uint64_t plain_hits(const Trace& trace, uint64_t sets) {
  Model model(sets);
  uint64_t hits = 0;
  for_each_call(trace, [&](const std::vector<int64_t>& ids) {
    for (const int64_t id : ids) {
      const bool hit = model.see(static_cast<uint64_t>(id));
      if (!hit) model.insert(static_cast<uint64_t>(id));
      hits += hit;
    }
  });
  return hits;
}

// In the order of a lookup without helpers: a block is probed before its misses take places, and an
// id that missed is not missed again by the same call, even when the call's own rows drove it out.
// Both give hits that one id after the other would not have; a hit that a miss of its own block
// drives out before it is copied is the one that is lost.
uint64_t planned_hits(const Trace& trace, uint64_t sets) {
  Model model(sets);
  uint64_t hits = 0;
  for_each_call(trace, [&](const std::vector<int64_t>& ids) {
    std::unordered_set<uint64_t> missed;
    const auto add = [&](uint64_t id) {
      if (missed.insert(id).second) {
        model.insert(id);
      } else {
        model.see(id);
        ++hits;
      }
    };
    for (size_t begin = 0; begin < ids.size(); begin += row_store::kBlockRows) {
      const size_t end = std::min<size_t>(begin + row_store::kBlockRows, ids.size());
      std::vector<uint64_t> found, absent;
      for (size_t i = begin; i < end; ++i) {
        const auto id = static_cast<uint64_t>(ids[i]);
        // A row of this call is found by the call; the probe finds it, too, once it has come back.
        const bool there = !missed.contains(id) && model.see(id);
        (there ? found : absent).push_back(id);
      }
      for (const uint64_t id : absent) add(id);
      for (const uint64_t id : found) {
        if (model.holds(id)) {
          ++hits;
        } else {
          add(id);
        }
      }
    }
  });
  return hits;
}

struct Played {
  uint64_t hits = 0;
  uint64_t slots = 0;
};

Played play(const Trace& trace, uint64_t slots) {
  const DriveSettings at_once{0, 1, 0, 1, 0};
  auto table = SimulatedTable::create(trace.rule.rows, slots, at_once, kWays);
  REQUIRE(table.ok());
  auto context = table.value()->make_context(128, [](uint64_t, std::span<uint8_t>) {});
  REQUIRE(context.ok());
  std::vector<uint8_t> weights, scales;
  uint64_t hits = 0, rows = 0;
  for_each_call(trace, [&](const std::vector<int64_t>& ids) {
    weights.resize(ids.size() * row_store::kWeightBytes);
    scales.resize(ids.size() * row_store::kScaleBytes);
    const BatchCounts counts = table.value()->look_up(
        {ids.data(), weights.data(), scales.data(), ids.size()}, *context.value());
    hits += counts.hits;
    rows += counts.hits + counts.misses;
  });
  REQUIRE(rows == trace.ids());
  return {hits, table.value()->cache()->slots()};
}

Trace make(Mode mode, uint64_t seed) {
  const auto text =
      row_store::trace::load_documents(ROW_STORE_EXAMPLE_DATA "/two-dictionaries.egtok");
  REQUIRE(text.ok());
  auto made = row_store::trace::make_trace(text.value(),
                                           {.mode = mode, .seed = seed, .token_limit = 40'000});
  REQUIRE(made.ok());
  return made.value().trace;
}

Trace trace_of(const char* name, Mode mode, uint64_t seed) {
  const char* folder = std::getenv("ROW_STORE_TRACES");
  if (folder == nullptr) return make(mode, seed);
  auto trace = row_store::trace::load_trace(std::string(folder) + "/" + name + ".egtrace");
  REQUIRE(trace.ok());
  return trace.take();
}

void check_trace(const char* name, Mode mode, uint64_t seed) {
  const Trace trace = trace_of(name, mode, seed);
  for (const uint64_t slots : kSlots) {
    const Played played = play(trace, slots);
    const uint64_t sets = played.slots / kWays;
    const double rate = percent(played.hits, trace.ids());
    const double plain = percent(plain_hits(trace, sets), trace.ids());
    const uint64_t planned = planned_hits(trace, sets);
    INFO(name << " at " << played.slots << " slots: " << rate << " %, SIEVE " << plain);
    if (std::getenv("ROW_STORE_TRACES") != nullptr)
      std::printf("%-13s %8llu slots: %7.3f %%, SIEVE %7.3f, in the lookup's order %7.3f\n", name,
                  static_cast<unsigned long long>(played.slots), rate, plain,
                  percent(planned, trace.ids()));
    CHECK(plain > 10);
    CHECK(rate - plain >= -kPoints);
    // Steps of a decode do not drive out their own rows.
    if (mode == Mode::kDecode) CHECK(rate - plain <= kPoints);
    // Helpers probe their blocks before the caller's misses; how many depends on the scheduler.
    if (row_store::process_options().io_threads == 1)
      CHECK(std::abs(percent(played.hits, trace.ids()) - percent(planned, trace.ids())) <= kSame);
  }
}

}  // namespace

TEST_CASE("decode steps hit as often as with SIEVE on a list", "[hit_rate]") {
  check_trace("decode-b4", Mode::kDecode, 11);
}

TEST_CASE("prefill chunks hit as often as with SIEVE on a list", "[hit_rate]") {
  check_trace("prefill-2048", Mode::kPrefill, 12);
}

TEST_CASE("prompts and answers together hit as often as with SIEVE on a list", "[hit_rate]") {
  check_trace("mixed-b4", Mode::kMixed, 13);
}
