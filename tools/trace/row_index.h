// Numbers the distinct row ids of a trace 0, 1, 2, ... in the order they first appear.
//
// Statistics then need memory by the rows that a trace touches, not by the rows of its table. One
// flat table with linear probing, sized once; not thread safe.
#ifndef ROW_STORE_TRACE_ROW_INDEX_H
#define ROW_STORE_TRACE_ROW_INDEX_H

#include <bit>
#include <cstdint>
#include <vector>

namespace row_store::trace {

class RowIndex {
 public:
  struct Found {
    uint32_t number = 0;
    bool added = false;
  };

  // ids_max: lookups at most; below 2^31.
  explicit RowIndex(uint64_t ids_max)
      : shift_(64 - static_cast<int>(std::bit_width(ids_max * 2 | 1))),
        slots_(uint64_t{1} << (64 - shift_)) {}

  Found insert(uint64_t id) {
    uint64_t at = (id * 0x9E3779B97F4A7C15u) >> shift_;
    while (slots_[at].number != kEmpty && slots_[at].id != id) at = (at + 1) & (slots_.size() - 1);
    if (slots_[at].number != kEmpty) return {slots_[at].number, false};
    slots_[at] = {id, count_};
    return {count_++, true};
  }

  uint32_t count() const { return count_; }

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;
  struct Slot {
    uint64_t id = 0;
    uint32_t number = kEmpty;
  };
  int shift_;
  std::vector<Slot> slots_;
  uint32_t count_ = 0;
};

}  // namespace row_store::trace

#endif  // ROW_STORE_TRACE_ROW_INDEX_H
