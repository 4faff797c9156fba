// A shard that stops giving rows while it is served: the checkpoint's rows come instead, at once.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <vector>

#include "support/catch.h"
#include "support/child.h"
#include "support/scoped_env.h"
#include "support/stderr_capture.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

namespace {

constexpr uint64_t kRows = 70'000;
constexpr uint64_t kBatch = 400;

// Reads of both files are then in flight at once, through one reader.
void lose_half_of_the_shard(const char* engine) {
  ScopedEnv choice("DSV41_IO_ENGINE", engine);
  TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t.safetensors"), kRows);
  table.write_packed(dir.file("p.bin"), row_store::PackedLayout::kDense, 1, 0, kRows);
  row_store_t* store = table.open(0);
  REQUIRE(store != nullptr);
  REQUIRE(row_store_attach_packed(store, dir.file("p.bin").c_str(), 1) == 1);
  REQUIRE(::truncate(dir.file("p.bin").c_str(), kRows / 2 * 264) == 0);

  std::vector<int64_t> ids(kRows);
  std::iota(ids.begin(), ids.end(), int64_t{0});
  std::shuffle(ids.begin(), ids.end(), std::mt19937_64(3));
  ids.resize(kBatch);
  LookupBuffers buffers(kBatch);
  StderrCapture lines;
  const auto from = std::chrono::steady_clock::now();
  buffers.look_up(store, ids);
  const auto took = std::chrono::steady_clock::now() - from;
  lines.stop();
  CHECK(buffers.first_wrong(table, ids, 0, kRows) == -1);
  // A wait for reads that are not in flight would last five seconds at least.
  CHECK(took < std::chrono::seconds(4));

  row_store_statistics statistics{};
  statistics.struct_bytes = sizeof statistics;
  REQUIRE(row_store_extended_stats(store, &statistics) == 1);
  CHECK(statistics.packed_failures >= 8);
  CHECK(line_count(lines.text()) == 1);  // said once, not once a row

  // After that many failures the shard is not asked again.
  const uint64_t failures = statistics.packed_failures;
  buffers.look_up(store, ids);
  CHECK(buffers.first_wrong(table, ids, 0, kRows) == -1);
  REQUIRE(row_store_extended_stats(store, &statistics) == 1);
  CHECK(statistics.packed_failures == failures);
  row_store_close(store);
}

}  // namespace

TEST_CASE("rows that a shard loses come from the checkpoint without a wait", "[reroute]") {
  for (const char* engine : {"auto", "aio", "pool"}) {
    INFO(engine);
    lose_half_of_the_shard(engine);
  }
}
