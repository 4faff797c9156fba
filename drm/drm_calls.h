// The system calls that a dumb buffer needs, one function a step, so that a test can make each
// fail.
//
// Every int result is 0 (open: the descriptor) or a negative errno. Not a wrapper of DRM at large.
// Implementations are stateless or used by one thread; the kernel's are the former.
#ifndef ROW_STORE_DRM_DRM_CALLS_H
#define ROW_STORE_DRM_DRM_CALLS_H

#include <cstdint>
#include <string>

namespace row_store {

struct DumbGeometry {
  uint32_t width_pixels;
  uint32_t height_lines;
  uint32_t bits_per_pixel;
};

struct DumbHandle {
  uint32_t handle = 0;
  uint64_t bytes = 0;  // as the driver made it
};

struct DeviceIdentity {
  bool is_character_device = false;
  unsigned major = 0;
};

class DrmCalls {
 public:
  virtual ~DrmCalls() = default;
  virtual int open_node(const char* node) = 0;
  virtual void close_node(int fd) = 0;
  virtual int identify(int fd, DeviceIdentity* identity) = 0;
  // "unknown" when the driver does not say.
  virtual std::string driver_name(int fd) = 0;
  virtual int dumb_capability(int fd, uint64_t* value) = 0;
  virtual int create_dumb(int fd, const DumbGeometry& geometry, DumbHandle* made) = 0;
  virtual void destroy_dumb(int fd, uint32_t handle) = 0;
  virtual int map_offset(int fd, uint32_t handle, uint64_t* offset) = 0;
  virtual int map(int fd, uint64_t offset, uint64_t bytes, uint8_t** data) = 0;
  virtual void unmap(uint8_t* data, uint64_t bytes) = 0;
  virtual int keep_from_children(uint8_t* data, uint64_t bytes) = 0;
  // Writes one byte of every page, so that the pages are there; *written counts the pages done.
  virtual int touch_pages(uint8_t* data, uint64_t bytes, uint64_t* written) = 0;
};

// The kernel's. Only in builds with libdrm.
DrmCalls& kernel_drm_calls();

}  // namespace row_store

#endif  // ROW_STORE_DRM_DRM_CALLS_H
