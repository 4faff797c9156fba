// Turns the rows of a cache in use into huge pages in the background.
//
// Rows appear page by page while the cache fills, so that it takes no more memory than it uses.
// Once nearly every page was touched there is nothing left to save, and 2 MiB pages spare a hit its
// page walk. Making them takes some 10 ms each on a thread of the pool.
#ifndef ROW_STORE_STORE_HUGE_PAGER_H
#define ROW_STORE_STORE_HUGE_PAGER_H

#include <atomic>

#include "cache/row_cache.h"
#include "io/thread_pool.h"

namespace row_store {

class HugePager final : public Helper {
 public:
  explicit HugePager(const RowCache& cache) : cache_(cache) {}
  ~HugePager() override;

  // The first call starts the work; later ones cost one relaxed load.
  void start();
  void help() override;
  // In a forked child: no thread works for it here.
  void abandon() { started_.store(false, std::memory_order_relaxed); }

 private:
  const RowCache& cache_;
  std::atomic<bool> started_{false};
  std::atomic<bool> stop_{false};
};

}  // namespace row_store

#endif  // ROW_STORE_STORE_HUGE_PAGER_H
