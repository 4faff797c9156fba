#include "store/huge_pager.h"

namespace row_store {

HugePager::~HugePager() {
  stop_.store(true, std::memory_order_relaxed);
  if (started_.load(std::memory_order_relaxed)) ThreadPool::instance().dismiss(this);
}

void HugePager::start() {
  if (started_.load(std::memory_order_relaxed)) return;
  if (!started_.exchange(true, std::memory_order_relaxed)) ThreadPool::instance().ask(this, 1);
}

void HugePager::help() {
  const Slab& slab = cache_.slab();
  for (uint64_t at = 0; at + kHugePageBytes <= slab.bytes(); at += kHugePageBytes) {
    if (stop_.load(std::memory_order_relaxed)) return;
    // One that fails (memory is fragmented, or the kernel is too old) ends it: nothing is forced.
    if (!slab.collapse(at, kHugePageBytes)) return;
  }
}

}  // namespace row_store
