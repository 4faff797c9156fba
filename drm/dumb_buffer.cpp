#include "drm/dumb_buffer.h"

#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace row_store {
namespace {

constexpr unsigned kDrmMajor = 226;
constexpr uint32_t kWidthPixels = 4096;
constexpr uint32_t kBitsPerPixel = 32;
constexpr uint64_t kLineBytes = uint64_t{kWidthPixels} * kBitsPerPixel / 8;

constexpr const char* kNameACard =
    "name the GPU's card node, such as /dev/dri/card0 (not a render node)";
constexpr const char* kLoadModeset =
    "load nvidia-drm with modeset=1 fbdev=0 on a headless host, or name another card of /dev/dri";
constexpr const char* kFreeTheReserve =
    "ask for fewer bytes, and leave the display reservation free: no display server or console on "
    "it (headless, fbdev=0), no other pool, firmware reserve of 2 GB";
constexpr const char* kSeeDocs = "docs/display-reserve.md lists what to check";

// The node while the buffer is made; closes itself.
class OpenNode {
 public:
  OpenNode(DrmCalls& calls, int fd) : calls_(calls), fd_(fd) {}
  ~OpenNode() { calls_.close_node(fd_); }
  OpenNode(const OpenNode&) = delete;
  OpenNode& operator=(const OpenNode&) = delete;
  int fd() const { return fd_; }

 private:
  DrmCalls& calls_;
  int fd_;
};

Status failure(const char* step, const std::string& node, int error, const std::string& found,
               const char* remedy) {
  std::string text = std::string(step) + " " + node + ": " + found;
  if (error != 0)
    text += std::string(std::strerror(error)) + " (errno " + std::to_string(error) + ")";
  return {ErrorCode::kUnsupported, error, text + "; " + remedy};
}

const char* open_remedy(int error) {
  switch (error) {
    case ENOENT:
    case ENXIO:
    case ENODEV:
      return "no such device here: load nvidia-drm with modeset=1 fbdev=0 and hand the node to the "
             "container (--device)";
    case EACCES:
    case EPERM:
      return "join the node's group (video) and hand the device to the container (--device, "
             "--group-add)";
    default:
      return kNameACard;
  }
}

const char* create_remedy(int error) {
  switch (error) {
    case ENOSYS:
    case EOPNOTSUPP:
      return kLoadModeset;
    case EACCES:
    case EPERM:
      return kNameACard;
    case ENOMEM:
    case ENOSPC:
    case EINVAL:  // more than 32 bits of size
      return kFreeTheReserve;
    default:
      return kSeeDocs;
  }
}

Status check_size(const std::string& node, uint64_t bytes) {
  const std::string found = std::to_string(bytes) + " bytes asked for";
  if (bytes == 0 || bytes % kDumbUnitBytes != 0)
    return failure("size of a pool on", node, 0, found, "ask for a multiple of 16 MiB");
  if (bytes / kLineBytes > std::numeric_limits<uint32_t>::max())
    return failure("size of a pool on", node, 0, found, kFreeTheReserve);
  return {};
}

// An ioctl number sent to another driver's device can mean anything there, so the device is known
// to be DRM's before the first one.
Status check_identity(DrmCalls& calls, int fd, const std::string& node) {
  DeviceIdentity identity;
  if (const int error = -calls.identify(fd, &identity))
    return failure("fstat of", node, error, "", kNameACard);
  if (!identity.is_character_device)
    return failure("type of", node, 0, "not a character device", kNameACard);
  if (identity.major != kDrmMajor) {
    return failure("type of", node, 0,
                   "not a DRM device: major number " + std::to_string(identity.major) +
                       ", DRM's is " + std::to_string(kDrmMajor),
                   kNameACard);
  }
  return {};
}

// Creates the buffer, of exactly `bytes`. A driver that cannot say what it can do (vgem) may still
// do it, so only a clear "no" counts before the attempt.
Result<uint32_t> create_dumb(DrmCalls& calls, int fd, const std::string& node, uint64_t bytes) {
  uint64_t capability = 0;
  const int unanswered = -calls.dumb_capability(fd, &capability);
  if (unanswered == 0 && capability == 0)
    return failure("dumb-buffer capability of", node, 0, "the driver has none", kLoadModeset);
  const DumbGeometry geometry{kWidthPixels, static_cast<uint32_t>(bytes / kLineBytes),
                              kBitsPerPixel};
  DumbHandle made;
  if (const int error = -calls.create_dumb(fd, geometry, &made)) {
    return failure("CREATE_DUMB of", std::to_string(bytes) + " bytes on " + node, error, "",
                   create_remedy(error));
  }
  if (made.bytes != bytes) {
    calls.destroy_dumb(fd, made.handle);
    return failure(
        "size of the buffer on", node, 0,
        std::to_string(bytes) + " bytes asked for, the driver made " + std::to_string(made.bytes),
        kSeeDocs);
  }
  return made.handle;
}

}  // namespace

Result<DumbBuffer> DumbBuffer::create(DrmCalls& calls, const std::string& node, uint64_t bytes) {
  if (Status status = check_size(node, bytes); !status.ok()) return status;
  const int fd = calls.open_node(node.c_str());
  if (fd < 0) return failure("open", node, -fd, "", open_remedy(-fd));
  const OpenNode open(calls, fd);
  if (Status status = check_identity(calls, fd, node); !status.ok()) return status;
  DumbBuffer buffer(calls, calls.driver_name(fd));
  const Result<uint32_t> handle = create_dumb(calls, fd, node, bytes);
  if (!handle.ok()) return handle.status();

  // From here on the mapping alone keeps the buffer: the handle goes whether or not there is one.
  uint64_t offset = 0;
  int map_error = -calls.map_offset(fd, handle.value(), &offset);
  const char* step = "MAP_DUMB on";
  if (map_error == 0) {
    step = "mmap of";
    map_error = -calls.map(fd, offset, bytes, &buffer.data_);
  }
  calls.destroy_dumb(fd, handle.value());
  if (map_error != 0) return failure(step, node, map_error, "", kFreeTheReserve);
  buffer.bytes_ = bytes;

  if (const int error = -calls.keep_from_children(buffer.data_, bytes))
    return failure("madvise(MADV_DONTFORK) of", node, error, "", kSeeDocs);
  uint64_t pages = 0;
  if (const int error = -calls.touch_pages(buffer.data_, bytes, &pages)) {
    return failure("first write to", node, error,
                   "the pool has only " + std::to_string(pages) + " pages: ", kFreeTheReserve);
  }
  return buffer;
}

DumbBuffer::~DumbBuffer() {
  if (data_ != nullptr) calls_->unmap(data_, bytes_);
}

DumbBuffer::DumbBuffer(DumbBuffer&& other) noexcept
    : calls_(other.calls_),
      driver_(std::move(other.driver_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DumbBuffer& DumbBuffer::operator=(DumbBuffer&& other) noexcept {
  std::swap(calls_, other.calls_);
  std::swap(driver_, other.driver_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace row_store
