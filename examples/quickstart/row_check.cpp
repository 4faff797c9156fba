#include "quickstart/row_check.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "checkpoint/row_bytes.h"

namespace row_store::examples {
namespace {

bool read_exactly(int fd, uint8_t* out, uint64_t bytes, uint64_t offset) {
  ssize_t got;
  do {
    got = pread(fd, out, bytes, static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(bytes);
}

}  // namespace

Result<RowCheck> RowCheck::make(uint64_t layer, uint64_t seed,
                                const checkpoint::TableLocation& location, RowRange range,
                                uint64_t sample_every) {
  RowCheck check;
  check.layer_ = layer;
  check.seed_ = seed;
  check.location_ = location;
  check.range_ = range;
  check.sample_every_ = seed != 0 ? 1 : sample_every;
  if (seed == 0) {
    check.fd_ = open(location.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (check.fd_ < 0) {
      return Status(ErrorCode::kIo, errno,
                    "cannot open " + location.path + ": " + std::strerror(errno));
    }
  }
  return check;
}

RowCheck::RowCheck(RowCheck&& other) noexcept
    : layer_(other.layer_),
      seed_(other.seed_),
      location_(std::move(other.location_)),
      range_(other.range_),
      sample_every_(other.sample_every_),
      fd_(std::exchange(other.fd_, -1)),
      rows_seen_(other.rows_seen_),
      checked_(other.checked_),
      wrong_(other.wrong_),
      first_wrong_(std::move(other.first_wrong_)) {}

RowCheck::~RowCheck() {
  if (fd_ >= 0) close(fd_);
}

bool RowCheck::row_is_right(uint64_t id, const uint8_t* weights, const uint8_t* scales) {
  uint8_t row[kRowBytes] = {};
  if (range_.contains(id)) {
    if (seed_ != 0) {
      checkpoint::fill_row(seed_, layer_, id, row);
    } else if (!read_exactly(fd_, row, kWeightBytes, location_.weight_offset + id * kWeightBytes) ||
               !read_exactly(fd_, row + kWeightBytes, kScaleBytes,
                             location_.scale_offset + id * kScaleBytes)) {
      return false;
    }
  }
  return std::memcmp(weights, row, kWeightBytes) == 0 &&
         std::memcmp(scales, row + kWeightBytes, kScaleBytes) == 0;
}

void RowCheck::check(std::span<const int64_t> ids, const uint8_t* weights, const uint8_t* scales) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<uint64_t>(ids[i]);
    if (range_.contains(id) && rows_seen_++ % sample_every_ != 0) continue;
    ++checked_;
    if (row_is_right(id, weights + i * kWeightBytes, scales + i * kScaleBytes)) continue;
    if (wrong_++ == 0) {
      first_wrong_ = "layer " + std::to_string(layer_) + ", row " + std::to_string(id) +
                     ", place " + std::to_string(i) + " of a call of " + std::to_string(ids.size());
    }
  }
}

}  // namespace row_store::examples
