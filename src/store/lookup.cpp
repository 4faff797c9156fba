#include "store/lookup.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/checked.h"
#include "base/clock.h"
#include "base/fatal.h"
#include "io/thread_pool.h"
#include "store/miss_reads.h"
#include "store/staging.h"

namespace row_store {
namespace {

// Waking a helper costs tens of microseconds, as much as copying some hundred rows; below this many
// rows for each participant it is not worth it.
constexpr uint32_t kRowsPerHelper = 8192;
constexpr uint32_t kHelpersMax = 3;
constexpr uint32_t kBlocksMax = kWindowRows / kBlockRows;
constexpr uint32_t kRowsAhead = 6;

uint32_t useful_helpers(uint32_t row_count) {
  static const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  const uint32_t others = cores > 1 ? static_cast<uint32_t>(cores) - 1 : 0;
  return std::min({row_count / kRowsPerHelper, kHelpersMax, others});
}

// The rows of a block that are looked for, closed up.
struct OwnedRows {
  int64_t ids[kBlockRows];
  uint32_t places[kBlockRows];  // in the window
  uint32_t count = 0;
};

// One window of a batch. Blocks of rows are claimed by the caller and by helpers; only the caller
// deals with misses.
class Window final : public Helper {
 public:
  Window(const RowSources& sources, const Batch& rows, MissReads& misses, uint32_t* awaited,
         uint32_t* missing, std::atomic<uint32_t>* missing_count)
      : sources_(sources),
        rows_(rows),
        row_count_(static_cast<uint32_t>(rows.count)),
        block_count_((row_count_ + kBlockRows - 1) / kBlockRows),
        misses_(misses),
        awaited_(awaited),
        missing_(missing),
        missing_count_(missing_count) {}

  void run(BatchCounts& counts);
  void help() override;

 private:
  bool claim(uint32_t* block) {
    *block = next_block_.fetch_add(1, std::memory_order_relaxed);
    return *block < block_count_;
  }
  uint32_t close_up(uint32_t block, OwnedRows* owned);
  void serve_block(uint32_t block, BatchCounts& counts);
  void copy_resident(const OwnedRows& owned);
  void take_missing(const OwnedRows& owned, const Slot* slots, BatchCounts& counts);
  void take_staged(OwnedRows& missing, BatchCounts& counts);
  void take_awaited(BatchCounts& counts);
  void take_over(BatchCounts& counts);

  const RowSources& sources_;
  const Batch& rows_;
  const uint32_t row_count_;
  const uint32_t block_count_;
  MissReads& misses_;
  uint32_t* awaited_;  // places whose rows a prefetch is reading
  uint32_t awaited_count_ = 0;
  // Places that helpers found missing: block b's begin at missing_[b * kBlockRows].
  uint32_t* missing_;
  std::atomic<uint32_t>* missing_count_;
  std::atomic<uint32_t> next_block_{0};
  std::atomic<uint64_t> helper_hits_{0};
  std::atomic<uint64_t> helper_zero_rows_{0};
};

// Rows outside the range are written as zeros; returns how many.
uint32_t Window::close_up(uint32_t block, OwnedRows* owned) {
  const uint32_t begin = block * kBlockRows;
  const uint32_t end = std::min(begin + kBlockRows, row_count_);
  uint32_t count = 0;
  for (uint32_t place = begin; place < end; ++place) {
    const int64_t id = rows_.ids[place];
    if (sources_.range.contains(static_cast<uint64_t>(id))) {
      owned->ids[count] = id;
      owned->places[count++] = place;
    } else {
      std::memset(rows_.weights + place * kWeightBytes, 0, kWeightBytes);
      std::memset(rows_.scales + place * kScaleBytes, 0, kScaleBytes);
    }
  }
  owned->count = count;
  return end - begin - count;
}

void Window::copy_resident(const OwnedRows& owned) {
  const ResidentRows& resident = *sources_.resident_rows;
  for (uint32_t i = 0; i < owned.count; ++i) {
    if (i + kRowsAhead < owned.count)
      prefetch_row(resident.row(static_cast<uint64_t>(owned.ids[i + kRowsAhead])));
    const uint8_t* row = resident.row(static_cast<uint64_t>(owned.ids[i]));
    std::memcpy(rows_.weights + owned.places[i] * kWeightBytes, row, kWeightBytes);
    std::memcpy(rows_.scales + owned.places[i] * kScaleBytes, row + kWeightBytes, kScaleBytes);
  }
}

void Window::take_missing(const OwnedRows& owned, const Slot* slots, BatchCounts& counts) {
  if (sources_.staging == nullptr || sources_.staging->is_empty()) {
    for (uint32_t i = 0; i < owned.count; ++i)
      if (slots[i] == kNoSlot) misses_.add(owned.places[i], static_cast<uint64_t>(owned.ids[i]));
    return;
  }
  OwnedRows missing;
  for (uint32_t i = 0; i < owned.count; ++i) {
    if (slots[i] != kNoSlot) continue;
    missing.ids[missing.count] = owned.ids[i];
    missing.places[missing.count++] = owned.places[i];
  }
  take_staged(missing, counts);
}

// What prefetch has brought is copied, what it is bringing put off until the window's end, and only
// the rest is read.
void Window::take_staged(OwnedRows& missing, BatchCounts& counts) {
  Staging::Found found[kBlockRows];
  sources_.staging->want(missing.ids, missing.places, missing.count, rows_.weights, rows_.scales,
                         found);
  for (uint32_t i = 0; i < missing.count; ++i) {
    switch (found[i]) {
      case Staging::Found::kNo:
        misses_.add(missing.places[i], static_cast<uint64_t>(missing.ids[i]));
        break;
      case Staging::Found::kComing:
        awaited_[awaited_count_++] = missing.places[i];
        break;
      case Staging::Found::kCopied:
        ++counts.staged;
        [[fallthrough]];
      case Staging::Found::kAgain:
        ++counts.hits;
    }
  }
}

void Window::take_awaited(BatchCounts& counts) {
  if (awaited_count_ == 0) return;
  const uint64_t from = now_ns();
  for (uint32_t i = 0; i < awaited_count_; ++i) {
    const uint32_t place = awaited_[i];
    const int64_t id = rows_.ids[place];
    const Staging::Found found = sources_.staging->await(id, rows_.weights + place * kWeightBytes,
                                                         rows_.scales + place * kScaleBytes);
    if (found == Staging::Found::kNo) {
      misses_.add(place, static_cast<uint64_t>(id));
    } else {
      ++counts.hits;
      counts.awaited += found == Staging::Found::kCopied;
    }
  }
  counts.wait_ns += now_ns() - from;
  misses_.drain();
}

// The caller's order: find what is missing, start its reads, copy hits while they run.
void Window::serve_block(uint32_t block, BatchCounts& counts) {
  OwnedRows owned;
  counts.zero_rows += close_up(block, &owned);
  if (sources_.resident_rows != nullptr) {
    copy_resident(owned);
    counts.hits += owned.count;
    return;
  }
  Slot slots[kBlockRows];
  if (sources_.cache == nullptr) {
    std::fill_n(slots, owned.count, kNoSlot);
    take_missing(owned, slots, counts);
    misses_.submit();
    return;
  }
  sources_.cache->probe_block(owned.ids, owned.count, slots);
  take_missing(owned, slots, counts);
  misses_.submit();
  // Rows lost to another row's reservation between probe and copy are read after all.
  uint32_t kept = 0;
  for (uint32_t i = 0; i < owned.count; ++i) {
    if (slots[i] == kNoSlot) continue;
    owned.ids[kept] = owned.ids[i];
    owned.places[kept] = owned.places[i];
    slots[kept++] = slots[i];
  }
  owned.count = kept;
  const uint32_t copied =
      sources_.cache->copy_block(owned.ids, owned.places, kept, slots, rows_.weights, rows_.scales);
  counts.hits += copied;
  if (copied != kept) take_missing(owned, slots, counts);
}

// A helper copies its blocks' hits and leaves the places of the others to the caller.
void Window::help() {
  uint32_t block = 0;
  while (claim(&block)) {
    OwnedRows owned;
    const uint32_t zeros = close_up(block, &owned);
    uint32_t hits = owned.count;
    if (sources_.resident_rows != nullptr) {
      copy_resident(owned);
    } else {
      Slot slots[kBlockRows];
      sources_.cache->probe_block(owned.ids, owned.count, slots);
      hits = sources_.cache->copy_block(owned.ids, owned.places, owned.count, slots, rows_.weights,
                                        rows_.scales);
      uint32_t count = 0;
      for (uint32_t i = 0; i < owned.count; ++i)
        if (slots[i] == kNoSlot) missing_[block * kBlockRows + count++] = owned.places[i];
      // Read by the caller after dismiss(), whose lock orders it.
      missing_count_[block].store(count, std::memory_order_relaxed);
    }
    helper_hits_.fetch_add(hits, std::memory_order_relaxed);
    helper_zero_rows_.fetch_add(zeros, std::memory_order_relaxed);
  }
}

// What helpers left: the places of rows that were not cached.
void Window::take_over(BatchCounts& counts) {
  Slot slots[kBlockRows];
  std::fill_n(slots, kBlockRows, kNoSlot);
  for (uint32_t block = 0; block < block_count_; ++block) {
    OwnedRows owned;
    owned.count = missing_count_[block].load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < owned.count; ++i) {
      owned.places[i] = missing_[block * kBlockRows + i];
      owned.ids[i] = rows_.ids[owned.places[i]];
    }
    if (owned.count != 0) take_missing(owned, slots, counts);
  }
  counts.hits += helper_hits_.load(std::memory_order_relaxed);
  counts.zero_rows += helper_zero_rows_.load(std::memory_order_relaxed);
}

void Window::run(BatchCounts& counts) {
  misses_.begin(rows_.weights, rows_.scales, row_count_);
  const bool copies = sources_.cache != nullptr || sources_.resident_rows != nullptr;
  const uint32_t helpers = copies ? useful_helpers(row_count_) : 0;
  for (uint32_t block = 0; block < block_count_; ++block)
    missing_count_[block].store(0, std::memory_order_relaxed);
  if (helpers != 0) ThreadPool::instance().ask(this, helpers);
  uint32_t block = 0;
  while (claim(&block)) {
    serve_block(block, counts);
    misses_.poll();
  }
  if (helpers != 0) {
    ThreadPool::instance().dismiss(this);
    take_over(counts);
  }
  misses_.drain();
  take_awaited(counts);
}

constexpr uint64_t kPlacesBytes = kWindowRows * sizeof(uint32_t);
constexpr uint64_t kMissingCountBytes =
    (kBlocksMax * sizeof(std::atomic<uint32_t>) + kPageBytes - 1) / kPageBytes * kPageBytes;

}  // namespace

uint64_t lookup_scratch_bytes() {
  return MissReads::scratch_bytes() + 2 * kPlacesBytes + kMissingCountBytes;
}

void check_ids(const RowSources& sources, const Batch& batch) {
  // Unsigned, so that negative ids are too large as well; without a branch, so that it costs
  // nothing beside the copies.
  uint64_t bad = 0;
  for (uint64_t i = 0; i < batch.count; ++i)
    bad |= static_cast<uint64_t>(static_cast<uint64_t>(batch.ids[i]) >= sources.table_rows);
  if (bad == 0) return;
  for (uint64_t i = 0; i < batch.count; ++i) {
    const int64_t id = batch.ids[i];
    if (static_cast<uint64_t>(id) < sources.table_rows) continue;
    if (id < 0 && sources.zero_negative_ids) continue;
    fatal(0, "row ID out of bounds: ids[%llu] of %llu is %lld, the table has rows 0 to %llu%s",
          static_cast<unsigned long long>(i), static_cast<unsigned long long>(batch.count),
          static_cast<long long>(id), static_cast<unsigned long long>(sources.table_rows - 1),
          id < 0 ? " (DSV41_NEGATIVE_IDS=zero gives zero rows for negative ids)" : "");
  }
}

BatchCounts look_up(const RowSources& sources, const Batch& batch, Context& context) {
  BatchCounts counts;
  counts.rows = batch.count;
  MissReads misses(sources, context, counts);
  uint8_t* scratch = context.scratch() + MissReads::scratch_bytes();
  auto* awaited = reinterpret_cast<uint32_t*>(scratch);
  auto* missing = reinterpret_cast<uint32_t*>(scratch + kPlacesBytes);
  auto* missing_count = reinterpret_cast<std::atomic<uint32_t>*>(scratch + 2 * kPlacesBytes);
  for (uint64_t at = 0; at < batch.count; at += kWindowRows) {
    const Batch rows{batch.ids + at, batch.weights + at * kWeightBytes,
                     batch.scales + at * kScaleBytes,
                     std::min<uint64_t>(kWindowRows, batch.count - at)};
    Window window(sources, rows, misses, awaited, missing, missing_count);
    window.run(counts);
  }
  return counts;
}

}  // namespace row_store
