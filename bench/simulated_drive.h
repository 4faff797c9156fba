// A drive that is not there: a Reader whose completions become due by the clock.
//
// Every read occupies one of `slots` service places for its latency; reads beyond that queue. So
// one read at a time takes the latency, and many give slots / latency reads a second, which is how
// depth, overlap and prefetch can be studied beyond what a machine's own disk does. Results that
// come from it must name it. Not a model of pages, of writes, or of lookups side by side: each
// Reader is a drive of its own.
//
// Invariants: nothing completes before it is due, reads complete in the order in which they are
// due, and what was sent in one submit() completes in an order that only the settings decide, the
// seed among them. A waiting reap sleeps; it spins for `spin_ns` at most, to hide the time a thread
// takes to wake. One thread at a time, as any Reader; the first reap sets that thread's timer slack
// to 1 ns.
#ifndef ROW_STORE_BENCH_SIMULATED_DRIVE_H
#define ROW_STORE_BENCH_SIMULATED_DRIVE_H

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "io/reader.h"

namespace row_store {

// The drive's bytes from `offset` on.
using DriveContent = std::function<void(uint64_t offset, std::span<uint8_t> out)>;

struct DriveSettings {
  uint64_t latency_ns = 285'000;  // of a read, queueing apart; 0: done as soon as it is sent
  uint32_t slots = 32;            // at work at once; at least 1
  double spread = 0;              // latencies are even between (1 - spread) and (1 + spread) of it
  uint64_t seed = 1;              // of the spread
  uint64_t spin_ns = 20'000;      // before a wake-up that somebody waits for

  double reads_per_second() const { return slots * 1e9 / static_cast<double>(latency_ns); }
};

// The drive of a GB10 machine: 285 us at depth 1, 112,000 reads/s at depth 64.
inline constexpr DriveSettings kGb10Drive{285'000, 32, 0.1, 1, 20'000};

class SimulatedDrive final : public Reader {
 public:
  SimulatedDrive(const DriveSettings& settings, DriveContent content);

  void prepare(const ReadRequest& request) override;
  int submit() override;
  int reap(std::span<ReadCompletion> out, uint32_t least, int timeout_ms) override;

 private:
  struct Pending {
    uint64_t due_ns;
    ReadRequest request;
  };
  uint64_t next_latency_ns();

  const DriveSettings settings_;
  const DriveContent content_;
  std::mt19937_64 random_;
  std::vector<ReadRequest> prepared_;
  std::deque<Pending> pending_;      // the next one due first
  std::vector<uint64_t> slot_free_;  // when each service place is free; a heap, the soonest first
};

}  // namespace row_store

#endif  // ROW_STORE_BENCH_SIMULATED_DRIVE_H
