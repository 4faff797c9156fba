#include "cache/slab_source.h"

#include <atomic>

namespace row_store {
namespace {

std::atomic<SlabSource*> g_next_source{nullptr};

}  // namespace

void set_next_slab_source(std::unique_ptr<SlabSource> source) {
  // Release publishes the source to the acquire in take; acquire, because this thread deletes what
  // another one may have made.
  delete g_next_source.exchange(source.release(), std::memory_order_acq_rel);
}

std::unique_ptr<SlabSource> take_next_slab_source() {
  return std::unique_ptr<SlabSource>(g_next_source.exchange(nullptr, std::memory_order_acquire));
}

}  // namespace row_store
