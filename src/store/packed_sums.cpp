#include "store/packed_sums.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/checked.h"

namespace row_store {
namespace {

// What the file has of an extent that begins on a page, in memory of whole pages.
Result<std::span<const uint8_t>> read_extent(const TableFile& file, Extent extent,
                                             const MemoryMap& map) {
  const int64_t got = file.read(map.data(), map.bytes(), extent.offset);
  if (got >= 0) return std::span<const uint8_t>(map.data(), std::min<uint64_t>(got, extent.bytes));
  const int error = static_cast<int>(-got);
  return Status(
      ErrorCode::kIo, error,
      "cannot read the sums at byte " + std::to_string(extent.offset) + ": " + strerror(error));
}

// The head page, and whether there is one.
Result<std::optional<SumsHead>> read_sums_head(const TableFile& file, const PackedHeader& header) {
  const Result<SumsPlace> place = place_sums(header);
  // Records whose sums would not fit a file have none.
  if (!place.ok() && place.status().code() == ErrorCode::kOverflow)
    return std::optional<SumsHead>();
  if (!place.ok()) return place.status();
  const Extent extent{place.value().head_offset, kPageBytes};
  if (extent.offset >= file.bytes()) return std::optional<SumsHead>();
  Result<MemoryMap> page = MemoryMap::create(kPageBytes);
  if (!page.ok()) return page.status();
  const auto bytes = read_extent(file, extent, page.value());
  if (!bytes.ok()) return bytes.status();
  return decode_sums_head(bytes.value(), header, file.bytes());
}

}  // namespace

Result<std::unique_ptr<PackedSums>> PackedSums::load(const TableFile& file,
                                                     const PackedHeader& header,
                                                     std::span<const uint8_t> head,
                                                     const Result<SourceIdentity>& source) {
  const Result<std::optional<SumsHead>> found = read_sums_head(file, header);
  if (!found.ok()) return found.status();
  if (!found.value()) return std::unique_ptr<PackedSums>();
  const SumsHead& sums_head = *found.value();
  if (!source.ok()) return source.status();
  if (Status status = match_source(source.value(), sums_head.source); !status.ok()) return status;
  const Extent table = sums_head.place.table;
  Result<MemoryMap> map = MemoryMap::create(align_up(table.bytes, kPageBytes));
  if (!map.ok()) return map.status();
  // Few pages, and a child that reads the shard must be able to check it.
  map.value().keep_in_children();
  const auto bytes = read_extent(file, table, map.value());
  if (!bytes.ok()) return bytes.status();
  if (Status status = check_sums_table(sums_head, bytes.value()); !status.ok()) return status;
  std::unique_ptr<PackedSums> sums(new PackedSums(map.take(), sums_head));
  if (head.size() == kPackedHeaderBytes && sums->match(0, 1, head.data())) return sums;
  return Status::error(ErrorCode::kChecksum,
                       "packed shard: its header is damaged: bytes 0 to 4095 do not have their "
                       "sum; pack or copy again");
}

bool PackedSums::match(uint64_t offset, uint32_t pages, const uint8_t* bytes) const {
  for (uint32_t page = 0; page < pages; ++page)
    if (!sums_.matches(offset / kPageBytes + page, bytes + page * kPageBytes)) return false;
  return true;
}

}  // namespace row_store
