#include "store/staging.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "cache/row_copy.h"

namespace row_store {
namespace {

constexpr uint32_t kSettleAtOnce = 64;

}  // namespace

Result<std::unique_ptr<Staging>> Staging::create() {
  constexpr uint64_t kIndexBytes =
      kRowsMax * (sizeof(Entry) + sizeof(uint32_t)) + kHeads * sizeof(uint32_t);
  Result<MemoryMap> weights = MemoryMap::create(kRowsMax * kWeightBytes);
  if (!weights.ok()) return weights.status();
  Result<MemoryMap> scales = MemoryMap::create(kRowsMax * kScaleBytes);
  if (!scales.ok()) return scales.status();
  Result<MemoryMap> index = MemoryMap::create(kIndexBytes);
  if (!index.ok()) return index.status();
  return std::unique_ptr<Staging>(new Staging(weights.take(), scales.take(), index.take()));
}

Staging::Staging(MemoryMap weights, MemoryMap scales, MemoryMap index)
    : weights_(std::move(weights)),
      scales_(std::move(scales)),
      index_(std::move(index)),
      slots_(reinterpret_cast<Entry*>(index_.data())),
      heads_(reinterpret_cast<uint32_t*>(index_.data() + kRowsMax * sizeof(Entry))),
      taken_(heads_ + kHeads) {}

uint32_t Staging::find(uint64_t id) const {
  for (uint32_t link = *head_of(id); link != 0; link = slots_[link - 1].next_in_chain)
    if (slots_[link - 1].id == id) return link - 1;
  return kNone;
}

Staging::Found Staging::copy(uint32_t index, uint8_t* weights, uint8_t* scales) {
  Entry& slot = slots_[index];
  copy_row(weights_.data() + index * kWeightBytes, scales_.data() + index * kScaleBytes, weights,
           scales);
  if (slot.state == State::kTaken) {
    slot.taken_again = true;
    return Found::kAgain;
  }
  slot.state = State::kTaken;
  slot.taken_again = false;
  const uint32_t count = taken_count_.load(std::memory_order_relaxed);
  taken_[(taken_first_ + count) % kRowsMax] = index;
  taken_count_.store(count + 1, std::memory_order_relaxed);
  return Found::kCopied;
}

void Staging::want(const int64_t* ids, const uint32_t* places, uint32_t count, uint8_t* weights,
                   uint8_t* scales, Found* found) {
  uint32_t slots[kBlockRows];
  for (uint32_t i = 0; i < count; ++i) __builtin_prefetch(head_of(static_cast<uint64_t>(ids[i])));
  MutexLock lock(mutex_);
  for (uint32_t i = 0; i < count; ++i) {
    slots[i] = find(static_cast<uint64_t>(ids[i]));
    if (slots[i] == kNone) continue;
    const uint8_t* row = weights_.data() + slots[i] * kWeightBytes;
    for (uint64_t at = 0; at < kWeightBytes; at += kCacheLineBytes) __builtin_prefetch(row + at);
    __builtin_prefetch(scales_.data() + slots[i] * kScaleBytes);
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (slots[i] == kNone) {
      found[i] = Found::kNo;
    } else if (slots_[slots[i]].state == State::kComing) {
      found[i] = Found::kComing;
    } else {
      found[i] =
          copy(slots[i], weights + places[i] * kWeightBytes, scales + places[i] * kScaleBytes);
    }
  }
}

Staging::Found Staging::await(int64_t id, uint8_t* weights, uint8_t* scales) {
  MutexLock lock(mutex_);
  // Looked up anew each time: once it is here, another lookup may take it and settle() free it.
  uint32_t slot = kNone;
  ++waiting_;
  came_.wait(mutex_, [&]() ROW_STORE_REQUIRES(mutex_) {
    slot = find(static_cast<uint64_t>(id));
    return slot == kNone || slots_[slot].state != State::kComing;
  });
  --waiting_;
  return slot == kNone ? Found::kNo : copy(slot, weights, scales);
}

void Staging::begin_lookup() {
  MutexLock lock(mutex_);
  ++lookups_begun_;
}

uint64_t Staging::lookups_begun() {
  MutexLock lock(mutex_);
  return lookups_begun_;
}

uint32_t Staging::allocate() {
  uint32_t slot = kNone;
  if (free_ != 0) {
    slot = free_ - 1;
    free_ = slots_[slot].next_in_chain;
  } else if (fresh_ != kRowsMax) {
    slot = fresh_++;
  } else {
    return kNone;
  }
  used_.store(used_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return slot;
}

void Staging::release(uint32_t index) {
  Entry& slot = slots_[index];
  uint32_t* link = head_of(slot.id);
  while (*link != index + 1) link = &slots_[*link - 1].next_in_chain;
  *link = slot.next_in_chain;
  remove_from_jobs(index);
  slot.state = State::kFree;
  // Freed last, used first: few pages are touched, and they are warm.
  slot.next_in_chain = free_;
  free_ = index + 1;
  used_.store(used_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

void Staging::append_to_jobs(uint32_t index, uint32_t job) {
  Entry& slot = slots_[index];
  slot.job = job;
  slot.newer = 0;
  slot.older = newest_;
  (newest_ != 0 ? slots_[newest_ - 1].newer : oldest_) = index + 1;
  newest_ = index + 1;
}

void Staging::remove_from_jobs(uint32_t index) {
  const Entry& slot = slots_[index];
  (slot.older != 0 ? slots_[slot.older - 1].newer : oldest_) = slot.newer;
  (slot.newer != 0 ? slots_[slot.newer - 1].older : newest_) = slot.older;
}

Staging::Begun Staging::begin(uint64_t lookups, uint32_t job, const int64_t* ids, uint32_t count,
                              uint32_t* slots) {
  MutexLock lock(mutex_);
  Begun begun;
  begun.overtaken = lookups != lookups_begun_;
  if (begun.overtaken) return begun;
  for (; begun.count < count; ++begun.count) {
    const auto id = static_cast<uint64_t>(ids[begun.count]);
    const uint32_t here = find(id);
    slots[begun.count] = kNone;
    if (here != kNone) {
      remove_from_jobs(here);
      append_to_jobs(here, job);
      continue;
    }
    const uint32_t index = allocate();
    begun.full = index == kNone;
    if (begun.full) break;
    Entry& slot = slots_[index];
    slot.id = id;
    slot.state = State::kComing;
    uint32_t* head = head_of(id);
    slot.next_in_chain = *head;
    *head = index + 1;
    append_to_jobs(index, job);
    slots[begun.count] = index;
  }
  return begun;
}

void Staging::arrived(const uint32_t* slots, uint32_t count) {
  MutexLock lock(mutex_);
  for (uint32_t i = 0; i < count; ++i) slots_[slots[i]].state = State::kReady;
  if (waiting_ != 0) came_.notify_all();
}

void Staging::failed(uint32_t slot) {
  MutexLock lock(mutex_);
  release(slot);
  if (waiting_ != 0) came_.notify_all();
}

uint32_t Staging::retire(uint32_t job) {
  MutexLock lock(mutex_);
  uint32_t retired = 0;
  // Job numbers may wrap; the jobs here are never far apart.
  for (uint32_t link = oldest_; link != 0;) {
    const uint32_t index = link - 1;
    const Entry& slot = slots_[index];
    if (static_cast<int32_t>(slot.job - job) >= 0) break;
    link = slot.newer;
    if (slot.state != State::kReady) continue;
    release(index);
    ++retired;
  }
  return retired;
}

uint64_t Staging::settle(RowCache* cache) {
  uint64_t evictions = 0;
  for (;;) {
    uint32_t indices[kSettleAtOnce];
    bool again[kSettleAtOnce];
    uint32_t count = 0;
    {
      MutexLock lock(mutex_);
      const uint32_t taken = taken_count_.load(std::memory_order_relaxed);
      for (; count < std::min(taken, kSettleAtOnce); ++count) {
        indices[count] = taken_[(taken_first_ + count) % kRowsMax];
        again[count] = slots_[indices[count]].taken_again;
      }
      taken_first_ = (taken_first_ + count) % kRowsMax;
      taken_count_.store(taken - count, std::memory_order_relaxed);
    }
    if (count == 0) return evictions;
    // Only this thread frees slots, so these keep their rows; lookups may copy from them.
    for (uint32_t i = 0; cache != nullptr && i < count; ++i) {
      const uint64_t id = slots_[indices[i]].id;
      bool evicted = false;
      const Slot slot = cache->reserve(id, &evicted);
      if (slot == kNoSlot) continue;
      evictions += evicted;
      cache->fill(slot, id, weights_.data() + indices[i] * kWeightBytes,
                  scales_.data() + indices[i] * kScaleBytes);
      if (again[i]) cache->touch(slot, id);
    }
    MutexLock lock(mutex_);
    for (uint32_t i = 0; i < count; ++i) release(indices[i]);
  }
}

void Staging::abandon() {
  weights_.abandon();
  scales_.abandon();
  index_.abandon();
}

}  // namespace row_store
