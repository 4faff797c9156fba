// Where the next cache gets a slab other than ordinary memory from: the seam that drm/ plugs into.
//
// One source waits at most, for the whole process, and serves one cache: whoever takes it has used
// it up, also when it then gives no slab. A build or a process without a source never sees any of
// this. Any thread may call; nothing here takes a lock, so a fork cannot leave one held.
#ifndef ROW_STORE_CACHE_SLAB_SOURCE_H
#define ROW_STORE_CACHE_SLAB_SOURCE_H

#include <memory>

#include "cache/row_cache.h"
#include "cache/slab.h"

namespace row_store {

class SlabSource {
 public:
  virtual ~SlabSource() = default;
  // A slab that holds at least one set of this cache, or null for ordinary memory. Says in one line
  // which of the two it is, and why.
  virtual std::unique_ptr<Slab> make_slab(const CacheConfig& config) = 0;
};

// Replaces a source that nobody has taken yet.
void set_next_slab_source(std::unique_ptr<SlabSource> source);
// Null when none waits.
std::unique_ptr<SlabSource> take_next_slab_source();

}  // namespace row_store

#endif  // ROW_STORE_CACHE_SLAB_SOURCE_H
