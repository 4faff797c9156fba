// The bounded place where rows wait between the background read that brought them and the lookup
// that asks for them. One a store, beside its cache and not part of it: what waits here pushes no
// row out of the cache, and a prefetched row enters the cache only once it was asked for.
//
// A slot is free, coming (its read is in flight, the prefetcher writes its bytes), ready, or taken
// (a lookup has copied it). Taken rows stay until settle() moves them into the cache; a lookup that
// asks for one again gets it. Rows that nobody takes go when retire() passes their job. When all
// slots are in use, later jobs get none: nothing that is still awaited is pushed out.
//
// Lookups call want(), await() and begin_lookup() from any thread; everything else is the
// prefetcher thread's. Whoever calls holds the store's gate, shared. Rows are coming only while the
// prefetcher holds it, and it takes no other lock meanwhile, so await() always ends.
#ifndef ROW_STORE_STORE_STAGING_H
#define ROW_STORE_STORE_STAGING_H

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/memory_map.h"
#include "base/mutex.h"
#include "base/status.h"
#include "cache/row_cache.h"
#include "io/context.h"

namespace row_store {

class Staging {
 public:
  // A whole window of rows: 16.5 MiB, and 2.75 MiB of index. Memory appears as it is used.
  static constexpr uint32_t kRowsMax = kWindowRows;
  static constexpr uint32_t kNone = UINT32_MAX;

  static Result<std::unique_ptr<Staging>> create();

  // Slot s is row s of these: where the prefetcher reads to.
  uint8_t* weights() const { return weights_.data(); }
  uint8_t* scales() const { return scales_.data(); }

  enum class Found : uint8_t {
    kNo,
    kCopied,  // for the first time
    kAgain,   // copied, as before
    kComing,  // being read: await() it
  };

  bool is_empty() const { return used_.load(std::memory_order_relaxed) == 0; }
  // Copies row ids[i], i below count (at most kBlockRows), to row places[i] of the outputs if it is
  // here.
  void want(const int64_t* ids, const uint32_t* places, uint32_t count, uint8_t* weights,
            uint8_t* scales, Found* found);
  // Waits for a row that was coming and copies it; kNo when its read failed.
  Found await(int64_t id, uint8_t* weights, uint8_t* scales);
  // A lookup begins. What it finds neither in the cache nor here it reads by itself, so the
  // prefetcher looks at what lookups told it before it begins further rows.
  void begin_lookup();
  uint32_t taken() const { return taken_count_.load(std::memory_order_relaxed); }

  uint64_t lookups_begun();
  struct Begun {
    uint32_t count = 0;      // ids that were dealt with
    bool overtaken = false;  // a lookup has begun since lookups_begun() was `lookups`
    bool full = false;       // no slot for ids[count]
  };
  // Makes rows coming: slots[i] is where ids[i] goes, or kNone when it is here already. Job numbers
  // rise by one.
  Begun begin(uint64_t lookups, uint32_t job, const int64_t* ids, uint32_t count, uint32_t* slots);
  void arrived(const uint32_t* slots, uint32_t count);
  void failed(uint32_t slot);
  // Frees ready rows of jobs before this one; returns how many.
  uint32_t retire(uint32_t job);
  // Frees what was taken, into the cache where there is one, as if the lookup that took it had read
  // it. Returns the evictions.
  uint64_t settle(RowCache* cache);

  // In a forked child: only destruction is allowed afterwards.
  void abandon();

 private:
  enum class State : uint8_t { kFree, kComing, kReady, kTaken };
  struct Entry {
    uint64_t id;
    uint32_t next_in_chain;  // of the index; of free slots
    uint32_t older;          // by job: neighbours in the list of all used slots
    uint32_t newer;
    uint32_t job;
    State state;
    bool taken_again;
  };
  static_assert(sizeof(Entry) == 32);
  static constexpr uint32_t kHeads = 2 * kRowsMax;

  Staging(MemoryMap weights, MemoryMap scales, MemoryMap index);
  uint32_t* head_of(uint64_t id) const { return heads_ + (mix_id(id) >> 32) % kHeads; }
  uint32_t find(uint64_t id) const ROW_STORE_REQUIRES(mutex_);
  Found copy(uint32_t slot, uint8_t* weights, uint8_t* scales) ROW_STORE_REQUIRES(mutex_);
  uint32_t allocate() ROW_STORE_REQUIRES(mutex_);
  void release(uint32_t slot) ROW_STORE_REQUIRES(mutex_);
  void append_to_jobs(uint32_t slot, uint32_t job) ROW_STORE_REQUIRES(mutex_);
  void remove_from_jobs(uint32_t slot) ROW_STORE_REQUIRES(mutex_);

  MemoryMap weights_;
  MemoryMap scales_;
  MemoryMap index_;

  Mutex mutex_;
  Condition came_;
  // Links are stored plus one, so that zeroed memory is a list of nothing.
  Entry* const slots_;
  uint32_t* const heads_;
  uint32_t* const taken_;  // slots to settle, the first at taken_first_: a ring
  uint32_t taken_first_ ROW_STORE_GUARDED_BY(mutex_) = 0;
  uint32_t fresh_ ROW_STORE_GUARDED_BY(mutex_) = 0;  // slots from here on were never used
  uint32_t free_ ROW_STORE_GUARDED_BY(mutex_) = 0;
  uint32_t oldest_ ROW_STORE_GUARDED_BY(mutex_) = 0;
  uint32_t newest_ ROW_STORE_GUARDED_BY(mutex_) = 0;
  uint32_t waiting_ ROW_STORE_GUARDED_BY(mutex_) = 0;
  uint64_t lookups_begun_ ROW_STORE_GUARDED_BY(mutex_) = 0;
  // Written under the mutex; read without it as a hint.
  std::atomic<uint32_t> used_{0};
  std::atomic<uint32_t> taken_count_{0};
};

}  // namespace row_store

#endif  // ROW_STORE_STORE_STAGING_H
