// The one file that includes libdrm's headers.
#include <drm.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xf86drm.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "drm/drm_calls.h"

namespace row_store {
namespace {

int negative_errno(int result) { return result < 0 ? -errno : result; }

// A byte from /dev/zero into every page, by readv: a page that cannot be had is then EFAULT here,
// and not a SIGBUS in the process, or an out-of-memory kill of it. Direct reads could not do this:
// they need pages that the kernel can pin.
int touch_by_readv(int zeros, uint8_t* data, uint64_t bytes, uint64_t* written) {
  const uint64_t page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  constexpr uint64_t kPagesACall = IOV_MAX;
  iovec pages[kPagesACall];
  const uint64_t page_count = bytes / page_bytes;
  while (*written < page_count) {
    const uint64_t count = std::min(page_count - *written, kPagesACall);
    for (uint64_t i = 0; i < count; ++i) pages[i] = {data + (*written + i) * page_bytes, 1};
    const ssize_t done = ::readv(zeros, pages, static_cast<int>(count));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -errno;
    if (done == 0) return -EIO;
    *written += static_cast<uint64_t>(done);
  }
  return 0;
}

class KernelCalls final : public DrmCalls {
 public:
  int open_node(const char* node) override {
    // The node may turn out to be anything: do not wait for it, do not make it a terminal of ours.
    return negative_errno(::open(node, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  }

  void close_node(int fd) override { ::close(fd); }

  int identify(int fd, DeviceIdentity* identity) override {
    struct stat status;
    if (::fstat(fd, &status) != 0) return -errno;
    identity->is_character_device = S_ISCHR(status.st_mode);
    identity->major = major(status.st_rdev);
    return 0;
  }

  std::string driver_name(int fd) override {
    drmVersion* version = drmGetVersion(fd);
    if (version == nullptr) return "unknown";
    std::string name(version->name, static_cast<size_t>(version->name_len));
    drmFreeVersion(version);
    return name;
  }

  int dumb_capability(int fd, uint64_t* value) override {
    return negative_errno(drmGetCap(fd, DRM_CAP_DUMB_BUFFER, value));
  }

  // The ioctls of buffers themselves, since libdrm has functions for them only from 2.4.114 on.
  int create_dumb(int fd, const DumbGeometry& geometry, DumbHandle* made) override {
    drm_mode_create_dumb request{};
    request.width = geometry.width_pixels;
    request.height = geometry.height_lines;
    request.bpp = geometry.bits_per_pixel;
    const int result = negative_errno(drmIoctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &request));
    *made = {request.handle, request.size};
    return result;
  }

  void destroy_dumb(int fd, uint32_t handle) override {
    drm_mode_destroy_dumb request{};
    request.handle = handle;
    drmIoctl(fd, DRM_IOCTL_MODE_DESTROY_DUMB, &request);
  }

  int map_offset(int fd, uint32_t handle, uint64_t* offset) override {
    drm_mode_map_dumb request{};
    request.handle = handle;
    const int result = negative_errno(drmIoctl(fd, DRM_IOCTL_MODE_MAP_DUMB, &request));
    *offset = request.offset;
    return result;
  }

  int map(int fd, uint64_t offset, uint64_t bytes, uint8_t** data) override {
    void* mapped =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (mapped == MAP_FAILED) return -errno;
    *data = static_cast<uint8_t*>(mapped);
    return 0;
  }

  void unmap(uint8_t* data, uint64_t bytes) override { ::munmap(data, bytes); }

  int keep_from_children(uint8_t* data, uint64_t bytes) override {
    return negative_errno(::madvise(data, bytes, MADV_DONTFORK));
  }

  int touch_pages(uint8_t* data, uint64_t bytes, uint64_t* written) override {
    *written = 0;
    const int zeros = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (zeros < 0) return -errno;
    const int result = touch_by_readv(zeros, data, bytes, written);
    ::close(zeros);
    return result;
  }
};

}  // namespace

DrmCalls& kernel_drm_calls() {
  static KernelCalls calls;
  return calls;
}

}  // namespace row_store
