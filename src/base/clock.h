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

// When a wait of so many milliseconds is over. What is interrupted waits for the rest of it, and
// does not start over.
class Deadline {
 public:
  explicit Deadline(int timeout_ms)
      : until_ns_(now_ns() + static_cast<uint64_t>(timeout_ms > 0 ? timeout_ms : 0) * 1'000'000u) {}

  uint64_t left_ns() const {
    const uint64_t now = now_ns();
    return until_ns_ > now ? until_ns_ - now : 0;
  }
  bool passed() const { return left_ns() == 0; }

 private:
  uint64_t until_ns_;
};

}  // namespace row_store

#endif  // ROW_STORE_BASE_CLOCK_H
