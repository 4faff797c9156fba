// The sizes that files, caches and outputs agree on. Everything else derives from these.
#ifndef ROW_STORE_FORMAT_ROW_LAYOUT_H
#define ROW_STORE_FORMAT_ROW_LAYOUT_H

#include <cstdint>

namespace row_store {

inline constexpr uint64_t kWeightBytes = 256;  // FP8 E4M3 values of a row
inline constexpr uint64_t kScaleBytes = 8;     // E8M0 block scales of a row, one per 32 columns
inline constexpr uint64_t kRowBytes = kWeightBytes + kScaleBytes;
// Unit of a read, of a checksum and of alignment. Of the files, not of the machine: a kernel's
// pages may be larger, and what needs their size asks for it.
inline constexpr uint64_t kPageBytes = 4096;

static_assert(kRowBytes == 264);
static_assert(kRowBytes % sizeof(uint64_t) == 0, "rows are copied in 8-byte words");
static_assert(2 * kPageBytes >= kPageBytes + kRowBytes, "a row touches at most two pages");

// Half-open range of global row ids.
struct RowRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t count() const { return end - begin; }
  bool contains(uint64_t id) const { return id - begin < end - begin; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

// Bytes of a file: [offset, offset + bytes).
struct Extent {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_ROW_LAYOUT_H
