#include "io/context.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "base/mutex.h"
#include "io/aio_reader.h"
#include "io/pool_reader.h"
#include "io/uring_reader.h"

namespace row_store {

const char* engine_name(Engine engine) {
  switch (engine) {
    case Engine::kUring:
      return "io_uring";
    case Engine::kAio:
      return "aio";
    case Engine::kPool:
      break;
  }
  return "threads";
}

Result<std::unique_ptr<Reader>> make_reader(Engine engine, uint32_t depth) {
  switch (engine) {
    case Engine::kUring:
      return make_uring_reader(depth);
    case Engine::kAio:
      return make_aio_reader(depth);
    case Engine::kPool:
      break;
  }
  return std::unique_ptr<Reader>(std::make_unique<PoolReader>(depth));
}

Result<std::unique_ptr<Context>> Context::create(uint32_t depth, uint64_t scratch_bytes) {
  Result<MemoryMap> buffers = MemoryMap::create(depth * kBufferBytes);
  if (!buffers.ok()) return buffers.status();
  Result<MemoryMap> scratch = MemoryMap::create(scratch_bytes);
  if (!scratch.ok()) return scratch.status();
  std::unique_ptr<Context> context(new Context);
  context->depth_ = depth;
  context->buffers_ = buffers.take();
  context->scratch_ = scratch.take();
  return context;
}

Context::~Context() = default;

Result<Reader*> Context::reader(Engine engine) {
  std::unique_ptr<Reader>& reader = readers_[static_cast<uint32_t>(engine)];
  if (!reader) {
    Result<std::unique_ptr<Reader>> made = make_reader(engine, depth_);
    if (!made.ok()) return made.status();
    reader = made.take();
  }
  return reader.get();
}

void Context::set_reader(Engine engine, std::unique_ptr<Reader> reader) {
  readers_[static_cast<uint32_t>(engine)] = std::move(reader);
}

struct ContextPool::State {
  Mutex mutex;
  Condition released;
  std::array<std::unique_ptr<Context>, kContextMax> contexts ROW_STORE_GUARDED_BY(mutex);
  std::array<Context*, kContextMax> free ROW_STORE_GUARDED_BY(mutex){};
  uint32_t made ROW_STORE_GUARDED_BY(mutex) = 0;
  uint32_t free_count ROW_STORE_GUARDED_BY(mutex) = 0;
};

namespace {
std::atomic<ContextPool*> g_contexts{nullptr};
}  // namespace

ContextPool::ContextPool() : state_(std::make_unique<State>()) {}

ContextPool& ContextPool::instance() {
  ContextPool* pool = g_contexts.load(std::memory_order_acquire);
  if (pool == nullptr) {
    auto* fresh = new ContextPool;
    if (g_contexts.compare_exchange_strong(pool, fresh, std::memory_order_acq_rel)) return *fresh;
    delete fresh;
  }
  return *pool;
}

void ContextPool::reset_in_child() {
  // Rings and buffers are not in the child; the objects are left alone.
  if (g_contexts.load(std::memory_order_relaxed) != nullptr)
    g_contexts.store(nullptr, std::memory_order_release);
}

Result<Context*> ContextPool::acquire(uint32_t depth, uint64_t scratch_bytes) {
  State& state = *state_;
  MutexLock lock(state.mutex);
  for (;;) {
    if (state.free_count != 0) return state.free[--state.free_count];
    if (state.made < kContextMax) {
      Result<std::unique_ptr<Context>> made = Context::create(depth, scratch_bytes);
      if (made.ok()) {
        Context* context = made.value().get();
        state.contexts[state.made++] = made.take();
        return context;
      }
      if (state.made == 0) return made.status();
    }
    state.released.wait_once(state.mutex);
  }
}

void ContextPool::release(Context* context) {
  State& state = *state_;
  MutexLock lock(state.mutex);
  state.free[state.free_count++] = context;
  state.released.notify_one();
}

}  // namespace row_store
