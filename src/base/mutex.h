// Locks that clang's thread-safety analysis can see. Plain wrappers: no recursion, no timeouts.
#ifndef ROW_STORE_BASE_MUTEX_H
#define ROW_STORE_BASE_MUTEX_H

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#if defined(__clang__)
#define ROW_STORE_ANNOTATE(...) __attribute__((__VA_ARGS__))
#else
#define ROW_STORE_ANNOTATE(...)
#endif
#define ROW_STORE_GUARDED_BY(x) ROW_STORE_ANNOTATE(guarded_by(x))
#define ROW_STORE_REQUIRES(...) ROW_STORE_ANNOTATE(requires_capability(__VA_ARGS__))

#if defined(__SANITIZE_THREAD__)
// Of the sanitizer's runtime, which has no header for it.
extern "C" void AnnotateRWLockReleased(const char* file, int line, const volatile void* lock,
                                       long is_write);
#endif

namespace row_store {

class ROW_STORE_ANNOTATE(capability("mutex")) Mutex {
 public:
  void lock() ROW_STORE_ANNOTATE(acquire_capability()) { mutex_.lock(); }
  void unlock() ROW_STORE_ANNOTATE(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class ROW_STORE_ANNOTATE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ROW_STORE_ANNOTATE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() ROW_STORE_ANNOTATE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits on a Mutex that the caller holds. The analysis cannot see that the predicate runs under it.
class Condition {
 public:
  template <typename Predicate>
  void wait(Mutex& mutex, Predicate ready) ROW_STORE_ANNOTATE(no_thread_safety_analysis) {
    while (!ready()) condition_.wait(mutex);
  }
  void wait_once(Mutex& mutex) { condition_.wait(mutex); }
  // False when `until` passed first.
  template <typename TimePoint, typename Predicate>
  bool wait_until(Mutex& mutex, TimePoint until, Predicate ready)
      ROW_STORE_ANNOTATE(no_thread_safety_analysis) {
    while (!ready())
      if (condition_.wait_until(mutex, until) == std::cv_status::timeout) return ready();
    return true;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable_any condition_;
};

// Many lookups share it; range, attach, close and fork hold it alone. A waiting writer goes first,
// so that a stream of lookups cannot starve it. Not recursive.
class SharedGate {
 public:
  SharedGate() { reset(); }
  SharedGate(const SharedGate&) = delete;
  SharedGate& operator=(const SharedGate&) = delete;

  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }
  void lock() {
    waiting_.fetch_add(1, std::memory_order_relaxed);
    pthread_rwlock_wrlock(&lock_);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  void unlock() { pthread_rwlock_unlock(&lock_); }
  // Whether somebody waits to hold it alone: long work that shares it makes way then.
  bool is_wanted_alone() const { return waiting_.load(std::memory_order_relaxed) != 0; }
  // For the child of a fork, whose only thread holds the gate alone; its old identity is the lock's
  // owner, so that it cannot unlock it.
  void reset_in_child() {
#if defined(__SANITIZE_THREAD__)
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock_, 1);
#endif
    waiting_.store(0, std::memory_order_relaxed);
    reset();
  }

 private:
  void reset() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }

  pthread_rwlock_t lock_;
  std::atomic<uint32_t> waiting_{0};
};

}  // namespace row_store

#endif  // ROW_STORE_BASE_MUTEX_H
