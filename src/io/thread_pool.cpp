#include "io/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/fatal.h"
#include "base/options.h"
#include "base/quiet_thread.h"

namespace row_store {
namespace {

// Helpers run shallow code over fixed scratch.
constexpr size_t kStackBytes = 256 * 1024;

std::atomic<ThreadPool*> g_pool{nullptr};

}  // namespace

ThreadPool& ThreadPool::instance() {
  ThreadPool* pool = g_pool.load(std::memory_order_acquire);
  if (pool == nullptr) {
    auto* fresh = new ThreadPool(process_options().io_threads - 1);
    if (g_pool.compare_exchange_strong(pool, fresh, std::memory_order_acq_rel)) return *fresh;
    delete fresh;
  }
  return *pool;
}

void ThreadPool::reset_in_child() {
  // The parent's threads do not exist here and its mutex may be held by one of them.
  if (g_pool.load(std::memory_order_relaxed) != nullptr)
    g_pool.store(nullptr, std::memory_order_release);
}

ThreadPool::Entry* ThreadPool::find(const Helper* helper) {
  for (Entry& entry : entries_)
    if (entry.helper == helper) return &entry;
  return nullptr;
}

ThreadPool::Entry* ThreadPool::next_wanted() {
  for (Entry& entry : entries_)
    if (entry.wanted != 0) return &entry;
  return nullptr;
}

void ThreadPool::start_threads(uint32_t count) {
  if (start_failed_) return;
  for (; count != 0 && threads_ < thread_limit_; --count) {
    const int error = start_quiet_thread(nullptr, kStackBytes, thread_main, this);
    if (error != 0) {
      start_failed_ = true;
      log_line(
          "cannot start I/O thread %u of %u: %s; going on with %u (raise ulimit -u or lower "
          "DSV41_IO_THREADS)",
          threads_ + 1, thread_limit_, strerror(error), threads_);
      break;
    }
    ++threads_;
    ++idle_;  // it takes its first work as soon as it has the mutex
  }
}

bool ThreadPool::ask(Helper* helper, uint32_t count) {
  count = std::min(count, thread_limit_);
  if (count == 0) return false;
  MutexLock lock(mutex_);
  Entry* entry = find(helper);
  if (entry == nullptr) entry = find(nullptr);
  if (entry == nullptr) return false;
  entry->helper = helper;
  entry->wanted += count;
  if (idle_ < count) start_threads(count - idle_);
  for (uint32_t woken = std::min(count, idle_); woken != 0; --woken) work_.notify_one();
  return true;
}

void ThreadPool::dismiss(Helper* helper) {
  MutexLock lock(mutex_);
  if (Entry* entry = find(helper)) entry->wanted = 0;
  // Looked up anew each time: the last thread to leave frees the entry, and another may take it.
  left_.wait(mutex_, [&]() ROW_STORE_REQUIRES(mutex_) {
    Entry* entry = find(helper);
    if (entry == nullptr) return true;
    if (entry->inside != 0) return false;
    *entry = Entry{};
    return true;
  });
}

void* ThreadPool::thread_main(void* pool) {
  pthread_setname_np(pthread_self(), "row_store_io");
  static_cast<ThreadPool*>(pool)->run();
  return nullptr;
}

void ThreadPool::run() {
  mutex_.lock();
  for (;;) {
    Entry* entry = next_wanted();
    if (entry == nullptr) {
      work_.wait_once(mutex_);
      continue;
    }
    --idle_;
    --entry->wanted;
    ++entry->inside;
    Helper* helper = entry->helper;
    mutex_.unlock();
    helper->help();
    mutex_.lock();
    ++idle_;
    if (--entry->inside != 0) continue;
    // Freed, so that helpers that live on (one for each full cache) do not use up the entries.
    if (entry->wanted == 0) *entry = Entry{};
    left_.notify_all();
  }
}

}  // namespace row_store
