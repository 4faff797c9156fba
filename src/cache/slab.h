// Where the cache's row bytes live: ordinary memory here, a DRM dumb buffer in drm/.
//
// A slab is plain bytes; tags, locks and replacement state never live in it, because memory behind
// it may be uncached or write-combined.
#ifndef ROW_STORE_CACHE_SLAB_H
#define ROW_STORE_CACHE_SLAB_H

#include <cstdint>
#include <memory>

#include "base/memory_map.h"

namespace row_store {

class Slab {
 public:
  virtual ~Slab() = default;
  virtual uint8_t* data() const = 0;
  virtual uint64_t bytes() const = 0;
  // Reads are uncached and stores unordered: rows are copied once, in wide loads, under the set
  // lock.
  virtual bool write_combined() const = 0;
  // Turns a touched stretch into huge pages where that is possible; see MemoryMap::collapse.
  virtual bool collapse(uint64_t /*offset*/, uint64_t /*bytes*/) const { return false; }
  // What kind of memory this is, in a word for logs: "memory", "drm".
  virtual const char* backing() const = 0;
  // In a forked child, where the pages do not exist: forget them without unmapping.
  virtual void abandon() = 0;
};

class MemorySlab final : public Slab {
 public:
  explicit MemorySlab(MemoryMap map) : map_(std::move(map)) {}
  uint8_t* data() const override { return map_.data(); }
  uint64_t bytes() const override { return map_.bytes(); }
  bool write_combined() const override { return false; }
  bool collapse(uint64_t offset, uint64_t bytes) const override {
    return map_.collapse(offset, bytes);
  }
  const char* backing() const override { return "memory"; }
  void abandon() override { map_.abandon(); }

 private:
  MemoryMap map_;
};

}  // namespace row_store

#endif  // ROW_STORE_CACHE_SLAB_H
