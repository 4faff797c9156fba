// SIEVE as its authors draw it, a list and a hand, one for each set: what SetTable's nibbles and
// bits must be equal to, hit for hit and victim for victim. Written for clarity, not for speed.
#ifndef ROW_STORE_CACHE_SIEVE_MODEL_H
#define ROW_STORE_CACHE_SIEVE_MODEL_H

#include <cstdint>
#include <iterator>
#include <list>
#include <optional>

struct SieveEntry {
  uint64_t id = 0;
  uint64_t slot = 0;  // for the test's use
  bool filled = false;
  bool seen = false;
};

class SieveSet {
 public:
  explicit SieveSet(size_t ways) : ways_(ways), hand_(entries_.end()) {}
  SieveSet(const SieveSet&) = delete;  // the hand points into the list
  SieveSet& operator=(const SieveSet&) = delete;

  SieveEntry* find(uint64_t id) {
    for (SieveEntry& entry : entries_)
      if (entry.id == id) return &entry;
    return nullptr;
  }
  // Puts a new id in front and returns what had to go.
  std::optional<uint64_t> insert(uint64_t id) {
    std::optional<uint64_t> victim;
    if (entries_.size() == ways_) {
      if (hand_ == entries_.end()) hand_ = std::prev(entries_.end());
      while (hand_->seen) {
        hand_->seen = false;
        hand_ = hand_ == entries_.begin() ? std::prev(entries_.end()) : std::prev(hand_);
      }
      victim = hand_->id;
      // The victim's newer neighbour is next; behind the newest comes the oldest.
      const auto next = hand_ == entries_.begin() ? entries_.end() : std::prev(hand_);
      entries_.erase(hand_);
      hand_ = next;
    }
    entries_.push_front({id, 0, false, false});
    return victim;
  }
  const std::list<SieveEntry>& entries() const { return entries_; }

 private:
  size_t ways_;
  std::list<SieveEntry> entries_;  // newest first
  std::list<SieveEntry>::iterator hand_;
};

#endif  // ROW_STORE_CACHE_SIEVE_MODEL_H
