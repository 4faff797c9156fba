// The index of the row cache: sets of up to kWays tags with SIEVE replacement inside each set.
//
// A set of 12 ways with 32-bit tags is one 64-byte line:
//   tags   12 x 4 bytes: row id + 1, 0 is an empty way
//   order  one nibble a place, the ways from newest (low) to oldest
//   word   bit 0      lock: held while a row is reserved or filled, never across I/O
//          bits 1-27  version, raised by every locked change
//          bits 28-43 pending: the way's row is on its way from a file; its bytes are not there yet
//          bits 44-59 seen: set by a hit, cleared by a passing hand
//          bits 60-63 hand: the place in `order` where the next eviction looks first
//
// Invariants: order is a permutation of the ways in use; a pending way has a tag; a row's bytes
// change only while the lock is held and its way is pending or leaves pending.
//
// Readers take no lock: they read word, tag and row, then word again, and start over if version,
// lock or pending changed (seen and hand do not matter to them). A seen bit that is lost to a
// concurrent change costs at most one early eviction.
//
// Why that holds on machines that reorder (Arm), and not only on x86. Let a reader's copy take a
// byte that writer W stored in the critical section which raised the version from v to v + 1.
//   - The first load of word gave v + 1 or later, unlocked: the acquire pairs with W's release
//     store in unlock(), or with a later change of word in the same release sequence (seen bits and
//     locks are read-modify-writes, which continue it). Then all of W's stores are visible, and the
//     tag that is checked behind it belongs to the row.
//   - It gave v or earlier: W's stores come behind the release fence in lock(), and the reader's
//     second load of word comes behind an acquire fence that follows its loads of the row. Fence
//     meets fence: the second load sees W's lock bit, or something later, and the copy is thrown
//     away.
// Without the acquire fence Arm may take the second load early; without the release fence a store
// to the row may pass the lock bit. Row bytes are plain vector accesses, which the language does
// not order, but both fences order them on every machine (x86 keeps such orders by itself, Arm has
// DMB ISHLD and DMB ISH). A version that comes round again between the two loads needs
// 2^27 changes of one set during one copy. tests/cache/sequence_test.cpp tries to see each of these
// outcomes.
#ifndef ROW_STORE_CACHE_SET_TABLE_H
#define ROW_STORE_CACHE_SET_TABLE_H

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "cache/row_copy.h"
#include "cache/tag_match.h"

namespace row_store {

// A place in the cache, valid for the table that gave it: set << 4 | way.
using Slot = uint64_t;
inline constexpr Slot kNoSlot = ~Slot{0};

__extension__ using Uint128 = unsigned __int128;

inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Row ids come in strides when a harness makes them, so they are mixed before they choose a set.
inline uint64_t mix_id(uint64_t id) {
  constexpr uint64_t kMultiplier = 0xD6E8FEB86659FD93;
  id ^= id >> 32;
  id *= kMultiplier;
  id ^= id >> 32;
  id *= kMultiplier;
  return id ^ id >> 32;
}

template <typename Tag, unsigned kWays>
class SetTable {
 public:
  struct alignas(kCacheLineBytes) Line {
    std::atomic<Tag> tags[kWays];
    std::atomic<uint64_t> order;
    std::atomic<uint64_t> word;
  };
  static constexpr uint64_t kLineBytes = sizeof(Line);

  // lines: set_count zeroed lines; rows: set_count * ways slots of kRowBytes. Neither is owned. A
  // zeroed line is an empty set: its order is written by the first reservation, so that memory is
  // touched as sets come into use.
  SetTable(Line* lines, uint8_t* rows, uint64_t set_count, unsigned ways, bool write_combined)
      : lines_(lines),
        rows_(rows),
        set_count_(set_count),
        ways_(ways),
        write_combined_(write_combined) {}

  uint64_t set_of(uint64_t id) const {
    return static_cast<uint64_t>(static_cast<Uint128>(mix_id(id)) * set_count_ >> 64);
  }
  void prefetch_set(uint64_t set) const {
    const auto* line = reinterpret_cast<const uint8_t*>(&lines_[set]);
    for (uint64_t at = 0; at < kLineBytes; at += kCacheLineBytes) __builtin_prefetch(line + at);
  }
  void prefetch_slot(Slot slot) const { prefetch_row(row_of(slot)); }

  // Where id's bytes are, or kNoSlot. Marks the row as seen. copy() checks again.
  Slot probe(uint64_t set, uint64_t id) {
    Line& line = lines_[set];
    const unsigned way = find(line, id);
    if (way == kWays) return kNoSlot;
    const uint64_t word = line.word.load(std::memory_order_relaxed);
    if (word >> (kPendingShift + way) & 1) return kNoSlot;
    mark_seen(line, word, way);
    return set << 4 | way;
  }

  // Whether id has a way, its bytes there or coming. Marks the row as seen, for it is about to be
  // asked for.
  bool find_coming(uint64_t set, uint64_t id) {
    Line& line = lines_[set];
    const unsigned way = find(line, id);
    if (way == kWays) return false;
    const uint64_t word = line.word.load(std::memory_order_relaxed);
    if (!(word >> (kPendingShift + way) & 1)) mark_seen(line, word, way);
    return true;
  }

  // Copies the row unless it was evicted since the probe.
  bool copy(Slot slot, uint64_t id, uint8_t* weights, uint8_t* scales) {
    if (write_combined_) return copy_locked(slot, id, weights, scales);
    constexpr int kLockFreeTries = 4;
    Line& line = lines_[slot >> 4];
    const unsigned way = slot & 15;
    for (int attempt = 0; attempt < kLockFreeTries; ++attempt) {
      // Acquire: the row's bytes are read after the word that vouches for them.
      const uint64_t before = line.word.load(std::memory_order_acquire);
      if (before & kLocked) {
        cpu_pause();
        continue;
      }
      if (!holds(line, before, way, id)) return false;
      copy_row_out(row_of(slot), weights, scales);
      // Keeps the second load of the word behind the row's loads; pairs with the release fence that
      // lock() puts before a writer's stores.
      std::atomic_thread_fence(std::memory_order_acquire);
      const uint64_t after = line.word.load(std::memory_order_relaxed);
      if (((before ^ after) & kReaderMask) == 0) return true;
    }
    return copy_locked(slot, id, weights, scales);
  }

  // Gives id a way, evicting by SIEVE, and leaves it pending until fill(). kNoSlot when id is there
  // already, filled or pending for another lookup. *evicted tells whether a row was lost.
  Slot reserve(uint64_t set, uint64_t id, bool* evicted) {
    Line& line = lines_[set];
    uint64_t word = lock(line);
    *evicted = false;
    if (find(line, id) != kWays) {
      unlock(line, word);
      return kNoSlot;
    }
    uint64_t order = line.order.load(std::memory_order_relaxed);
    if (order == 0) {
      order = first_order();
      word |= static_cast<uint64_t>(ways_ - 1) << kHandShift;
    }
    const unsigned way = advance_hand(&word, &order);
    *evicted = line.tags[way].load(std::memory_order_relaxed) != 0;
    line.tags[way].store(static_cast<Tag>(id + 1), std::memory_order_relaxed);
    line.order.store(order, std::memory_order_relaxed);
    unlock(line, word | bit(kPendingShift, way));
    return set << 4 | way;
  }

  // Puts a reserved row's bytes in place, unless the way went to another row meanwhile.
  void fill(Slot slot, uint64_t id, const uint8_t* weights, const uint8_t* scales) {
    Line& line = lines_[slot >> 4];
    const unsigned way = slot & 15;
    uint64_t word = lock(line);
    if (tag_is(line, way, id) && (word >> (kPendingShift + way) & 1)) {
      if (write_combined_) {
        copy_row_in_wc(row_of(slot), weights, scales);
      } else {
        copy_row_in(row_of(slot), weights, scales);
      }
      word &= ~bit(kPendingShift, way);
    }
    unlock(line, word);
  }

  // A reserved row that was asked for again in the same batch counts as seen.
  void touch(Slot slot, uint64_t id) {
    Line& line = lines_[slot >> 4];
    const unsigned way = slot & 15;
    if (tag_is(line, way, id)) mark_seen(line, line.word.load(std::memory_order_relaxed), way);
  }

 private:
  static constexpr uint64_t kLocked = 1;
  static constexpr unsigned kPendingShift = 28, kSeenShift = 44, kHandShift = 60;
  static constexpr uint64_t kVersionStep = 2;
  static constexpr uint64_t kVersionMask = (uint64_t{1} << kPendingShift) - kVersionStep;
  static constexpr uint64_t kReaderMask = (uint64_t{1} << kSeenShift) - 1;
  static_assert(kWays <= 16, "a way is one nibble of order");

  static uint64_t bit(unsigned shift, unsigned way) { return uint64_t{1} << (shift + way); }
  uint8_t* row_of(Slot slot) const {
    return rows_ + ((slot >> 4) * ways_ + (slot & 15)) * kRowBytes;
  }
  static bool tag_is(const Line& line, unsigned way, uint64_t id) {
    return line.tags[way].load(std::memory_order_relaxed) == static_cast<Tag>(id + 1);
  }
  // The way whose tag is id's, or kWays.
  static unsigned find(const Line& line, uint64_t id) {
    const uint32_t match = match_tags<kWays>(line.tags, static_cast<Tag>(id + 1));
    return match != 0 ? static_cast<unsigned>(__builtin_ctz(match)) : kWays;
  }
  static bool holds(const Line& line, uint64_t word, unsigned way, uint64_t id) {
    return tag_is(line, way, id) && !(word >> (kPendingShift + way) & 1);
  }
  static void mark_seen(Line& line, uint64_t word, unsigned way) {
    // Written only when the bit is clear, so that hot lines stay shared between cores.
    if (!(word & bit(kSeenShift, way)))
      line.word.fetch_or(bit(kSeenShift, way), std::memory_order_relaxed);
  }

  static uint64_t lock(Line& line) {
    constexpr int kSpinsBeforeYield = 64;
    for (int spins = 0;; ++spins) {
      uint64_t word = line.word.load(std::memory_order_relaxed);
      if (!(word & kLocked) &&
          line.word.compare_exchange_weak(word, word | kLocked, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
        // A lock-free reader that sees one of the stores to come must also see the lock bit or a
        // newer version: pairs with the acquire fence in copy().
        std::atomic_thread_fence(std::memory_order_release);
        return word;
      }
      if (spins < kSpinsBeforeYield) {
        cpu_pause();
      } else {
        ::sched_yield();  // the holder lost its core while it held the lock
      }
    }
  }
  static void unlock(Line& line, uint64_t word) {
    const uint64_t version = (word + kVersionStep) & kVersionMask;
    line.word.store((word & ~(kVersionMask | kLocked)) | version, std::memory_order_release);
  }

  bool copy_locked(Slot slot, uint64_t id, uint8_t* weights, uint8_t* scales) {
    Line& line = lines_[slot >> 4];
    const uint64_t word = lock(line);
    const bool there = holds(line, word, slot & 15, id);
    if (there && write_combined_) copy_row_out_wc(row_of(slot), weights, scales);
    if (there && !write_combined_) copy_row_out(row_of(slot), weights, scales);
    // Nothing changed: only the lock goes, and seen bits that others set meanwhile stay.
    line.word.fetch_and(~kLocked, std::memory_order_release);
    return there;
  }

  uint64_t first_order() const {
    uint64_t order = 0;
    for (unsigned place = 0; place < ways_; ++place)
      order |= static_cast<uint64_t>(place) << (4 * place);
    // One way has order 0 for ever; that is the value of an empty set too, and as good.
    return order;
  }

  // Walks the hand from older to newer places, clearing seen bits, to the first way that was not
  // seen; that way becomes the newest. At most ways + 1 steps.
  unsigned advance_hand(uint64_t* word, uint64_t* order) const {
    unsigned hand = static_cast<unsigned>(*word >> kHandShift);
    unsigned way = *order >> (4 * hand) & 15;
    while (*word & bit(kSeenShift, way)) {
      *word &= ~bit(kSeenShift, way);
      hand = hand != 0 ? hand - 1 : ways_ - 1;
      way = *order >> (4 * hand) & 15;
    }
    // Places newer than the victim's move one place older; the victim's way comes in front.
    const uint64_t newer = (uint64_t{1} << (4 * hand)) - 1;
    const uint64_t kept = *order & ~(newer << 4 | 15);
    *order = kept | (*order & newer) << 4 | way;
    // Place `hand` now holds the victim's newer neighbour, the next to be looked at.
    const uint64_t next = hand != 0 ? hand : ways_ - 1;
    *word = (*word & ~(uint64_t{15} << kHandShift)) | next << kHandShift;
    return way;
  }

  Line* lines_;
  uint8_t* rows_;
  uint64_t set_count_;
  unsigned ways_;
  bool write_combined_;
};

using SetTable12 = SetTable<uint32_t, 12>;
using SetTable16 = SetTable<uint32_t, 16>;
using SetTableWide = SetTable<uint64_t, 16>;  // tables of 2^32 - 1 rows and more
static_assert(SetTable12::kLineBytes == 64);
static_assert(SetTable16::kLineBytes == 128);
static_assert(SetTableWide::kLineBytes == 192);

}  // namespace row_store

#endif  // ROW_STORE_CACHE_SET_TABLE_H
