// A cache's rows in a dumb buffer.
#ifndef ROW_STORE_DRM_DRM_SLAB_H
#define ROW_STORE_DRM_DRM_SLAB_H

#include <utility>

#include "cache/slab.h"
#include "drm/dumb_buffer.h"

namespace row_store {

class DrmSlab final : public Slab {
 public:
  explicit DrmSlab(DumbBuffer buffer) : buffer_(std::move(buffer)) {}
  uint8_t* data() const override { return buffer_.data(); }
  uint64_t bytes() const override { return buffer_.bytes(); }
  // True of nvidia-drm; where a driver maps its buffers cached, it costs speed and no byte.
  bool write_combined() const override { return true; }
  const char* backing() const override { return "drm"; }
  void abandon() override { buffer_.abandon(); }

 private:
  DumbBuffer buffer_;
};

}  // namespace row_store

#endif  // ROW_STORE_DRM_DRM_SLAB_H
