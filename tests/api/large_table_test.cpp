// A store on a table of the real size costs what it touches, not what it spans.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "support/catch.h"
#include "support/scoped_env.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

namespace {

constexpr uint64_t kRows = 384'006'168;
constexpr uint64_t kWeights = 4096, kScales = kWeights + kRows * ROW_STORE_WEIGHT_BYTES;
constexpr uint64_t kBudget = 32ull << 30;

uint64_t resident_bytes() {
  FILE* file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file != nullptr);
  unsigned long long size = 0, resident = 0;
  REQUIRE(std::fscanf(file, "%llu %llu", &size, &resident) == 2);
  std::fclose(file);
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("a cache of 32 GiB takes memory only as rows come in", "[api]") {
  const ScopedEnv no_scales("DSV41_RESIDENT_SCALES", "0");
  const TempDir dir;
  TestTable table;
  table.rows = kRows;
  table.path = dir.file("sparse");
  table.weight_offset = kWeights;
  table.scale_offset = kScales;
  const int fd = ::open(table.path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0);
  REQUIRE(::ftruncate(fd, static_cast<off_t>(kScales + kRows * ROW_STORE_SCALE_BYTES)) == 0);
  // A file that begins with zeros would be refused as one that was never written.
  REQUIRE(::write(fd, "bare extents", 12) == 12);
  ::close(fd);

  const uint64_t before = resident_bytes();
  row_store_t* store = table.open(kBudget);
  REQUIRE(store != nullptr);
  row_store_range(store, 0, kRows);
  CHECK(resident_bytes() - before < (16u << 20));

  uint64_t words[9];
  row_store_stats(store, words);
  CHECK(words[3] <= kBudget);
  CHECK(words[4] > 120'000'000);

  // Rows from the table's whole length: a page or two of slots each, and the index (2 % of the
  // budget, in huge pages because every batch touches it all over) at most whole.
  std::vector<int64_t> ids;
  for (uint64_t i = 0; i < 1024; ++i) ids.push_back(static_cast<int64_t>(i * (kRows / 1024)));
  LookupBuffers buffers(ids.size());
  buffers.look_up(store, ids);
  const uint64_t index_bytes = words[3] - words[4] * ROW_STORE_ROW_BYTES;
  CHECK(index_bytes < kBudget / 40);
  CHECK(resident_bytes() - before < index_bytes + (48u << 20));
  row_store_close(store);
}
