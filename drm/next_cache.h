// The request behind row_store_next_cache_on_drm: the next cache keeps its rows in a dumb buffer.
//
// One request waits at most, for the whole process. It is used up by the next cache, also when that
// one then falls back to ordinary memory: it must not hit a later store. No I/O happens before
// that. Any thread may call.
#ifndef ROW_STORE_DRM_NEXT_CACHE_H
#define ROW_STORE_DRM_NEXT_CACHE_H

#include <cstdint>
#include <memory>
#include <string>

#include "cache/slab_source.h"
#include "drm/drm_calls.h"

namespace row_store {

class DrmSlabSource final : public SlabSource {
 public:
  // calls must outlive the source and its slabs.
  DrmSlabSource(DrmCalls& calls, std::string node, uint64_t bytes)
      : calls_(calls), node_(std::move(node)), bytes_(bytes) {}
  std::unique_ptr<Slab> make_slab(const CacheConfig& config) override;

 private:
  DrmCalls& calls_;
  std::string node_;
  uint64_t bytes_;
};

// Replaces a request that no cache has used. May throw std::bad_alloc.
void request_next_cache(DrmCalls& calls, const char* node, uint64_t bytes);

}  // namespace row_store

#endif  // ROW_STORE_DRM_NEXT_CACHE_H
