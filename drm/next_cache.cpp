#include "drm/next_cache.h"

#include <cinttypes>
#include <cstdio>
#include <optional>

#include "base/fatal.h"
#include "drm/drm_slab.h"
#include "drm/dumb_buffer.h"
#include "format/row_layout.h"

namespace row_store {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::optional<uint64_t> available_mib() {
  FILE* file = std::fopen("/proc/meminfo", "re");
  if (file == nullptr) return std::nullopt;
  char line[128];
  uint64_t kib = 0;
  bool found = false;
  while (!found && std::fgets(line, sizeof line, file) != nullptr)
    found = std::sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1;
  std::fclose(file);
  if (!found) return std::nullopt;
  return kib / 1024;
}

// A driver without a reservation serves such buffers from the memory they were meant to save.
std::string memory_text(std::optional<uint64_t> before, std::optional<uint64_t> after,
                        uint64_t pool_bytes) {
  if (!before || !after) return "";
  std::string text =
      ", MemAvailable " + std::to_string(*before) + " -> " + std::to_string(*after) + " MiB";
  const uint64_t lost = *before > *after ? *before - *after : 0;
  if (lost > pool_bytes / kMiB / 2)
    text += " (the pool came out of ordinary memory: nothing is gained)";
  return text;
}

void log_fallback(const std::string& why) {
  log_line("no row cache on the display reservation: %s; the row cache stays in ordinary memory",
           why.c_str());
}

}  // namespace

std::unique_ptr<Slab> DrmSlabSource::make_slab(const CacheConfig& config) {
  const uint64_t slots = RowCache::set_count(config, bytes_) * config.ways;
  if (bytes_ < config.ways * kRowBytes || slots == 0) {
    log_fallback("size of a pool on " + node_ + ": " + std::to_string(bytes_) +
                 " bytes hold no set of " + std::to_string(config.ways) +
                 " rows; ask for a multiple of 16 MiB");
    return nullptr;
  }
  const std::optional<uint64_t> before = available_mib();
  Result<DumbBuffer> buffer = DumbBuffer::create(calls_, node_, bytes_);
  if (!buffer.ok()) {
    log_fallback(buffer.status().text());
    return nullptr;
  }
  log_line("row cache of %" PRIu64 " bytes on the display reservation (%s): %" PRIu64
           " slots in a pool of %" PRIu64 " bytes, driver %s%s",
           slots * kRowBytes, node_.c_str(), slots, bytes_, buffer.value().driver().c_str(),
           memory_text(before, available_mib(), bytes_).c_str());
  return std::make_unique<DrmSlab>(buffer.take());
}

void request_next_cache(DrmCalls& calls, const char* node, uint64_t bytes) {
  set_next_slab_source(std::make_unique<DrmSlabSource>(calls, node != nullptr ? node : "", bytes));
}

}  // namespace row_store
