// The process's helper threads: they read for files without asynchronous reads and share the
// copying of very large batches.
//
// Threads start when first asked for, never more than the limit, and live as long as the process.
// They block every signal, so that the host's handlers run on the host's threads. Any thread may
// call.
#ifndef ROW_STORE_IO_THREAD_POOL_H
#define ROW_STORE_IO_THREAD_POOL_H

#include <array>
#include <cstdint>

#include "base/mutex.h"

namespace row_store {

// Work that any number of threads can join at any moment.
class Helper {
 public:
  virtual ~Helper() = default;
  // Runs on a pool thread; returns when there is nothing left to take.
  virtual void help() = 0;
};

class ThreadPool {
 public:
  // thread_limit: helper threads at most, the callers not counted.
  explicit ThreadPool(uint32_t thread_limit) : thread_limit_(thread_limit) {}

  // The process's pool, of DSV41_IO_THREADS - 1 helpers. A forked child gets a new one.
  static ThreadPool& instance();
  static void reset_in_child();

  uint32_t thread_limit() const { return thread_limit_; }

  // Asks for `count` more threads to join; wakes exactly as many as can come. Having none is no
  // error: the caller does all the work itself. False when the request was not kept.
  bool ask(Helper* helper, uint32_t count);
  // Withdraws what was not taken up and waits until no thread is inside help().
  void dismiss(Helper* helper);

 private:
  struct Entry {
    Helper* helper = nullptr;
    uint32_t wanted = 0;
    uint32_t inside = 0;
  };
  // Two helpers for each lookup context, and room for background work.
  static constexpr uint32_t kEntryMax = 64;

  static void* thread_main(void* pool);
  void run();
  Entry* find(const Helper* helper) ROW_STORE_REQUIRES(mutex_);
  Entry* next_wanted() ROW_STORE_REQUIRES(mutex_);
  void start_threads(uint32_t count) ROW_STORE_REQUIRES(mutex_);

  const uint32_t thread_limit_;
  Mutex mutex_;
  Condition work_;
  Condition left_;
  std::array<Entry, kEntryMax> entries_ ROW_STORE_GUARDED_BY(mutex_){};
  uint32_t threads_ ROW_STORE_GUARDED_BY(mutex_) = 0;
  uint32_t idle_ ROW_STORE_GUARDED_BY(mutex_) = 0;
  bool start_failed_ ROW_STORE_GUARDED_BY(mutex_) = false;
};

}  // namespace row_store

#endif  // ROW_STORE_IO_THREAD_POOL_H
