// Time for durations: monotonic, so that a changed wall clock matters to nobody.
#ifndef ROW_STORE_BASE_CLOCK_H
#define ROW_STORE_BASE_CLOCK_H

#include <time.h>

#include <cstdint>

namespace row_store {

inline uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace row_store

#endif  // ROW_STORE_BASE_CLOCK_H
