#include "guest/every_slot.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "cache/set_table.h"
#include "format/packed_shard.h"
#include "guest/pool_client.h"
#include "support/temp_dir.h"

// The rows of seven million slots, twice, are gigabytes that a guest has no room for. The shard is
// a file of holes, and reads of it are answered here with rows that are a function of their id: the
// library's call of pread finds this one.
namespace {

constexpr uint64_t kRow = ROW_STORE_ROW_BYTES;
constexpr uint64_t kRowWords = kRow / 8;
std::atomic<int> g_shard{-1};

uint64_t word_of(uint64_t id, uint64_t word) {
  return row_store::mix_id(id + 1) + word * 0x9E3779B97F4A7C15;
}

void synthesise(uint8_t* out, uint64_t length, uint64_t offset) {
  uint64_t row[kRowWords];
  while (length > 0) {
    if (offset < row_store::kPackedHeaderBytes) std::abort();
    const uint64_t id = (offset - row_store::kPackedHeaderBytes) / kRow;
    const uint64_t from = (offset - row_store::kPackedHeaderBytes) % kRow;
    for (uint64_t word = 0; word < kRowWords; ++word) row[word] = word_of(id, word);
    const uint64_t bytes = std::min(length, kRow - from);
    std::memcpy(out, reinterpret_cast<const uint8_t*>(row) + from, bytes);
    out += bytes, offset += bytes, length -= bytes;
  }
}

using Pread = ssize_t (*)(int, void*, size_t, off_t);

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t pread(int fd, void* out, size_t length,
                                                                off_t offset) {
  static const auto real = reinterpret_cast<Pread>(::dlsym(RTLD_NEXT, "pread"));
  if (fd != g_shard.load(std::memory_order_relaxed)) return real(fd, out, length, offset);
  synthesise(static_cast<uint8_t*>(out), length, static_cast<uint64_t>(offset));
  return static_cast<ssize_t>(length);
}

namespace {

constexpr unsigned kWays = 12;

// The first ids, in order, of which each set gets kWays for the first half and kWays for the
// second.
class IdStream {
 public:
  IdStream(uint64_t sets, unsigned half)
      : table_(nullptr, nullptr, sets, kWays, true), half_(half), taken_(sets, 0) {}

  // Up to `room` ids; 0 when every set has its share.
  uint64_t next(int64_t* ids, uint64_t room) {
    uint64_t count = 0;
    while (count < room && full_sets_ < taken_.size()) {
      const uint64_t set = table_.set_of(id_);
      if (taken_[set] < 2 * kWays) {
        if (taken_[set] / kWays == half_) ids[count++] = static_cast<int64_t>(id_);
        if (++taken_[set] == (half_ + 1) * kWays) ++full_sets_;
      }
      ++id_;
    }
    return count;
  }
  uint64_t ids_seen() const { return id_; }

 private:
  row_store::SetTable12 table_;
  unsigned half_;
  std::vector<uint8_t> taken_;
  uint64_t full_sets_ = 0;
  uint64_t id_ = 0;
};

bool row_is(uint64_t id, const uint8_t* weights, const uint8_t* scales) {
  uint64_t row[kRowWords];
  std::memcpy(row, weights, ROW_STORE_WEIGHT_BYTES);
  std::memcpy(row + ROW_STORE_WEIGHT_BYTES / 8, scales, ROW_STORE_SCALE_BYTES);
  uint64_t wrong = 0;
  for (uint64_t word = 0; word < kRowWords; ++word) wrong |= row[word] ^ word_of(id, word);
  return wrong == 0;
}

// Looks up one half's ids; true when every row was exact. *rows counts them.
bool look_up_half(row_store_t* store, uint64_t sets, unsigned half, uint64_t* rows) {
  constexpr uint64_t kBatch = 32768;
  std::vector<int64_t> ids(kBatch);
  std::vector<uint8_t> weights(kBatch * ROW_STORE_WEIGHT_BYTES);
  std::vector<uint8_t> scales(kBatch * ROW_STORE_SCALE_BYTES);
  IdStream stream(sets, half);
  uint64_t wrong = 0;
  *rows = 0;
  while (const uint64_t count = stream.next(ids.data(), kBatch)) {
    row_store_work work{store, ids.data(), weights.data(), scales.data(), count};
    row_store_lookup(&work);
    for (uint64_t i = 0; i < count; ++i)
      wrong += !row_is(static_cast<uint64_t>(ids[i]), &weights[i * ROW_STORE_WEIGHT_BYTES],
                       &scales[i * ROW_STORE_SCALE_BYTES]);
    *rows += count;
  }
  if (wrong != 0) std::printf("%" PRIu64 " rows with wrong bytes\n", wrong);
  return wrong == 0;
}

// The descriptor under which the library has the shard open.
int descriptor_of(const std::string& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) == path)
      return std::atoi(entry.path().filename().c_str());
  }
  return -1;
}

bool make_files(const std::string& table, const std::string& shard, uint64_t rows) {
  row_store::PackedHeader header;
  header.layer = 1;
  header.range = {0, rows};
  header.table_rows = rows;
  const auto bytes = row_store::encode_packed_header(header);
  FILE* file = std::fopen(shard.c_str(), "w");
  if (file == nullptr || std::fwrite(bytes.data(), bytes.size(), 1, file) != 1) return false;
  std::fclose(file);
  file = std::fopen(table.c_str(), "w");
  if (file == nullptr) return false;
  std::fputs("a table of bare extents", file);
  std::fclose(file);
  return ::truncate(shard.c_str(), static_cast<off_t>(header.records_end().value())) == 0 &&
         ::truncate(table.c_str(), static_cast<off_t>(4096 + rows * kRow)) == 0;
}

// Each half's rows fill the cache exactly; read again they are all hits.
bool write_and_read_half(row_store_t* store, uint64_t sets, unsigned half) {
  const auto from = std::chrono::steady_clock::now();
  const uint64_t slots = sets * kWays;
  const row_store_statistics before = statistics(store);
  uint64_t rows = 0;
  bool right = look_up_half(store, sets, half, &rows);
  const row_store_statistics written = statistics(store);
  right &= check(rows == slots, "as many rows as slots");
  right &= check(written.misses - before.misses == slots, "each row is new to the cache");
  right &= check(written.evictions - before.evictions == half * slots,
                 "the first rows evict none, the others one each");
  right &= look_up_half(store, sets, half, &rows);
  const row_store_statistics read = statistics(store);
  right &= check(read.hits - written.hits == slots, "each slot gives its row back");
  right &= check(read.misses == written.misses, "no row needed a file again");
  std::printf("half %u: %" PRIu64 " slots written and read back in %lld s\n", half, slots,
              static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(
                                         std::chrono::steady_clock::now() - from)
                                         .count()));
  return right;
}

}  // namespace

bool every_slot(const char* node, uint64_t mib) {
  ::setenv("DSV41_RESIDENT_SCALES", "0", 1);
  ::setenv("DSV41_IO_ENGINE", "pool", 1);
  ::setenv("DSV41_CACHE_WAYS", "12", 1);
  // Two threads may lose a row's mark of having been seen, and then a new row is evicted instead.
  ::setenv("DSV41_IO_THREADS", "1", 1);
  const uint64_t sets = mib * kMiB / (kWays * kRow);
  uint64_t table_rows;
  {
    std::vector<int64_t> some(32768);
    IdStream stream(sets, 1);
    while (stream.next(some.data(), some.size()) != 0) {
    }
    table_rows = stream.ids_seen() + 64;  // a window of the last read stays inside the file
  }
  const TempDir dir;
  const std::string table = dir.file("table"), shard = dir.file("shard");
  if (!check(make_files(table, shard, table_rows), "files of holes")) return false;
  row_store_next_cache_on_drm(node, mib * kMiB);
  row_store_t* store =
      row_store_open(table.c_str(), table_rows, 4096, 4096 + table_rows * ROW_STORE_WEIGHT_BYTES,
                     adapter_budget(mib * kMiB));
  if (!check(store != nullptr && on_pool(store), "the rows are in the pool")) return false;
  row_store_range(store, 0, table_rows);
  if (!check(row_store_attach_packed(store, shard.c_str(), 1) == 1, "the shard")) return false;
  g_shard = descriptor_of(shard);
  bool right = check(g_shard >= 0, "the shard's descriptor");
  right &= check(statistics(store).cache_slots == sets * kWays, "the number of slots");
  right = right && write_and_read_half(store, sets, 0) && write_and_read_half(store, sets, 1);
  row_store_close(store);
  return right;
}
