// The row cache against a list model: budgets, exact victims, and rows that are never torn.
#include "cache/row_cache.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "cache/sieve_model.h"
#include "support/catch.h"

namespace {

using row_store::CacheConfig;
using row_store::kNoSlot;
using row_store::kRowBytes;
using row_store::RowCache;
using row_store::Slot;

constexpr uint64_t kNarrowest = (uint64_t{1} << 32) - 1;  // fewer rows have 32-bit tags
constexpr unsigned kWays[] = {1, 2, 4, 12, 13, 16};
constexpr uint64_t kTableRows[] = {5000, kNarrowest - 1, kNarrowest, uint64_t{1} << 40};

uint64_t set_bytes(unsigned ways, uint64_t table_rows) {
  const uint64_t line = table_rows >= kNarrowest ? 192 : (ways <= 12 ? 64 : 128);
  return line + ways * kRowBytes;
}

std::unique_ptr<RowCache> make_cache(unsigned ways, uint64_t table_rows, uint64_t sets) {
  auto cache = RowCache::create({table_rows, sets * set_bytes(ways, table_rows), ways}, nullptr);
  REQUIRE(cache.ok());
  return cache.take();
}

template <typename Body>
void for_each_geometry(Body body) {
  for (const unsigned ways : kWays) {
    for (const uint64_t table_rows : kTableRows) {
      INFO(ways << " ways, " << table_rows << " rows");
      body(ways, table_rows);
    }
  }
}

// A row's words all tell its id, so that any mixture of two rows is seen.
struct Row {
  explicit Row(uint64_t id) {
    for (uint64_t word = 0; word < kRowBytes / 8; ++word) {
      const uint64_t value = (id + 1) * 0x9E3779B97F4A7C15 + word;
      std::memcpy(bytes + 8 * word, &value, 8);
    }
  }
  const uint8_t* scales() const { return bytes + 256; }
  uint8_t bytes[kRowBytes];
};

bool is_row(uint64_t id, const uint8_t* weights, const uint8_t* scales) {
  const Row row(id);
  return std::memcmp(weights, row.bytes, 256) == 0 && std::memcmp(scales, row.scales(), 8) == 0;
}

// A cache and its model side by side.
class Pair {
 public:
  Pair(unsigned ways, uint64_t table_rows, uint64_t sets, uint64_t seed)
      : cache_(make_cache(ways, table_rows, sets)), ways_(ways), random_(seed) {
    for (uint64_t i = 0; i < sets; ++i) sets_.emplace_back(ways);
    // The table's last rows: the tags that are nearest to wrapping.
    span_ = std::min<uint64_t>(table_rows, 3 * sets * ways + 5);
    first_ = table_rows - span_;
  }
  uint64_t any_id() {
    // Skewed, so that some rows are seen again and again.
    const uint64_t at = random_() % span_;
    return first_ + (random_() % 2 == 0 ? at : at * at / span_ * at / span_);
  }
  SieveSet& set_of(uint64_t id) {
    return sets_[static_cast<uint64_t>(
        static_cast<row_store::Uint128>(row_store::mix_id(id)) * sets_.size() >> 64)];
  }

  // Every operation compares before it returns.
  void look(uint32_t count) {
    std::vector<int64_t> ids(count);
    for (int64_t& id : ids) id = static_cast<int64_t>(any_id());
    std::vector<Slot> slots(count);
    std::vector<uint32_t> places(count);
    for (uint32_t i = 0; i < count; ++i) places[i] = count - 1 - i;
    cache_->probe_block(ids.data(), count, slots.data());
    uint32_t expected = 0;
    for (uint32_t i = 0; i < count; ++i) {
      SieveEntry* entry = set_of(static_cast<uint64_t>(ids[i])).find(static_cast<uint64_t>(ids[i]));
      const bool there = entry != nullptr && entry->filled;
      REQUIRE((slots[i] != kNoSlot) == there);
      if (there) entry->seen = true;
      expected += there;
    }
    std::vector<uint8_t> weights(count * 256, 0xEE), scales(count * 8, 0xEE);
    REQUIRE(cache_->copy_block(ids.data(), places.data(), count, slots.data(), weights.data(),
                               scales.data()) == expected);
    const std::vector<uint8_t> untouched(256, 0xEE);
    for (uint32_t i = 0; i < count; ++i) {
      const uint8_t* row = weights.data() + places[i] * 256;
      if (slots[i] != kNoSlot)
        REQUIRE(is_row(static_cast<uint64_t>(ids[i]), row, scales.data() + places[i] * 8));
      else
        REQUIRE(std::memcmp(row, untouched.data(), 256) == 0);
    }
    hits_ += expected;
  }
  void reserve() {
    const uint64_t id = any_id();
    SieveSet& set = set_of(id);
    bool evicted = true;
    const Slot slot = cache_->reserve(id, &evicted);
    if (set.find(id) != nullptr) {
      REQUIRE(slot == kNoSlot);
      REQUIRE_FALSE(evicted);
      return;
    }
    REQUIRE(slot != kNoSlot);
    REQUIRE((slot & 15) < ways_);
    const auto victim = set.insert(id);
    REQUIRE(evicted == victim.has_value());
    evictions_ += evicted;
    set.find(id)->slot = slot;
    for (const SieveEntry& entry : set.entries())
      REQUIRE((entry.id == id || entry.slot != slot));  // no two rows share a place
    reserved_.push_back({id, slot});
  }
  void fill() {
    if (reserved_.empty()) return;
    const size_t at = random_() % reserved_.size();
    const auto [id, slot] = reserved_[at];
    reserved_.erase(reserved_.begin() + static_cast<ptrdiff_t>(at));
    const Row row(id);
    cache_->fill(slot, id, row.bytes, row.scales());
    SieveEntry* entry = set_of(id).find(id);
    if (entry != nullptr && entry->slot == slot) entry->filled = true;
  }
  void touch() {
    if (reserved_.empty()) return;
    const auto [id, slot] = reserved_[random_() % reserved_.size()];
    cache_->touch(slot, id);
    SieveEntry* entry = set_of(id).find(id);
    if (entry != nullptr && entry->slot == slot) entry->seen = true;
  }
  uint64_t random() { return random_(); }
  uint64_t hits() const { return hits_; }
  uint64_t evictions() const { return evictions_; }

 private:
  std::unique_ptr<RowCache> cache_;
  unsigned ways_;
  std::mt19937_64 random_;
  std::deque<SieveSet> sets_;
  std::vector<std::pair<uint64_t, Slot>> reserved_;
  uint64_t span_ = 0, first_ = 0, hits_ = 0, evictions_ = 0;
};

// Memory that says of itself that it is write-combined: the cache then takes its other copy paths.
class CombinedSlab final : public row_store::Slab {
 public:
  explicit CombinedSlab(row_store::MemoryMap map) : map_(std::move(map)) {}
  uint8_t* data() const override { return map_.data(); }
  uint64_t bytes() const override { return map_.bytes(); }
  bool write_combined() const override { return true; }
  const char* backing() const override { return "combined"; }
  void abandon() override { map_.abandon(); }

 private:
  row_store::MemoryMap map_;
};

std::unique_ptr<CombinedSlab> combined_slab(uint64_t bytes) {
  auto map = row_store::MemoryMap::create(bytes);
  REQUIRE(map.ok());
  return std::make_unique<CombinedSlab>(map.take());
}

}  // namespace

TEST_CASE("a budget of nothing or of one byte less than a set gives no cache", "[cache]") {
  for_each_geometry([](unsigned ways, uint64_t table_rows) {
    const uint64_t one_set = set_bytes(ways, table_rows);
    CHECK(RowCache::set_count({table_rows, 0, ways}, 0) == 0);
    CHECK(RowCache::set_count({table_rows, one_set - 1, ways}, 0) == 0);
    CHECK(RowCache::set_count({table_rows, one_set, ways}, 0) == 1);
    CHECK(RowCache::set_count({table_rows, 2 * one_set - 1, ways}, 0) == 1);
  });
}

TEST_CASE("slots and index never exceed the budget and leave less than a set of it", "[cache]") {
  std::mt19937_64 random(11);
  for_each_geometry([&](unsigned ways, uint64_t table_rows) {
    for (int i = 0; i < 40; ++i) {
      const uint64_t one_set = set_bytes(ways, table_rows);
      const uint64_t budget = one_set + random() % (64 << 20);
      auto cache = RowCache::create({table_rows, budget, ways}, nullptr);
      REQUIRE(cache.ok());
      CHECK(cache.value()->reserved_bytes() <= budget);
      CHECK(cache.value()->reserved_bytes() + one_set > budget);
      CHECK(cache.value()->slots() % ways == 0);
      CHECK(cache.value()->ways() == ways);
    }
  });
}

TEST_CASE("a slab of its own bounds the slots and the budget bounds the index", "[cache]") {
  for (const uint64_t slab : {uint64_t{16} << 20, uint64_t{12} * 264, uint64_t{12} * 264 - 1}) {
    const uint64_t sets = RowCache::set_count({5000, uint64_t{1} << 30, 12}, slab);
    CHECK(sets == slab / (12 * 264));
    CHECK(RowCache::set_count({5000, 640, 12}, slab) == std::min<uint64_t>(sets, 10));
  }
}

TEST_CASE("a budget beyond all memory is an error and no wrapped size", "[cache]") {
  for_each_geometry([](unsigned ways, uint64_t table_rows) {
    for (const uint64_t budget : {uint64_t{1} << 63, ~uint64_t{0}}) {
      const auto cache = RowCache::create({table_rows, budget, ways}, nullptr);
      REQUIRE_FALSE(cache.ok());
      CHECK(cache.status().code() == row_store::ErrorCode::kMemory);
    }
  });
}

TEST_CASE("any order of probes, copies, reservations, fills and touches agrees with the model",
          "[cache][model]") {
  for_each_geometry([](unsigned ways, uint64_t table_rows) {
    for (const uint64_t sets : {1, 3, 40}) {
      const uint64_t seed = ways * 1000 + sets;
      INFO("seed " << seed);
      Pair pair(ways, table_rows, sets, seed);
      for (int step = 0; step < 6000; ++step) {
        switch (pair.random() % 8) {
          case 0:
            pair.look(static_cast<uint32_t>(1 + pair.random() % 40));
            break;
          case 1:
            pair.touch();
            break;
          case 2:
          case 3:
          case 4:
            pair.reserve();
            break;
          default:
            pair.fill();
        }
      }
      CHECK(pair.hits() > 0);
      CHECK(pair.evictions() > 0);
    }
  });
}

TEST_CASE("a random trace hits and evicts exactly as SIEVE on a list does", "[cache][model]") {
  for_each_geometry([](unsigned ways, uint64_t table_rows) {
    constexpr uint64_t kSets = 8;
    const auto cache = make_cache(ways, table_rows, kSets);
    std::deque<SieveSet> model;
    for (uint64_t i = 0; i < kSets; ++i) model.emplace_back(ways);
    std::mt19937_64 random(ways);
    uint64_t hits = 0, model_hits = 0;
    for (int step = 0; step < 40000; ++step) {
      const uint64_t span = std::min<uint64_t>(table_rows, 4 * kSets * ways + 9);
      const uint64_t draw = random() % span;
      const uint64_t id = table_rows - 1 - draw * (random() % span) / span;
      const auto signed_id = static_cast<int64_t>(id);
      Slot slot = kNoSlot;
      cache->probe_block(&signed_id, 1, &slot);
      const auto set = static_cast<uint64_t>(
          static_cast<row_store::Uint128>(row_store::mix_id(id)) * kSets >> 64);
      SieveEntry* entry = model[set].find(id);
      REQUIRE((slot != kNoSlot) == (entry != nullptr));
      hits += slot != kNoSlot;
      if (entry != nullptr) {
        ++model_hits;
        entry->seen = true;
        continue;
      }
      bool evicted = false;
      slot = cache->reserve(id, &evicted);
      REQUIRE(evicted == model[set].insert(id).has_value());
      const Row row(id);
      cache->fill(slot, id, row.bytes, row.scales());
    }
    CHECK(hits == model_hits);
    CHECK(hits > 1000);
  });
}

namespace {

// Threads that look, reserve and fill in a cache far too small for them.
// Returns how often a row went between probe and copy, the race that copy's second look is for.
uint64_t fight(RowCache& cache, uint64_t table_rows, uint64_t span, int milliseconds) {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> copied{0}, lost{0}, torn{0};
  const auto body = [&](uint64_t seed) {
    constexpr uint32_t kCount = 48;
    std::mt19937_64 random(seed);
    std::vector<uint8_t> weights(kCount * 256), scales(kCount * 8);
    int64_t ids[kCount];
    uint32_t places[kCount];
    Slot slots[kCount], probed[kCount];
    while (!stop.load(std::memory_order_relaxed)) {
      for (uint32_t i = 0; i < kCount; ++i) {
        ids[i] = static_cast<int64_t>(table_rows - 1 - random() % span);
        places[i] = i;
      }
      cache.probe_block(ids, kCount, slots);
      std::copy(slots, slots + kCount, probed);
      if (random() % 4 == 0) std::this_thread::yield();
      copied += cache.copy_block(ids, places, kCount, slots, weights.data(), scales.data());
      for (uint32_t i = 0; i < kCount; ++i) {
        const auto id = static_cast<uint64_t>(ids[i]);
        if (slots[i] != kNoSlot) {
          torn += !is_row(id, weights.data() + i * 256, scales.data() + i * 8);
          continue;
        }
        lost += probed[i] != kNoSlot;
        bool evicted = false;
        const Slot slot = cache.reserve(id, &evicted);
        if (slot == kNoSlot) continue;
        if (random() % 8 == 0) std::this_thread::yield();
        const Row row(id);
        cache.touch(slot, id);
        cache.fill(slot, id, row.bytes, row.scales());
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) threads.emplace_back(body, i);
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(torn == 0);
  CHECK(copied > 0);
  return lost;
}

}  // namespace

TEST_CASE("readers beside writers never see a torn row", "[cache][threads]") {
  uint64_t lost = 0;
  for (const unsigned ways : {1u, 2u, 12u, 16u}) {
    for (const uint64_t table_rows : {uint64_t{5000}, uint64_t{1} << 40}) {
      INFO(ways << " ways, " << table_rows << " rows");
      const auto cache = make_cache(ways, table_rows, 2);
      lost += fight(*cache, table_rows, 3 * ways, 300);
    }
  }
  CHECK(lost > 0);
}

TEST_CASE("readers beside writers never see a torn row of a write-combined slab",
          "[cache][threads]") {
  uint64_t lost = 0;
  for (const unsigned ways : {1u, 12u, 16u}) {
    INFO(ways << " ways");
    auto cache = RowCache::create({5000, 2 * set_bytes(ways, 5000), ways},
                                  combined_slab(2 * ways * kRowBytes));
    REQUIRE(cache.ok());
    REQUIRE(cache.value()->write_combined());
    lost += fight(*cache.value(), 5000, 3 * ways, 300);
  }
  CHECK(lost > 0);
}
