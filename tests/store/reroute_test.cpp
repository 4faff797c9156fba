// A shard that stops giving rows while it is served: the checkpoint's rows come instead, at once.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
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
  CHECK(statistics.packed_dropped == 1);
  CHECK(line_count(lines.text()) == 2);  // the first failure and the end of it, not once a row

  // After that many failures the shard is not asked again.
  const uint64_t failures = statistics.packed_failures;
  buffers.look_up(store, ids);
  CHECK(buffers.first_wrong(table, ids, 0, kRows) == -1);
  REQUIRE(row_store_extended_stats(store, &statistics) == 1);
  CHECK(statistics.packed_failures == failures);
  row_store_close(store);
}

// The process's descriptors of `path` become ones of a folder: every read fails with EISDIR.
void make_unreadable(const std::string& path) {
  const int folder = ::open("/", O_RDONLY | O_DIRECTORY);
  std::vector<int> descriptors;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry, gone) == std::filesystem::canonical(path))
      descriptors.push_back(std::stoi(entry.path().filename()));
  }
  if (folder < 0 || descriptors.empty()) throw std::runtime_error("nothing to make unreadable");
  for (const int descriptor : descriptors) ::dup2(folder, descriptor);
}

}  // namespace

TEST_CASE("a checkpoint's row that cannot be read stops the process with one line", "[reroute]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), 100);
  const auto look_up = [&](const std::function<void()>& fault) {
    return run_in_child([&] {
      row_store_t* store = table.open(0);
      fault();
      LookupBuffers buffers(1);
      buffers.look_up(store, std::vector<int64_t>{99});
      return 0;
    });
  };
  CHECK(look_up([] {}).exit_code == 0);
  ChildResult child = look_up([&] { make_unreadable(table.path); });
  CHECK(child.aborted());
  CHECK(line_count(child.standard_error) == 1);
  INFO(child.standard_error);
  // Either part of the row may be the first to fail.
  const auto says_place = [&](const std::string& text) {
    return has(text, "row 99 at byte " + std::to_string(table.weight_offset + 99 * 256) + ": ") ||
           has(text, "row 99 at byte " + std::to_string(table.scale_offset + 99 * 8) + ": ");
  };
  CHECK(has(child.standard_error, "failed: " + table.path + ": cannot read row 99 at byte "));
  CHECK(says_place(child.standard_error));
  CHECK(has(child.standard_error, "Is a directory"));
  CHECK(has(child.standard_error, "4 attempts (errno=21)"));

  child =
      look_up([&] { std::filesystem::resize_file(table.path, table.weight_offset + 99 * 256); });
  INFO(child.standard_error);
  CHECK(child.aborted());
  CHECK(line_count(child.standard_error) == 1);
  CHECK(says_place(child.standard_error));
  CHECK(has(child.standard_error, "the file ends before it"));
  CHECK(has(child.standard_error, "2 attempts (errno=5)"));
}

TEST_CASE("a shard that cannot be read at all is dropped for the checkpoint", "[reroute]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), 1'000);
  table.write_packed(dir.file("p"), row_store::PackedLayout::kDense, 1, 0, 1'000);
  const ChildResult child = run_in_child([&] {
    row_store_t* store = table.open(0);
    if (row_store_attach_packed(store, dir.file("p").c_str(), 1) != 1) return 1;
    make_unreadable(dir.file("p"));
    std::vector<int64_t> ids(500);
    std::iota(ids.begin(), ids.end(), int64_t{250});
    LookupBuffers buffers(ids.size());
    buffers.look_up(store, ids);
    return buffers.first_wrong(table, ids, 0, 1'000) == -1 ? 0 : 2;
  });
  INFO(child.standard_error);
  CHECK(child.exit_code == 0);
  CHECK(line_count(child.standard_error) == 3);  // attached, the first failure, dropped
  CHECK(has(child.standard_error, "Is a directory; serving such rows from " + table.path));
  CHECK(has(child.standard_error, "not reading it any more"));
}

TEST_CASE("rows that a shard loses come from the checkpoint without a wait", "[reroute]") {
  for (const char* engine : {"auto", "aio", "pool"}) {
    INFO(engine);
    lose_half_of_the_shard(engine);
  }
}
