#include "bench/simulated_drive.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "cache/set_table.h"  // cpu_pause

namespace row_store {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// A timer fires up to 50 us late by default, a fifth of a read.
void sharpen_timers() {
  thread_local const int done = ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  static_cast<void>(done);
}

void sleep_until(uint64_t at_ns) {
  const timespec at{static_cast<time_t>(at_ns / kSecond), static_cast<long>(at_ns % kSecond)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

}  // namespace

SimulatedDrive::SimulatedDrive(const DriveSettings& settings, DriveContent content)
    : settings_(settings),
      content_(std::move(content)),
      random_(settings.seed),
      slot_free_(std::max(settings.slots, 1u), 0) {}

void SimulatedDrive::prepare(const ReadRequest& request) { prepared_.push_back(request); }

uint64_t SimulatedDrive::next_latency_ns() {
  // From the generator's bits, because distributions differ between standard libraries.
  const double even = static_cast<double>(random_() >> 11) * 0x1p-53;
  const double factor = 1 + settings_.spread * (2 * even - 1);
  return static_cast<uint64_t>(static_cast<double>(settings_.latency_ns) * factor);
}

int SimulatedDrive::submit() {
  if (prepared_.empty()) return 0;
  const uint64_t now = now_ns();
  const std::greater<uint64_t> sooner_first;
  for (const ReadRequest& request : prepared_) {
    std::pop_heap(slot_free_.begin(), slot_free_.end(), sooner_first);
    const uint64_t due = std::max(now, slot_free_.back()) + next_latency_ns();
    slot_free_.back() = due;
    std::push_heap(slot_free_.begin(), slot_free_.end(), sooner_first);
    // Nearly always at the end. Of equal times the read that was sent first comes first.
    const auto sooner = [](uint64_t time, const Pending& other) { return time < other.due_ns; };
    pending_.insert(std::upper_bound(pending_.begin(), pending_.end(), due, sooner),
                    {due, request});
  }
  prepared_.clear();
  return 0;
}

int SimulatedDrive::reap(std::span<ReadCompletion> out, uint32_t least, int timeout_ms) {
  least = std::min(least, static_cast<uint32_t>(out.size()));
  uint64_t now = now_ns();
  if (least != 0) {
    sharpen_timers();
    const uint64_t deadline =
        now + static_cast<uint64_t>(std::max(timeout_ms, 0)) * (kSecond / 1000);
    const uint64_t until =
        least <= pending_.size() ? std::min(pending_[least - 1].due_ns, deadline) : deadline;
    if (until > now + settings_.spin_ns) sleep_until(until - settings_.spin_ns);
    while ((now = now_ns()) < until) cpu_pause();
  }
  uint32_t count = 0;
  while (count < out.size() && !pending_.empty() && pending_.front().due_ns <= now) {
    const ReadRequest& request = pending_.front().request;
    content_(request.offset, {request.buffer, request.length});
    out[count++] = {request.token, static_cast<int32_t>(request.length)};
    pending_.pop_front();
  }
  return static_cast<int>(count);
}

}  // namespace row_store
