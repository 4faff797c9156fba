// The extern "C" bodies: the only place that decides between NULL, 0 and an abort. Nothing is
// thrown across them.
#include "row_store.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "base/checked.h"
#include "base/fatal.h"
#include "base/mutex.h"
#ifdef DSV41_ROW_STORE_DRM
#include "drm/next_cache.h"
#endif
#include "io/context.h"
#include "io/thread_pool.h"
#include "store/store.h"

using row_store::ErrorCode;
using row_store::fatal;
using row_store::Mutex;
using row_store::MutexLock;
using row_store::Result;
using row_store::SharedGate;
using row_store::Status;
using row_store::Store;

namespace {
constexpr uint64_t kHandleMagic =
    0x726f775f73746f72;  // "rots_wor": tells a handle from stray memory
}  // namespace

// Handles outlive their stores (a hundred bytes each), so that a use after close can be told and
// said instead of reading freed memory.
struct row_store_handle {
  const uint64_t magic = kHandleMagic;
  SharedGate gate;
  std::unique_ptr<Store> store;      // under gate; null once closed
  row_store_handle* next = nullptr;  // in g_handles
};

namespace {

struct LastError {
  int code = 0;
  char text[1024] = "";
};
thread_local LastError t_last_error;

struct Handles {
  Mutex mutex;
  row_store_t* first ROW_STORE_GUARDED_BY(mutex) = nullptr;
};

// Leaked on purpose: threads may still run lookups while the process exits.
Handles& handles() {
  static Handles& all = *new Handles;
  return all;
}

void lock_for_fork() ROW_STORE_ANNOTATE(no_thread_safety_analysis) {
  handles().mutex.lock();
  for (auto* handle = handles().first; handle != nullptr; handle = handle->next)
    handle->gate.lock();
}

void unlock_in_parent() ROW_STORE_ANNOTATE(no_thread_safety_analysis) {
  for (auto* handle = handles().first; handle != nullptr; handle = handle->next)
    handle->gate.unlock();
  handles().mutex.unlock();
}

void unlock_in_child() ROW_STORE_ANNOTATE(no_thread_safety_analysis) {
  row_store::ThreadPool::reset_in_child();
  row_store::ContextPool::reset_in_child();
  for (auto* handle = handles().first; handle != nullptr; handle = handle->next) {
    if (handle->store) handle->store->detach_from_parent();
    handle->gate.reset_in_child();
  }
  handles().mutex.unlock();
}

void clear_error() {
  t_last_error.code = 0;
  t_last_error.text[0] = '\0';
}

int errno_of(const Status& status) {
  if (status.sys_errno() != 0) return status.sys_errno();
  return status.code() == ErrorCode::kMemory ? ENOMEM : EINVAL;
}

// A text that is too long loses its middle: it begins with a path and ends with what to try.
void keep_text(const std::string& text) {
  constexpr size_t kRoom = sizeof t_last_error.text - 1;
  constexpr char kGap[] = " [...] ";
  constexpr size_t kGapBytes = sizeof kGap - 1;
  constexpr size_t kHead = (kRoom - kGapBytes) / 2, kTail = kRoom - kGapBytes - kHead;
  char* out = t_last_error.text;
  if (text.size() <= kRoom) {
    std::memcpy(out, text.c_str(), text.size() + 1);
    return;
  }
  std::memcpy(out, text.data(), kHead);
  std::memcpy(out + kHead, kGap, kGapBytes);
  std::memcpy(out + kHead + kGapBytes, text.data() + text.size() - kTail, kTail + 1);
}

// Keeps the error for row_store_last_error, says it, and sets errno last.
void report(const char* call, const Status& status) {
  t_last_error.code = static_cast<int>(status.code());
  keep_text(status.text());
  row_store::log_line("%s: %s [%s]", call, t_last_error.text,
                      row_store::error_code_name(status.code()));
  errno = errno_of(status);
}

// Runs a body whose standard-library parts may throw; the exception becomes a Status.
template <typename Body>
Status guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    // The text fits the string's own buffer: building it cannot throw again.
    return {ErrorCode::kMemory, ENOMEM, "out of memory"};
  } catch (...) {
    return {ErrorCode::kIo, EIO, "internal error"};
  }
}

void check_handle(const char* call, const row_store_t* handle) {
  if (handle == nullptr) fatal(0, "%s: store is NULL", call);
  if (reinterpret_cast<uintptr_t>(handle) % alignof(row_store_handle) != 0 ||
      handle->magic != kHandleMagic)
    fatal(0, "%s: %p is not a store", call, static_cast<const void*>(handle));
}

// A store held for one call, shared or alone; stops the process when it is closed.
class Hold {
 public:
  enum Kind { kShared, kAlone };
  Hold(const char* call, row_store_t* handle, Kind kind) : handle_(handle), kind_(kind) {
    check_handle(call, handle);
    if (kind == kShared) {
      handle->gate.lock_shared();
    } else {
      handle->gate.lock();
    }
    if (handle->store == nullptr) fatal(0, "%s: the store was closed", call);
  }
  ~Hold() {
    if (kind_ == kShared) {
      handle_->gate.unlock_shared();
    } else {
      handle_->gate.unlock();
    }
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  Store* operator->() const { return handle_->store.get(); }

 private:
  row_store_t* handle_;
  Kind kind_;
};

void check_work(const row_store_work& work) {
  if (work.ids == nullptr || work.weights == nullptr || work.scales == nullptr)
    fatal(0, "row_store_lookup: %s is NULL and count is %llu",
          work.ids == nullptr ? "ids" : (work.weights == nullptr ? "weights" : "scales"),
          static_cast<unsigned long long>(work.count));
  const auto bytes = row_store::checked_mul(work.count, row_store::kWeightBytes);
  if (!bytes || *bytes > uint64_t{INT64_MAX})
    fatal(0, "row_store_lookup: count %llu x 256 bytes exceeds the address space",
          static_cast<unsigned long long>(work.count));
}

void load_rows_if_wanted(row_store_t* handle) {
  {
    Hold store("row_store_lookup", handle, Hold::kShared);
    if (!store->wants_rows()) return;
  }
  Hold store("row_store_lookup", handle, Hold::kAlone);
  if (!store->wants_rows()) return;
  const Status status = guarded([&] { return store->load_rows(); });
  if (!status.ok()) fatal(errno_of(status), "%s", status.text().c_str());
}

row_store_t* register_store(std::unique_ptr<Store> store) {
  static const int registered = pthread_atfork(lock_for_fork, unlock_in_parent, unlock_in_child);
  (void)registered;
  auto* handle = new row_store_handle;
  handle->store = std::move(store);
  MutexLock lock(handles().mutex);
  handle->next = handles().first;
  handles().first = handle;
  return handle;
}

}  // namespace

extern "C" {

row_store_t* row_store_open(const char* path, uint64_t rows, uint64_t weight_offset,
                            uint64_t scale_offset, uint64_t cache_budget_bytes) {
  clear_error();
  row_store_t* handle = nullptr;
  const Status status = guarded([&]() -> Status {
    if (path == nullptr || *path == '\0')
      return Status::error(ErrorCode::kArgument, "path is NULL or empty");
    Result<std::unique_ptr<Store>> store =
        Store::open({path, rows, weight_offset, scale_offset, cache_budget_bytes});
    if (!store.ok()) return store.status();
    handle = register_store(store.take());
    return {};
  });
  if (!status.ok()) report("row_store_open", status);
  return handle;
}

void row_store_range(row_store_t* store, uint64_t lo, uint64_t hi) {
  clear_error();
  Hold held("row_store_range", store, Hold::kAlone);
  const Status status = guarded([&] { return held->set_range({lo, hi}); });
  if (!status.ok()) fatal(errno_of(status), "row_store_range: %s", status.text().c_str());
}

int row_store_attach_packed(row_store_t* store, const char* path, uint64_t layer) {
  clear_error();
  Hold held("row_store_attach_packed", store, Hold::kAlone);
  const Status status = guarded([&]() -> Status {
    if (path == nullptr || *path == '\0')
      return Status::error(ErrorCode::kArgument, "path is NULL or empty");
    return held->attach(path, layer);
  });
  if (status.ok()) return 1;
  if (held->strict()) {
    fatal(errno_of(status), "row_store_attach_packed: %s (DSV41_STRICT is on)",
          status.text().c_str());
  }
  report("row_store_attach_packed", status);
  return 0;
}

void row_store_lookup(void* work) {
  if (work == nullptr) fatal(0, "row_store_lookup: work is NULL");
  const row_store_work request = *static_cast<const row_store_work*>(work);
  if (request.count == 0) return;
  check_work(request);
  load_rows_if_wanted(request.store);
  Hold store("row_store_lookup", request.store, Hold::kShared);
  try {
    store->look_up({request.ids, request.weights, request.scales, request.count});
  } catch (...) {
    fatal(ENOMEM, "row_store_lookup: out of memory");
  }
}

void row_store_stats(row_store_t* store, uint64_t* out) {
  if (out == nullptr) fatal(0, "row_store_stats: out is NULL");
  Hold held("row_store_stats", store, Hold::kShared);
  held->copy_stats(out);
}

int row_store_extended_stats(row_store_t* store, row_store_statistics* out) {
  if (out == nullptr) fatal(0, "row_store_extended_stats: out is NULL");
  Hold held("row_store_extended_stats", store, Hold::kShared);
  constexpr uint64_t kLeastBytes = 16;
  if (out->struct_bytes < kLeastBytes) return 0;
  row_store_statistics all{};
  held->copy_statistics(&all);
  all.struct_bytes = std::min<uint64_t>(out->struct_bytes, sizeof all);
  std::memcpy(out, &all, all.struct_bytes);
  return 1;
}

void row_store_close(row_store_t* store) {
  if (store == nullptr) return;
  std::unique_ptr<Store> ended;
  {
    Hold held("row_store_close", store, Hold::kAlone);
    ended = std::move(store->store);
  }
}

int row_store_last_error(char* text, size_t bytes) {
  if (text != nullptr && bytes != 0) {
    const size_t length = std::min(std::strlen(t_last_error.text), bytes - 1);
    std::memcpy(text, t_last_error.text, length);
    text[length] = '\0';
  }
  return t_last_error.code;
}

const char* row_store_error_name(int code) {
  return row_store::error_code_name(static_cast<ErrorCode>(code));
}

#ifdef DSV41_ROW_STORE_DRM
void row_store_next_cache_on_drm(const char* node, uint64_t bytes) {
  try {
    row_store::request_next_cache(row_store::kernel_drm_calls(), node, bytes);
  } catch (...) {
    row_store::log_line(
        "row_store_next_cache_on_drm: out of memory; the next row cache stays in "
        "ordinary memory");
  }
}
#endif

}  // extern "C"
