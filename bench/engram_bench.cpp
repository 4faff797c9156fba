// What does a token cost, from its rows in layer 1 to its rows in layer 14?
//
// run/N: runs of N tokens in batches of 24 (the load of a decode step of 4 requests in blocks of
// 6), contexts new each time. lone: one token out of context, so that all classes are tried; with
// and without vectors. prefill: a chunk of 2,048 tokens. hash: the way forth alone, classes to
// rows. Each line gives the time a token ("s/token"); compare run/N with hash for what the
// inversion adds.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "engram/invert.h"
#include "engram/rule.h"

namespace row_store {
namespace {

constexpr size_t kColumns = 24;
constexpr size_t kNgram = 4;

struct Load {
  // Enough different tokens that no context comes twice.
  Load(size_t tokens, size_t run) {
    std::mt19937_64 random(1);
    const RowHasher source(rules[0]);
    ids.resize(tokens * kColumns);
    lookbacks.resize(tokens * kNgram);
    for (size_t token = 0; token < tokens; ++token) {
      uint32_t* lookback = &lookbacks[token * kNgram];
      for (size_t k = 0; k < kNgram; ++k) {
        const bool goes_on = token % run != 0 && k != 0;
        lookback[k] =
            goes_on ? (lookback - kNgram)[k - 1] : static_cast<uint32_t>(random() % 99'092);
      }
      source.row_ids(lookback, &ids[token * kColumns]);
    }
  }

  std::vector<Rule> rules = derive_rules(published_engram_config()).take();
  std::vector<int64_t> ids;
  std::vector<uint32_t> lookbacks;
};

void per_token(benchmark::State& state, size_t tokens) {
  state.counters["s/token"] = benchmark::Counter(
      static_cast<double>(tokens),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void translate(benchmark::State& state, size_t batch, size_t run) {
  constexpr size_t kBatches = 512;
  const Load load(batch * kBatches, run);
  const auto inverter = Inverter::create(load.rules[0]).take();
  const RowHasher target(load.rules[1]);
  std::vector<int64_t> out(batch * kColumns);
  std::vector<TokenState> states(batch);
  size_t next = 0;
  size_t searches = 0;
  for (auto _ : state) {
    const InvertCounts counts = inverter->translate(&load.ids[next * batch * kColumns], batch,
                                                    target, out.data(), states.data());
    if (counts.known != batch) state.SkipWithError("a token was not found");
    searches += counts.searches;
    benchmark::DoNotOptimize(out.data());
    next = (next + 1) % kBatches;
  }
  state.counters["searches"] =
      benchmark::Counter(static_cast<double>(searches), benchmark::Counter::kAvgIterations);
  per_token(state, batch);
}

void run_of(benchmark::State& state) { translate(state, 24, static_cast<size_t>(state.range(0))); }
void prefill(benchmark::State& state) { translate(state, 2048, 2048); }

void lone(benchmark::State& state, bool use_vectors) {
  const Load load(4096, 1);
  const Rule& rule = load.rules[0];
  const PairSearch search(rule.multipliers[0], rule.multipliers[1], rule.classes, use_vectors);
  size_t next = 0;
  for (auto _ : state) {
    const uint32_t* lookback = &load.lookbacks[next * kNgram];
    const uint64_t hash = (lookback[0] * rule.multipliers[0]) ^ (lookback[1] * rule.multipliers[1]);
    const auto found = search.before(hash);
    if (found != lookback[1]) state.SkipWithError("the search found another class");
    next = (next + 1) % 4096;
  }
  per_token(state, 1);
}

// The most that one search can cost: a hash that no pair of classes has.
void lone_in_vain(benchmark::State& state, bool use_vectors) {
  const Load load(1, 1);
  const Rule& rule = load.rules[0];
  const PairSearch search(rule.multipliers[0], rule.multipliers[1], rule.classes, use_vectors);
  const uint64_t hash = load.lookbacks[0] * rule.multipliers[0] ^ (uint64_t{1} << 62) ^ 2;
  for (auto _ : state) {
    if (search.before(hash)) state.SkipWithError("the search found a class");
  }
  per_token(state, 1);
}

void hash(benchmark::State& state) {
  constexpr size_t kTokens = 24 * 512;
  const Load load(kTokens, 6);
  const RowHasher target(load.rules[1]);
  std::vector<int64_t> out(kColumns);
  size_t next = 0;
  for (auto _ : state) {
    target.row_ids(&load.lookbacks[next * kNgram], out.data());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
    next = (next + 1) % kTokens;
  }
  per_token(state, 1);
}

BENCHMARK(run_of)->Name("run")->Arg(6)->Arg(3)->Arg(2);
BENCHMARK(prefill);
BENCHMARK(hash);
BENCHMARK_CAPTURE(lone, vectors, true);
BENCHMARK_CAPTURE(lone, portable, false);
BENCHMARK_CAPTURE(lone_in_vain, vectors, true);
BENCHMARK_CAPTURE(lone_in_vain, portable, false);

}  // namespace
}  // namespace row_store

BENCHMARK_MAIN();
