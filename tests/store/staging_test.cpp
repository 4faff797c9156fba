// Where prefetched rows wait: which are found, which go, and that nobody sees half a row.
#include "store/staging.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "support/catch.h"

namespace {

using row_store::kBlockRows;
using row_store::RowCache;
using row_store::Staging;
using Found = Staging::Found;

constexpr uint64_t kWeights = row_store::kWeightBytes, kScales = row_store::kScaleBytes;

uint64_t word_of(int64_t id, uint64_t at) {
  return (static_cast<uint64_t>(id) + 1) * 0x9E3779B97F4A7C15 ^ at << 32;
}

void write_row(int64_t id, uint8_t* weights, uint8_t* scales) {
  for (uint64_t at = 0; at < kWeights; at += 8) {
    const uint64_t word = word_of(id, at);
    std::memcpy(weights + at, &word, 8);
  }
  const uint64_t word = word_of(id, kWeights);
  std::memcpy(scales, &word, 8);
}

bool is_row(int64_t id, const uint8_t* weights, const uint8_t* scales) {
  uint8_t row[kWeights + kScales];
  write_row(id, row, row + kWeights);
  return std::memcmp(row, weights, kWeights) == 0 &&
         std::memcmp(row + kWeights, scales, kScales) == 0;
}

std::vector<int64_t> ids_from(int64_t first, int64_t count) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) ids[static_cast<size_t>(i)] = first + i;
  return ids;
}

// What a lookup does with one block, places in the order of ids.
struct Lookup {
  std::vector<uint8_t> weights, scales;
  std::vector<Found> found;

  std::vector<Found> want(Staging& staging, const std::vector<int64_t>& ids) {
    weights.assign(ids.size() * kWeights, 0xC5);
    scales.assign(ids.size() * kScales, 0xC5);
    found.assign(ids.size(), Found::kNo);
    std::vector<uint32_t> places(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) places[i] = static_cast<uint32_t>(i);
    for (size_t at = 0; at < ids.size(); at += kBlockRows) {
      const auto count = static_cast<uint32_t>(std::min<size_t>(kBlockRows, ids.size() - at));
      staging.want(ids.data() + at, places.data() + at, count, weights.data(), scales.data(),
                   found.data() + at);
    }
    for (size_t i = 0; i < ids.size(); ++i)
      if (found[i] == Found::kCopied || found[i] == Found::kAgain) CHECK(right(ids[i], i));
    return found;
  }
  bool right(int64_t id, size_t place) const {
    return is_row(id, weights.data() + place * kWeights, scales.data() + place * kScales);
  }
};

class Fixture {
 public:
  Fixture() : staging_(Staging::create().take()) {}
  Staging& staging() { return *staging_; }

  // Begins rows and leaves them coming; the slots of those that were not here.
  std::vector<uint32_t> begin(uint32_t job, const std::vector<int64_t>& ids) {
    std::vector<uint32_t> slots(ids.size());
    const Staging::Begun begun = staging_->begin(staging_->lookups_begun(), job, ids.data(),
                                                 static_cast<uint32_t>(ids.size()), slots.data());
    CHECK_FALSE(begun.overtaken);
    slots.resize(begun.count);
    std::vector<uint32_t> fresh;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i] == Staging::kNone) continue;
      write_row(ids[i], staging_->weights() + slots[i] * kWeights,
                staging_->scales() + slots[i] * kScales);
      fresh.push_back(slots[i]);
    }
    return fresh;
  }
  // Rows that are ready; how many were not here before.
  size_t bring(uint32_t job, const std::vector<int64_t>& ids) {
    const std::vector<uint32_t> slots = begin(job, ids);
    staging_->arrived(slots.data(), static_cast<uint32_t>(slots.size()));
    return slots.size();
  }

 private:
  std::unique_ptr<Staging> staging_;
};

size_t count_of(const std::vector<Found>& found, Found kind) {
  return static_cast<size_t>(std::count(found.begin(), found.end(), kind));
}

bool is_cached(RowCache& cache, int64_t id) {
  uint32_t place = 0;
  row_store::Slot slot = row_store::kNoSlot;
  cache.probe_block(&id, 1, &slot);
  if (slot == row_store::kNoSlot) return false;
  uint8_t weights[kWeights], scales[kScales];
  return cache.copy_block(&id, &place, 1, &slot, weights, scales) == 1 &&
         is_row(id, weights, scales);
}

}  // namespace

TEST_CASE("the staging area's rows are bounded by 16.5 MiB", "[staging]") {
  CHECK(Staging::kRowsMax * (kWeights + kScales) == 33 * (uint64_t{1} << 19));
}

TEST_CASE("a staged row is given whole, and again until it is settled", "[staging]") {
  Fixture f;
  Lookup lookup;
  CHECK(f.staging().is_empty());
  CHECK(lookup.want(f.staging(), {7, 8}) == std::vector{Found::kNo, Found::kNo});
  CHECK(f.bring(1, {7, 8, 9}) == 3);
  CHECK_FALSE(f.staging().is_empty());
  CHECK(lookup.want(f.staging(), {9, 1, 7, 9}) ==
        std::vector{Found::kCopied, Found::kNo, Found::kCopied, Found::kAgain});
  CHECK(f.staging().taken() == 2);
  CHECK(lookup.want(f.staging(), {7}) == std::vector{Found::kAgain});
  CHECK(f.staging().settle(nullptr) == 0);
  CHECK(f.staging().taken() == 0);
  CHECK(lookup.want(f.staging(), {7, 8, 9}) == std::vector{Found::kNo, Found::kCopied, Found::kNo});
  f.staging().settle(nullptr);
  CHECK(f.staging().is_empty());
}

TEST_CASE("a row that is coming is awaited, and one whose read fails is the lookup's",
          "[staging]") {
  Fixture f;
  Lookup lookup;
  const std::vector<uint32_t> slots = f.begin(1, {70, 80});
  CHECK(lookup.want(f.staging(), {70, 80}) == std::vector{Found::kComing, Found::kComing});
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  Found first[2], second[2];
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      uint8_t weights[kWeights], scales[kScales];
      first[i] = f.staging().await(70, weights, scales);
      CHECK(is_row(70, weights, scales));
      ++done;
      second[i] = f.staging().await(80, weights, scales);
    });
  }
  f.staging().arrived(slots.data(), 1);
  while (done != 2) std::this_thread::yield();
  f.staging().failed(slots[1]);
  for (std::thread& thread : threads) thread.join();
  // One of the two was the first to take it.
  CHECK(((first[0] == Found::kCopied && first[1] == Found::kAgain) ||
         (first[1] == Found::kCopied && first[0] == Found::kAgain)));
  CHECK(second[0] == Found::kNo);
  CHECK(second[1] == Found::kNo);
}

TEST_CASE("a prefill chunk that does not fit pushes no decode step's row out", "[staging]") {
  Fixture f;
  Lookup lookup;
  const std::vector<int64_t> step = ids_from(1'000'000, 576);
  CHECK(f.bring(1, step) == 576);
  const auto chunk = ids_from(0, Staging::kRowsMax);
  std::vector<uint32_t> slots(chunk.size());
  const Staging::Begun begun = f.staging().begin(f.staging().lookups_begun(), 2, chunk.data(),
                                                 Staging::kRowsMax, slots.data());
  CHECK(begun.full);
  CHECK(begun.count == Staging::kRowsMax - 576);
  for (uint32_t i = 0; i < begun.count; ++i)
    write_row(chunk[i], f.staging().weights() + slots[i] * kWeights,
              f.staging().scales() + slots[i] * kScales);
  f.staging().arrived(slots.data(), begun.count);
  CHECK(f.bring(3, {-5}) == 0);  // full for others as well
  CHECK(count_of(lookup.want(f.staging(), step), Found::kCopied) == 576);
  const auto all = lookup.want(f.staging(), chunk);
  CHECK(count_of(all, Found::kCopied) == begun.count);
  f.staging().settle(nullptr);
  CHECK(f.staging().is_empty());
  CHECK(f.bring(4, chunk) == Staging::kRowsMax);
  CHECK(f.staging().retire(5) == Staging::kRowsMax);
  CHECK(f.staging().is_empty());
}

TEST_CASE("rows that nobody took go with their job, and those that a later job wants stay",
          "[staging]") {
  Fixture f;
  Lookup lookup;
  f.bring(10, {1, 2, 3, 4});
  CHECK(f.bring(11, {3, 5}) == 1);  // 3 is here already, and job 11's from now on
  lookup.want(f.staging(), {1});
  CHECK(f.staging().retire(10) == 0);
  CHECK(f.staging().retire(11) == 2);
  CHECK(lookup.want(f.staging(), {1, 2, 3, 4, 5}) ==
        std::vector{Found::kAgain, Found::kNo, Found::kCopied, Found::kNo, Found::kCopied});
  CHECK(f.staging().retire(12) == 0);  // all that is left was taken
  f.staging().settle(nullptr);
  CHECK(f.staging().is_empty());
  // Job numbers wrap.
  f.bring(UINT32_MAX, {6});
  f.bring(0, {7});
  CHECK(f.staging().retire(0) == 1);
  CHECK(f.staging().retire(1) == 1);
}

TEST_CASE("a row enters the cache once it was taken, not before", "[staging]") {
  Fixture f;
  Lookup lookup;
  const std::unique_ptr<RowCache> cache = RowCache::create({1'000, 100'000, 12, false}, {}).take();
  f.bring(1, {11, 12, 13});
  CHECK(f.staging().settle(cache.get()) == 0);
  CHECK_FALSE(is_cached(*cache, 11));
  lookup.want(f.staging(), {11, 13, 13});
  CHECK(f.staging().settle(cache.get()) == 0);
  CHECK(is_cached(*cache, 11));
  CHECK_FALSE(is_cached(*cache, 12));
  CHECK(is_cached(*cache, 13));
  CHECK(lookup.want(f.staging(), {11, 12, 13}) ==
        std::vector{Found::kNo, Found::kCopied, Found::kNo});
}

TEST_CASE("settled rows replace others as rows that were read do", "[staging]") {
  // One set: the row that a batch asked for twice outlives those asked for once.
  Fixture f;
  Lookup lookup;
  const std::unique_ptr<RowCache> cache =
      RowCache::create({1'000, 64 + 12 * 264, 12, false}, {}).take();
  REQUIRE(cache->slots() == 12);
  f.bring(1, ids_from(0, 12));
  lookup.want(f.staging(), ids_from(0, 12));
  lookup.want(f.staging(), {0});
  CHECK(f.staging().settle(cache.get()) == 0);
  f.bring(2, ids_from(100, 11));
  lookup.want(f.staging(), ids_from(100, 11));
  CHECK(f.staging().settle(cache.get()) == 11);
  CHECK(is_cached(*cache, 0));
  for (int64_t id = 1; id < 12; ++id) CHECK_FALSE(is_cached(*cache, id));
}

TEST_CASE("no row is begun once a lookup has begun, until it was looked at", "[staging]") {
  Fixture f;
  const uint64_t before = f.staging().lookups_begun();
  f.staging().begin_lookup();
  const int64_t id = 5;
  uint32_t slot = 0;
  Staging::Begun begun = f.staging().begin(before, 1, &id, 1, &slot);
  CHECK(begun.overtaken);
  CHECK(begun.count == 0);
  CHECK(f.staging().is_empty());
  begun = f.staging().begin(f.staging().lookups_begun(), 1, &id, 1, &slot);
  CHECK_FALSE(begun.overtaken);
  CHECK(begun.count == 1);
}

TEST_CASE("lookups in threads beside the prefetcher see whole rows or none", "[staging]") {
  constexpr int64_t kIds = 3'000;
#if defined(__SANITIZE_THREAD__)
  constexpr int kRounds = 150;
#else
  constexpr int kRounds = 1'500;
#endif
  Fixture f;
  const std::unique_ptr<RowCache> cache = RowCache::create({kIds, 100'000, 12, false}, {}).take();
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0}, copied{0};
  std::vector<std::thread> lookups;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    lookups.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      std::vector<uint8_t> weights(kBlockRows * kWeights), scales(kBlockRows * kScales);
      int64_t ids[kBlockRows];
      uint32_t places[kBlockRows];
      Found found[kBlockRows];
      while (!stop) {
        f.staging().begin_lookup();
        for (uint32_t i = 0; i < kBlockRows; ++i) {
          ids[i] = static_cast<int64_t>(random() % kIds);
          places[i] = kBlockRows - 1 - i;
        }
        f.staging().want(ids, places, kBlockRows, weights.data(), scales.data(), found);
        for (uint32_t i = 0; i < kBlockRows; ++i) {
          uint8_t* row = weights.data() + places[i] * kWeights;
          uint8_t* scale = scales.data() + places[i] * kScales;
          if (found[i] == Found::kComing) found[i] = f.staging().await(ids[i], row, scale);
          if (found[i] == Found::kNo) continue;
          wrong += !is_row(ids[i], row, scale);
          ++copied;
        }
      }
    });
  }
  std::mt19937_64 random(99);
  for (uint32_t job = 0; job < kRounds; ++job) {
    std::vector<int64_t> ids(1 + random() % 90);
    for (int64_t& id : ids) id = static_cast<int64_t>(random() % kIds);
    std::vector<uint32_t> slots(ids.size());
    Staging::Begun begun;
    do {
      begun = f.staging().begin(f.staging().lookups_begun(), job, ids.data(),
                                static_cast<uint32_t>(ids.size()), slots.data());
    } while (begun.overtaken);
    for (size_t i = 0; i < begun.count; ++i) {
      if (slots[i] == Staging::kNone) continue;
      write_row(ids[i], f.staging().weights() + slots[i] * kWeights,
                f.staging().scales() + slots[i] * kScales);
      if (random() % 16 == 0) {
        f.staging().failed(slots[i]);
      } else {
        f.staging().arrived(&slots[i], 1);
      }
    }
    if (job % 4 == 0) f.staging().settle(cache.get());
    f.staging().retire(job - 8);
  }
  stop = true;
  for (std::thread& thread : lookups) thread.join();
  CHECK(wrong == 0);
  CHECK(copied > 0);
  f.staging().settle(cache.get());
  f.staging().retire(kRounds);
  CHECK(f.staging().is_empty());
}
