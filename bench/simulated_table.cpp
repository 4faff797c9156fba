#include "bench/simulated_table.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace row_store {
namespace {

// A descriptor that lookups carry and nobody reads. In memory, so that no disk's queue limits the
// depth.
Result<std::unique_ptr<TableFile>> open_placeholder() {
  const int fd = ::memfd_create("simulated", MFD_CLOEXEC);
  if (fd < 0) {
    const int error = errno;
    return Status(ErrorCode::kMemory, error, "cannot make a file in memory");
  }
  Result<std::unique_ptr<TableFile>> file =
      TableFile::open("/proc/self/fd/" + std::to_string(fd), EngineChoice::kBuffered);
  ::close(fd);
  return file;
}

}  // namespace

Result<std::unique_ptr<SimulatedTable>> SimulatedTable::create(uint64_t rows, uint64_t slots,
                                                               const DriveSettings& drive,
                                                               unsigned ways) {
  std::unique_ptr<SimulatedTable> table(new SimulatedTable);
  table->drive_ = drive;
  Result<std::unique_ptr<TableFile>> file = open_placeholder();
  if (!file.ok()) return file.status();
  table->file_ = file.take();
  if (slots != 0) {
    // The budget of a set is what makes set_count() say 1.
    CacheConfig config{rows, ways * kRowBytes, ways, true};
    while (RowCache::set_count(config, 0) == 0) config.budget_bytes += kCacheLineBytes;
    config.budget_bytes *= (slots + ways - 1) / ways;
    Result<std::unique_ptr<RowCache>> cache = RowCache::create(config, nullptr);
    if (!cache.ok()) return cache.status();
    table->cache_ = cache.take();
  }
  RowSources& sources = table->sources_;
  sources.table_rows = rows;
  sources.range = {0, rows};
  sources.cache = table->cache_.get();
  sources.checkpoint = table->file_.get();
  sources.packed = table->file_.get();
  sources.packed_header.layout = PackedLayout::kDense;
  sources.packed_header.range = sources.range;
  sources.packed_header.table_rows = rows;
  return table;
}

void SimulatedTable::row_bytes(uint64_t offset, std::span<uint8_t> out) {
  for (uint64_t at = 0; at < out.size(); at += 8) {
    const uint64_t word = (offset + at) * 0x9E3779B97F4A7C15 ^ (offset + at) >> 7;
    std::memcpy(out.data() + at, &word, std::min<uint64_t>(8, out.size() - at));
  }
}

Result<std::unique_ptr<Context>> SimulatedTable::make_context(uint32_t depth,
                                                              DriveContent content) const {
  Result<std::unique_ptr<Context>> context = Context::create(depth, lookup_scratch_bytes());
  if (context.ok())
    context.value()->set_reader(file_->engine(),
                                std::make_unique<SimulatedDrive>(drive_, std::move(content)));
  return context;
}

void SimulatedTable::fill_row(uint64_t id, uint8_t* row) const {
  row_bytes(sources_.packed_header.row_offset(id), {row, kRowBytes});
}

}  // namespace row_store
