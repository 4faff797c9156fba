// A mapped DRM dumb buffer: memory that a display driver hands out, kept for as long as the object.
//
// Not for display: the buffer never becomes a frame. The node is open only while the buffer is
// made, because its first opener becomes DRM master and would keep a display server out; the
// mapping alone keeps the memory, and destruction gives all of it back. The mapping does not exist
// in forked children, and direct reads into it fail with EFAULT: fill it with ordinary stores.
#ifndef ROW_STORE_DRM_DUMB_BUFFER_H
#define ROW_STORE_DRM_DUMB_BUFFER_H

#include <cstdint>
#include <string>

#include "base/status.h"
#include "drm/drm_calls.h"

namespace row_store {

// Whole lines of 16,384 bytes make any such size, and it leaves drivers nothing to round.
inline constexpr uint64_t kDumbUnitBytes = uint64_t{16} << 20;

class DumbBuffer {
 public:
  // bytes: a multiple of kDumbUnitBytes above 0. Every page of the buffer is there when this
  // returns. On failure the text names the step, the node, the errno and what to do; nothing is
  // kept. calls must outlive the buffer.
  static Result<DumbBuffer> create(DrmCalls& calls, const std::string& node, uint64_t bytes);
  ~DumbBuffer();
  DumbBuffer(DumbBuffer&& other) noexcept;
  DumbBuffer& operator=(DumbBuffer&& other) noexcept;

  uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  const std::string& driver() const { return driver_; }
  // In a forked child: the pages are not there, so forget them without unmapping.
  void abandon() { data_ = nullptr, bytes_ = 0; }

 private:
  DumbBuffer(DrmCalls& calls, std::string driver) : calls_(&calls), driver_(std::move(driver)) {}

  DrmCalls* calls_;
  std::string driver_;
  uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace row_store

#endif  // ROW_STORE_DRM_DUMB_BUFFER_H
