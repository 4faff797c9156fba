// Rows in write-combined memory: every kernel moves the same bytes, and a cache over such a slab
// serves what was put in.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cache/row_cache.h"
#include "cache/row_copy.h"
#include "support/catch.h"

using row_store::CacheConfig;
using row_store::kNoSlot;
using row_store::kRowBytes;
using row_store::kScaleBytes;
using row_store::kWeightBytes;
using row_store::RowCache;
using row_store::Slot;

namespace {

constexpr uint64_t kRows = 64;
constexpr uint64_t kGuard = 8;
constexpr uint8_t kCanary = 0xC5;

struct Memory {
  explicit Memory(uint64_t size)
      : bytes(size), data(static_cast<uint8_t*>(std::aligned_alloc(4096, size))) {}
  ~Memory() { std::free(data); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  uint64_t bytes;
  uint8_t* data;
};

class WcSlab final : public row_store::Slab {
 public:
  explicit WcSlab(uint64_t bytes) : memory_(bytes) {}
  uint8_t* data() const override { return memory_.data; }
  uint64_t bytes() const override { return memory_.bytes; }
  bool write_combined() const override { return true; }
  const char* backing() const override { return "test"; }
  void abandon() override {}

 private:
  Memory memory_;
};

// A row is 33 words of one value, so that a torn or shifted one shows.
void make_row(uint64_t id, uint64_t version, uint8_t* weights, uint8_t* scales) {
  for (uint64_t word = 0; word < kRowBytes / 8; ++word) {
    const uint64_t value = (id * 0x9E3779B97F4A7C15 ^ version << 56) + word;
    uint8_t* to = word < kWeightBytes / 8 ? weights + 8 * word : scales;
    std::memcpy(to, &value, 8);
  }
}

}  // namespace

TEST_CASE("every read kernel moves a row at every word of a line", "[cache]") {
  const uint64_t bytes = 4096 * ((kRows * kRowBytes + 4095) / 4096);
  const Memory slab(bytes);
  std::mt19937_64 random(3);
  for (uint64_t i = 0; i < bytes; ++i) slab.data[i] = static_cast<uint8_t>(random());
  for (const auto& kernel : row_store::wc_read_kernels()) {
    INFO(kernel.name);
    // The rows of a slab start at 0, 264, 528: each of the eight words of a line comes up. The last
    // place ends with the slab.
    for (uint64_t row = 0; row <= kRows; ++row) {
      const uint64_t at = row < kRows ? row * kRowBytes : bytes - kRowBytes;
      // Outputs need no alignment.
      std::vector<uint8_t> weights(kWeightBytes + 2 * kGuard + 1, kCanary);
      std::vector<uint8_t> scales(kScaleBytes + 2 * kGuard + 1, kCanary);
      uint8_t* to_weights = weights.data() + kGuard + row % 2;
      uint8_t* to_scales = scales.data() + kGuard + row % 2;
      kernel.copy_out(slab.data + at, to_weights, to_scales);
      REQUIRE(std::memcmp(to_weights, slab.data + at, kWeightBytes) == 0);
      REQUIRE(std::memcmp(to_scales, slab.data + at + kWeightBytes, kScaleBytes) == 0);
      for (uint64_t i = 0; i < kGuard; ++i) {
        REQUIRE(to_weights[-1 - static_cast<int64_t>(i)] == kCanary);
        REQUIRE(to_weights[kWeightBytes + i] == kCanary);
        REQUIRE(to_scales[-1 - static_cast<int64_t>(i)] == kCanary);
        REQUIRE(to_scales[kScaleBytes + i] == kCanary);
      }
    }
  }
}

TEST_CASE("the last kernel is the portable one", "[cache]") {
  REQUIRE_FALSE(row_store::wc_read_kernels().empty());
  CHECK(std::string(row_store::wc_read_kernels().back().name) == "portable");
}

TEST_CASE("writing a row changes its 264 bytes and no other", "[cache]") {
  Memory slab(4096);
  uint8_t weights[kWeightBytes + 1], scales[kScaleBytes + 1];
  for (uint64_t word = 0; word < 8; ++word) {
    std::memset(slab.data, kCanary, slab.bytes);
    make_row(word, 1, weights + 1, scales + 1);
    const uint64_t at = 512 + 8 * word;
    row_store::copy_row_in_wc(slab.data + at, weights + 1, scales + 1);
    REQUIRE(std::memcmp(slab.data + at, weights + 1, kWeightBytes) == 0);
    REQUIRE(std::memcmp(slab.data + at + kWeightBytes, scales + 1, kScaleBytes) == 0);
    for (uint64_t i = 0; i < slab.bytes; ++i)
      if (i < at || i >= at + kRowBytes) REQUIRE(slab.data[i] == kCanary);
  }
}

TEST_CASE(
    "a cache over a write-combined slab gives back what was put in, under eviction and beside "
    "other threads",
    "[cache]") {
  constexpr uint64_t kIds = 4000, kSlabBytes = 512 * 1024;  // half of the ids fit
  const CacheConfig config{kIds, 1 << 20, 12};
  auto made = RowCache::create(config, std::make_unique<WcSlab>(kSlabBytes));
  REQUIRE(made.ok());
  RowCache& cache = *made.value();
  CHECK(cache.write_combined());
  CHECK(cache.slots() * kRowBytes <= kSlabBytes);

  std::atomic<uint64_t> hits{0}, wrong{0}, evictions{0};
  const auto work = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    uint8_t weights[kWeightBytes], scales[kScaleBytes], want[kWeightBytes],
        want_scales[kScaleBytes];
    for (int step = 0; step < 40000; ++step) {
      const auto id = static_cast<int64_t>(random() % kIds);
      const auto unsigned_id = static_cast<uint64_t>(id);
      make_row(unsigned_id, 0, want, want_scales);
      Slot slot = kNoSlot;
      cache.probe_block(&id, 1, &slot);
      const uint32_t place = 0;
      if (slot != kNoSlot && cache.copy_block(&id, &place, 1, &slot, weights, scales) == 1) {
        ++hits;
        wrong += std::memcmp(weights, want, kWeightBytes) != 0 ||
                 std::memcmp(scales, want_scales, kScaleBytes) != 0;
        continue;
      }
      bool evicted = false;
      slot = cache.reserve(unsigned_id, &evicted);
      evictions += evicted;
      if (slot != kNoSlot) cache.fill(slot, unsigned_id, want, want_scales);
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(hits > 10000);
  CHECK(evictions > 1000);
}
