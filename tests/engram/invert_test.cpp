#include "engram/invert.h"

#include <numeric>
#include <string>
#include <vector>

#include "engram/token_batch.h"
#include "support/catch.h"

namespace row_store {
namespace {

using test::random_text;
using test::TokenBatch;

struct Checkpoint {
  explicit Checkpoint(const EngramConfig& config, InverterOptions options = {}) {
    Result<std::vector<Rule>> derived = derive_rules(config);
    REQUIRE(derived.ok());
    rules = derived.take();
    for (const Rule& rule : rules) {
      Result<std::unique_ptr<Inverter>> inverter = Inverter::create(rule, options);
      REQUIRE(inverter.ok());
      inverters.push_back(inverter.take());
    }
  }

  const Rule& rule() const { return rules.front(); }

  std::vector<Rule> rules;
  std::vector<std::unique_ptr<Inverter>> inverters;  // by source layer
};

struct Outcome {
  InvertCounts counts;
  std::vector<TokenState> states;
  std::vector<int64_t> ids;
};

Outcome translate(Inverter& inverter, const std::vector<int64_t>& ids, const RowHasher& target) {
  Outcome outcome;
  const size_t tokens = ids.size() / inverter.columns();
  outcome.states.resize(tokens);
  outcome.ids.resize(tokens * target.columns(), -1);
  outcome.counts =
      inverter.translate(ids.data(), tokens, target, outcome.ids.data(), outcome.states.data());
  return outcome;
}

Outcome first_to_last(Checkpoint& checkpoint, const TokenBatch& batch) {
  return translate(*checkpoint.inverters.front(), batch.ids.front(), batch.hashers.back());
}

EngramConfig small_config(uint32_t classes, uint32_t max_ngram, uint32_t heads, uint32_t base) {
  EngramConfig config;
  config.layer_ids = {1, 7, 14};
  config.max_ngram = max_ngram;
  config.heads = heads;
  config.bases = {base};
  config.classes = classes;
  config.pad_class = 2;
  return config;
}

bool all_inside(const std::vector<int64_t>& ids, const Rule& rule) {
  return std::all_of(ids.begin(), ids.end(),
                     [&](int64_t id) { return id >= 0 && static_cast<uint64_t>(id) < rule.rows; });
}

TEST_CASE("a million random tokens in runs of 2 to 9 come out exactly, without a search") {
  Checkpoint checkpoint(published_engram_config());
  TokenBatch batch(checkpoint.rules);
  std::mt19937_64 random(1);
  size_t tokens = 0;
  while (tokens < 1'000'000) {
    batch.clear();
    while (batch.tokens() < 10'000) {
      const size_t count = 2 + random() % 8;
      const size_t first = random() % 8;
      batch.append_run(random_text(random, checkpoint.rule().classes, first + count), first, count);
    }
    const Outcome outcome = first_to_last(checkpoint, batch);
    REQUIRE(outcome.ids == batch.ids[1]);
    REQUIRE(outcome.counts.known == batch.tokens());
    REQUIRE(outcome.counts.searches == 0);
    tokens += batch.tokens();
  }
}

TEST_CASE("each layer's rows give every other layer's") {
  Checkpoint checkpoint(small_config(99'092, 4, 8, 16'000'000));
  TokenBatch batch(checkpoint.rules);
  std::mt19937_64 random(2);
  batch.append_run(random_text(random, checkpoint.rule().classes, 500), 0, 500);
  for (size_t from = 0; from < 3; ++from) {
    for (size_t to = 0; to < 3; ++to) {
      CHECK(translate(*checkpoint.inverters[from], batch.ids[from], batch.hashers[to]).ids ==
            batch.ids[to]);
    }
  }
}

TEST_CASE("classes come out as they went in") {
  Checkpoint checkpoint(published_engram_config());
  TokenBatch batch(checkpoint.rules);
  std::mt19937_64 random(3);
  batch.append_run(random_text(random, checkpoint.rule().classes, 100), 0, 100);
  batch.append_idle();
  batch.append_run(random_text(random, checkpoint.rule().classes, 100), 50, 50);
  std::vector<uint32_t> classes(batch.classes.size());
  std::vector<TokenState> states(batch.tokens());
  checkpoint.inverters[0]->invert(batch.ids[0].data(), batch.tokens(), classes.data(),
                                  states.data());
  CHECK(classes == batch.classes);
}

TEST_CASE("a lone token is found by one search, exactly") {
  Checkpoint checkpoint(published_engram_config());
  TokenBatch batch(checkpoint.rules);
  std::mt19937_64 random(4);
  size_t searches = 0;
  for (int i = 0; i < 200; ++i) {
    batch.clear();
    batch.append_run(random_text(random, checkpoint.rule().classes, 9), 8, 1);
    const Outcome outcome = first_to_last(checkpoint, batch);
    REQUIRE(outcome.ids == batch.ids[1]);
    searches += outcome.counts.searches;
  }
  CHECK(searches == 200);
}

TEST_CASE("a request decoded token by token is searched for once") {
  Checkpoint checkpoint(published_engram_config());
  TokenBatch batch(checkpoint.rules);
  std::mt19937_64 random(5);
  std::vector<std::vector<uint32_t>> texts;
  for (int request = 0; request < 16; ++request) {
    texts.push_back(random_text(random, checkpoint.rule().classes, 64));
  }
  for (size_t place = 10; place < 64; ++place) {
    batch.clear();
    for (const std::vector<uint32_t>& text : texts) batch.append_run(text, place, 1);
    const Outcome outcome = first_to_last(checkpoint, batch);
    REQUIRE(outcome.ids == batch.ids[1]);
    CHECK(outcome.counts.searches == (place == 10 ? 16 : 0));
  }
}

TEST_CASE("the first tokens of a sequence and those after an image need no search") {
  Checkpoint checkpoint(published_engram_config());
  TokenBatch batch(checkpoint.rules);
  std::mt19937_64 random(6);
  const uint32_t pad = checkpoint.rule().pad_class;
  for (int i = 0; i < 100; ++i) {
    const std::vector<uint32_t> text = random_text(random, checkpoint.rule().classes, 3);
    batch.append_run(text, 0, 1 + static_cast<size_t>(i) % 3);
    batch.append({pad, pad, pad, pad});  // an image token
  }
  const Outcome outcome = first_to_last(checkpoint, batch);
  CHECK(outcome.ids == batch.ids[1]);
  CHECK(outcome.counts.known == batch.tokens());
  CHECK(outcome.counts.searches == 0);
}

TEST_CASE("places without tokens stay apart, and do not disturb their neighbours") {
  Checkpoint checkpoint(published_engram_config());
  TokenBatch batch(checkpoint.rules);
  std::mt19937_64 random(7);
  for (int i = 0; i < 50; ++i) {
    batch.append_run(random_text(random, checkpoint.rule().classes, 20), 14, 6);
    batch.append_idle();
    batch.append_idle();
  }
  const Outcome outcome = first_to_last(checkpoint, batch);
  CHECK(outcome.ids == batch.ids[1]);
  CHECK(outcome.counts.known == 300);
  CHECK(outcome.counts.idle == 100);
  CHECK(outcome.states[5] == TokenState::kKnown);
  CHECK(outcome.states[6] == TokenState::kIdle);
}

TEST_CASE("an empty batch is counted as nothing") {
  Checkpoint checkpoint(published_engram_config());
  const Outcome outcome = translate(*checkpoint.inverters[0], {}, RowHasher(checkpoint.rules[1]));
  CHECK(outcome.counts.known + outcome.counts.idle + outcome.counts.unknown == 0);
}

TEST_CASE("columns in another order are recognised, also when the order changes") {
  Checkpoint checkpoint(published_engram_config());
  TokenBatch batch(checkpoint.rules);
  std::mt19937_64 random(8);
  batch.append_run(random_text(random, checkpoint.rule().classes, 400), 0, 400);
  std::vector<size_t> order(24);
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<int64_t> shuffled = batch.ids[0];
  for (size_t token = 0; token < 400; ++token) {
    if (token % 100 == 0) std::shuffle(order.begin(), order.end(), random);
    for (size_t i = 0; i < 24; ++i) shuffled[token * 24 + i] = batch.ids[0][token * 24 + order[i]];
  }
  CHECK(translate(*checkpoint.inverters[0], shuffled, batch.hashers[1]).ids == batch.ids[1]);
}

TEST_CASE("one wrong id makes its token unknown and no other") {
  Checkpoint checkpoint(published_engram_config());
  TokenBatch batch(checkpoint.rules);
  std::mt19937_64 random(9);
  batch.append_run(random_text(random, checkpoint.rule().classes, 300), 0, 300);
  const std::vector<int64_t> truth = batch.ids[0];
  for (const int64_t wrong : {int64_t{-1}, INT64_MIN, INT64_MAX, int64_t{384'006'168}}) {
    for (size_t column = 0; column < 24; ++column) {
      batch.ids[0] = truth;
      batch.ids[0][150 * 24 + column] = wrong;
      const Outcome outcome = first_to_last(checkpoint, batch);
      REQUIRE(outcome.counts.unknown == 1);
      REQUIRE(outcome.states[150] == TokenState::kUnknown);
      REQUIRE(std::all_of(&outcome.ids[150 * 24], &outcome.ids[151 * 24],
                          [](int64_t id) { return id == 0; }));
      REQUIRE(std::equal(&outcome.ids[151 * 24], &*outcome.ids.end(), &batch.ids[1][151 * 24]));
    }
  }
  for (size_t column = 0; column < 24; ++column) {  // another row of the same head
    batch.ids[0] = truth;
    int64_t& id = batch.ids[0][150 * 24 + column];
    id += static_cast<uint64_t>(id) == checkpoint.rule().offsets[column] ? 1 : -1;
    REQUIRE(first_to_last(checkpoint, batch).states[150] == TokenState::kUnknown);
  }
}

TEST_CASE("random ids are unknown and never lead outside the target's table") {
  for (const EngramConfig& config :
       {published_engram_config(), small_config(500, 4, 2, 1000), small_config(60, 2, 3, 2000)}) {
    Checkpoint checkpoint(config);
    std::mt19937_64 random(10);
    const uint32_t columns = checkpoint.rule().columns();
    std::vector<int64_t> ids(size_t{500} * columns);
    const RowHasher target(checkpoint.rules.back());
    for (int kind = 0; kind < 4; ++kind) {
      for (size_t i = 0; i < ids.size(); ++i) {
        const size_t column = i % columns;
        const uint64_t value = random();
        ids[i] = kind == 0   ? static_cast<int64_t>(value)
                 : kind == 1 ? static_cast<int64_t>(value % checkpoint.rule().rows)
                 : kind == 2 ? static_cast<int64_t>(checkpoint.rule().offsets[column] +
                                                    value % checkpoint.rule().primes[column])
                             : static_cast<int64_t>(value % 3) - 1;
      }
      const Outcome outcome = translate(*checkpoint.inverters[0], ids, target);
      CHECK(all_inside(outcome.ids, checkpoint.rules.back()));
      CHECK(outcome.counts.known <= 2);
      CHECK(outcome.counts.known + outcome.counts.idle + outcome.counts.unknown == 500);
    }
  }
}

TEST_CASE("hashes of classes outside the vocabulary are unknown") {
  Checkpoint checkpoint(published_engram_config());
  TokenBatch batch(checkpoint.rules);
  for (size_t place = 0; place < 4; ++place) {
    std::vector<uint32_t> lookback = {11, 12, 13, 14};
    lookback[place] = 99'092;
    batch.append(lookback);
  }
  CHECK(first_to_last(checkpoint, batch).counts.unknown == 4);
}

TEST_CASE("the work on a batch of lone tokens ends with its budget") {
  InverterOptions options;
  options.trials_max = 99'092 * 3 + 1;
  Checkpoint checkpoint(published_engram_config(), options);
  TokenBatch batch(checkpoint.rules);
  std::mt19937_64 random(11);
  for (int i = 0; i < 10; ++i) {
    batch.append_run(random_text(random, checkpoint.rule().classes, 9), 8, 1);
  }
  const Outcome outcome = first_to_last(checkpoint, batch);
  CHECK(outcome.counts.known == 3);
  CHECK(outcome.counts.searches == 3);
  CHECK(outcome.counts.unknown == 7);
  // What was found is remembered, so the next batch of the same tokens gets three further.
  CHECK(first_to_last(checkpoint, batch).counts.known == 6);
}

TEST_CASE("other vocabularies, orders, heads and bases invert too") {
  const EngramConfig configs[] = {
      small_config(99'092, 2, 8, 16'000'000), small_config(99'092, 3, 8, 646'400),
      small_config(99'092, 8, 8, 160'000),    small_config(500, 4, 2, 1000),
      small_config(64, 3, 2, 1000),           small_config(129'280, 3, 3, 3'000'000),
      small_config(50'000, 4, 64, 2),         small_config(1u << 24, 4, 8, 1u << 31)};
  for (const EngramConfig& config : configs) {
    InverterOptions options;
    options.trials_max = UINT64_MAX;
    Checkpoint checkpoint(config, options);
    TokenBatch batch(checkpoint.rules);
    std::mt19937_64 random(12);
    batch.append_run(random_text(random, config.classes, 60), 0, 60);
    batch.append_idle();
    batch.append_run(random_text(random, config.classes, 30), 24, 6);
    batch.append_run(random_text(random, config.classes, 9), 8, 1);
    const Outcome outcome = first_to_last(checkpoint, batch);
    INFO("classes " << config.classes << " orders " << config.max_ngram - 1 << " heads "
                    << config.heads << " base " << config.bases[0]);
    CHECK(outcome.counts.known == 67);
    CHECK(outcome.counts.idle == 1);
    CHECK(outcome.ids == batch.ids.back());
  }
}

TEST_CASE("a table that holds less than its classes is refused") {
  const Result<std::vector<Rule>> rules = derive_rules(small_config(99'092, 4, 1, 1000));
  REQUIRE(rules.ok());
  const auto inverter = Inverter::create(rules.value()[0]);
  REQUIRE(!inverter.ok());
  CHECK(inverter.status().code() == ErrorCode::kUnsupported);
}

TEST_CASE("the search gives the same with and without vectors, for vocabularies of any size") {
  std::mt19937_64 random(13);
  const std::vector<Rule> rules = derive_rules(published_engram_config()).take();
  for (const uint32_t classes : {2U, 3U, 63U, 64U, 65U, 1000U, 99'092U}) {
    const uint64_t newest_multiplier = rules[0].multipliers[0];
    const uint64_t before_multiplier = rules[0].multipliers[1];
    const PairSearch fast(newest_multiplier, before_multiplier, classes);
    const PairSearch plain(newest_multiplier, before_multiplier, classes, false);
    for (int i = 0; i < 100; ++i) {
      const auto newest = static_cast<uint32_t>(i == 0 ? classes - 1 : random() % classes);
      const auto before = static_cast<uint32_t>(i <= 1 ? classes - 1 : random() % classes);
      const uint64_t hash = (newest * newest_multiplier) ^ (before * before_multiplier);
      CHECK(fast.before(hash) == before);
      CHECK(plain.before(hash) == before);
      CHECK(fast.newest(hash, before) == newest);
      CHECK(fast.before(hash ^ (uint64_t{1} << 62)) == plain.before(hash ^ (uint64_t{1} << 62)));
    }
  }
}

}  // namespace
}  // namespace row_store
