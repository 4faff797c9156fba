#include "store/resident_rows.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/checked.h"
#include "base/fatal.h"

namespace row_store {
namespace {

constexpr uint64_t kChunkBytes = 4 * 1024 * 1024;

// Loading beyond what is free would end in the out-of-memory killer, with the server as its victim.
uint64_t physical_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page)
                               : UINT64_MAX;
}

}  // namespace

Result<std::unique_ptr<ResidentRows>> ResidentRows::load(const TableFile& file,
                                                         uint64_t weight_offset,
                                                         uint64_t scale_offset, RowRange range) {
  const uint64_t bytes = range.count() * kRowBytes;
  if (bytes > physical_bytes()) {
    return Status(ErrorCode::kMemory, ENOMEM,
                  "OFFLOAD_MODE=ram needs " + std::to_string(bytes) + " bytes for " +
                      std::to_string(range.count()) + " rows and the machine has " +
                      std::to_string(physical_bytes()) +
                      "; unset OFFLOAD_MODE or spread the table over more ranks");
  }
  Result<MemoryMap> map = MemoryMap::create(std::max<uint64_t>(bytes, 1));
  if (!map.ok()) return map.status();
  std::unique_ptr<ResidentRows> rows(new ResidentRows(range, map.take()));
  const Extent weights{weight_offset + range.begin * kWeightBytes, range.count() * kWeightBytes};
  const Extent scales{scale_offset + range.begin * kScaleBytes, range.count() * kScaleBytes};
  if (Status status = rows->load_part(file, weights, kWeightBytes, 0); !status.ok()) return status;
  if (Status status = rows->load_part(file, scales, kScaleBytes, kWeightBytes); !status.ok())
    return status;
  const bool locked = bytes == 0 || ::mlock(rows->map_.data(), bytes) == 0;
  const int error = errno;
  log_line("%s: rows [%llu, %llu) are in memory, %llu bytes, %s%s", file.path().c_str(),
           static_cast<unsigned long long>(range.begin), static_cast<unsigned long long>(range.end),
           static_cast<unsigned long long>(bytes),
           locked ? "locked" : "not locked: ", locked ? "" : strerror(error));
  return rows;
}

Status ResidentRows::load_part(const TableFile& file, Extent extent, uint64_t part_bytes,
                               uint64_t row_offset) {
  Result<MemoryMap> chunk = MemoryMap::create(kChunkBytes);
  if (!chunk.ok()) return chunk.status();
  const uint64_t end = extent.offset + extent.bytes;
  uint8_t* row = map_.data() + row_offset;
  uint64_t at = extent.offset;
  while (at < end) {
    const uint64_t from = align_down(at, kPageBytes);
    const uint64_t length = std::min(kChunkBytes, align_up(end - from, kPageBytes));
    const int64_t got = file.read(chunk.value().data(), length, from);
    const uint64_t to = got > 0 ? std::min(from + static_cast<uint64_t>(got), end) : from;
    // Whole parts only; a chunk holds thousands, so there is progress unless the file ends.
    const uint64_t parts = to > at ? (to - at) / part_bytes : 0;
    if (parts == 0) {
      const int error = got < 0 ? static_cast<int>(-got) : EIO;
      return {ErrorCode::kIo, error,
              file.path() + ": cannot read rows at byte " + std::to_string(at) + ": " +
                  (got < 0 ? strerror(error) : "the file ends there")};
    }
    const uint8_t* part = chunk.value().data() + (at - from);
    for (uint64_t i = 0; i < parts; ++i, part += part_bytes, row += kRowBytes)
      std::memcpy(row, part, part_bytes);
    at += parts * part_bytes;
  }
  return {};
}

}  // namespace row_store
