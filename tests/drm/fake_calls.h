// A display driver in memory: one step can be made to fail, and what was not given back shows.
#ifndef ROW_STORE_DRM_FAKE_CALLS_H
#define ROW_STORE_DRM_FAKE_CALLS_H

#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "drm/drm_calls.h"

class FakeCalls final : public row_store::DrmCalls {
 public:
  // Steps that fail, with the errno (positive) that each of them gives.
  std::map<std::string, int> fail;
  row_store::DeviceIdentity identity{true, 226};
  uint64_t capability = 1;
  uint64_t bytes_short = 0;  // how much less than asked the driver makes
  uint64_t pages_there = ~uint64_t{0};

  // What happened.
  std::string opened_node;
  row_store::DumbGeometry geometry{};
  int opens = 0, ioctls = 0;
  bool kept_from_children = false;
  uint64_t touched_bytes = 0;
  // What is still held.
  std::set<int> nodes;
  std::set<uint32_t> handles;
  std::map<uint8_t*, uint64_t> mappings;

  bool nothing_held() const { return nodes.empty() && handles.empty() && mappings.empty(); }

  int open_node(const char* node) override {
    ++opens;
    opened_node = node;
    if (const int error = failing("open")) return error;
    nodes.insert(++last_fd_);
    return last_fd_;
  }
  void close_node(int fd) override {
    if (nodes.erase(fd) != 1) std::abort();
  }
  int identify(int fd, row_store::DeviceIdentity* out) override {
    need_node(fd);
    *out = identity;
    return failing("fstat");
  }
  std::string driver_name(int fd) override {
    ioctl_on(fd);
    return "fakedrm";
  }
  int dumb_capability(int fd, uint64_t* value) override {
    ioctl_on(fd);
    *value = capability;
    return failing("capability");
  }
  int create_dumb(int fd, const row_store::DumbGeometry& wanted,
                  row_store::DumbHandle* made) override {
    ioctl_on(fd);
    geometry = wanted;
    if (const int error = failing("create")) return error;
    handles.insert(++last_handle_);
    const uint64_t pitch = uint64_t{wanted.width_pixels} * wanted.bits_per_pixel / 8;
    *made = {last_handle_, pitch * wanted.height_lines - bytes_short};
    return 0;
  }
  void destroy_dumb(int fd, uint32_t handle) override {
    ioctl_on(fd);
    if (handles.erase(handle) != 1) std::abort();
  }
  int map_offset(int fd, uint32_t handle, uint64_t* offset) override {
    ioctl_on(fd);
    if (handles.count(handle) != 1) std::abort();
    *offset = kOffset;
    return failing("map_offset");
  }
  int map(int fd, uint64_t offset, uint64_t bytes, uint8_t** data) override {
    need_node(fd);
    if (offset != kOffset) std::abort();
    if (const int error = failing("map")) return error;
    *data = static_cast<uint8_t*>(std::aligned_alloc(kPageBytes, bytes));
    mappings[*data] = bytes;
    return 0;
  }
  void unmap(uint8_t* data, uint64_t bytes) override {
    if (mappings[data] != bytes) std::abort();  // whole, or not given back at all
    mappings.erase(data);
    std::free(data);
  }
  int keep_from_children(uint8_t* data, uint64_t bytes) override {
    kept_from_children = mappings.at(data) == bytes;
    return failing("keep_from_children");
  }
  int touch_pages(uint8_t* data, uint64_t bytes, uint64_t* written) override {
    if (mappings.at(data) != bytes) std::abort();
    const uint64_t pages = bytes / kPageBytes;
    for (*written = 0; *written < pages && *written < pages_there; ++*written)
      data[*written * kPageBytes] = 0;
    touched_bytes = *written * kPageBytes;
    return *written < pages ? -EFAULT : 0;
  }

 private:
  static constexpr uint64_t kOffset = 0x10000000;
  static constexpr uint64_t kPageBytes = 4096;

  int failing(const std::string& step) const {
    const auto found = fail.find(step);
    return found != fail.end() ? -found->second : 0;
  }
  void need_node(int fd) const {
    if (nodes.count(fd) != 1) std::abort();
  }
  void ioctl_on(int fd) {
    need_node(fd);
    ++ioctls;
  }

  int last_fd_ = 40;
  uint32_t last_handle_ = 0;
};

#endif  // ROW_STORE_DRM_FAKE_CALLS_H
