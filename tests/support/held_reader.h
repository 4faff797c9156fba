// A reader whose reads come back only once they are let go: holds a background read where a test
// wants it.
#ifndef ROW_STORE_TESTS_SUPPORT_HELD_READER_H
#define ROW_STORE_TESTS_SUPPORT_HELD_READER_H

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>

#include "io/pread_full.h"
#include "io/reader.h"

class Hold {
 public:
  void let_go(bool free = true) {
    const std::lock_guard lock(mutex_);
    free_ = free;
    changed_.notify_all();
  }
  // Until so many reads were sent, in all.
  void wait_for(uint64_t sent) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return sent_ >= sent; });
  }
  uint64_t sent() {
    const std::lock_guard lock(mutex_);
    return sent_;
  }

  void count_sent(uint64_t reads) {
    const std::lock_guard lock(mutex_);
    sent_ += reads;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return free_; });
  }
  bool is_free() {
    const std::lock_guard lock(mutex_);
    return free_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool free_ = false;
  uint64_t sent_ = 0;
};

class HeldReader final : public row_store::Reader {
 public:
  explicit HeldReader(Hold& hold) : hold_(hold) {}
  void prepare(const row_store::ReadRequest& request) override {
    requests_.push_back(request);
    ++unsent_;
  }
  int submit() override {
    hold_.count_sent(unsent_);
    unsent_ = 0;
    return 0;
  }
  int reap(std::span<row_store::ReadCompletion> out, uint32_t least, int) override {
    if (least == 0 && !hold_.is_free()) return 0;
    hold_.pass();
    const size_t count = std::min(out.size(), requests_.size());
    for (size_t i = 0; i < count; ++i) {
      const row_store::ReadRequest request = requests_.front();
      requests_.pop_front();
      out[i] = {request.token, static_cast<int32_t>(row_store::pread_full(
                                   request.fd, request.buffer, request.length, request.offset))};
    }
    return static_cast<int>(count);
  }

 private:
  Hold& hold_;
  std::deque<row_store::ReadRequest> requests_;
  uint64_t unsent_ = 0;
};

#endif  // ROW_STORE_TESTS_SUPPORT_HELD_READER_H
