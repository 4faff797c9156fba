#include "store/resident_scales.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/fatal.h"
#include "base/quiet_thread.h"

namespace row_store {
namespace {

// Long enough for the drive's full rate, short enough that attach and close need not wait long.
constexpr uint64_t kChunkBytes = 1024 * 1024;
constexpr size_t kStackBytes = 128 * 1024;

}  // namespace

Result<std::unique_ptr<ResidentScales>> ResidentScales::start(const TableFile& file,
                                                              uint64_t offset, RowRange range) {
  Result<MemoryMap> map = MemoryMap::create(range.count() * kScaleBytes);
  if (!map.ok()) return map.status();
  // Had before the thread starts: a failure's text allocates, and nothing could catch that there.
  Result<MemoryMap> chunk = MemoryMap::create(kChunkBytes);
  if (!chunk.ok()) return chunk.status();
  std::unique_ptr<ResidentScales> scales(new ResidentScales(file, offset, range, map.take()));
  scales->chunk_ = chunk.take();
  const int error = start_quiet_thread(&scales->thread_, kStackBytes, thread_main, scales.get());
  if (error != 0) {
    return Status(ErrorCode::kMemory, error,
                  std::string("cannot start the thread that loads them: ") + strerror(error));
  }
  scales->running_ = true;
  return scales;
}

ResidentScales::~ResidentScales() {
  stop_.store(true, std::memory_order_relaxed);
  if (running_) pthread_join(thread_, nullptr);
}

void ResidentScales::abandon() {
  loaded_rows_.store(0, std::memory_order_relaxed);
  running_ = false;
  map_.abandon();
  chunk_.abandon();
}

void* ResidentScales::thread_main(void* self) {
  pthread_setname_np(pthread_self(), "row_store_scale");
  static_cast<ResidentScales*>(self)->load();
  return nullptr;
}

void ResidentScales::load() {
  const MemoryMap chunk = std::move(chunk_);  // goes when loading ends
  // Open checked that the scales lie inside the file, so none of these sums wraps.
  const uint64_t begin = offset_ + range_.begin * kScaleBytes;
  const uint64_t end = begin + bytes();
  uint64_t at = begin;
  while (at < end && !stop_.load(std::memory_order_relaxed)) {
    const uint64_t from = align_down(at, kPageBytes);
    const uint64_t length = std::min(kChunkBytes, align_up(end - from, kPageBytes));
    const int64_t got = file_.read(chunk.data(), length, from);
    const uint64_t to = got > 0 ? std::min(from + static_cast<uint64_t>(got), end) : from;
    if (to <= at) {
      log_line(
          "%s: cannot load the scales from byte %llu on: %s; misses of those rows cost a second "
          "read",
          file_.path().c_str(), static_cast<unsigned long long>(at),
          got < 0 ? strerror(static_cast<int>(-got)) : "the file ends there");
      return;
    }
    std::memcpy(map_.data() + (at - begin), chunk.data() + (at - from), to - at);
    at = to;
    // Release: find() reads these bytes after it read the count.
    loaded_rows_.store((at - begin) / kScaleBytes, std::memory_order_release);
  }
}

}  // namespace row_store
