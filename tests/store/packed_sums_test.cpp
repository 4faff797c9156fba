// Shards with sums: damage is found before a byte of it leaves, on every path, and the checkpoint's
// row comes instead; sums that do not fit are refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "format/shard_sums.h"
#include "support/catch.h"
#include "support/child.h"
#include "support/scoped_env.h"
#include "support/stderr_capture.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

namespace {

using row_store::PackedLayout;

constexpr uint64_t kRows = 2'000;
constexpr uint64_t kLayer = 1;

std::vector<int64_t> all_ids() {
  std::vector<int64_t> ids(kRows);
  std::iota(ids.begin(), ids.end(), int64_t{0});
  return ids;
}

row_store::PackedHeader header_of(PackedLayout layout) {
  return {layout, kLayer, {0, kRows}, kRows};
}

// A checkpoint and a shard of all its rows, with sums.
struct Shard {
  explicit Shard(PackedLayout kind = PackedLayout::kDense, bool raw = false)
      : layout(kind),
        table(raw ? TestTable::raw(dir.file("t"), kRows)
                  : TestTable::checkpoint(dir.file("t"), kRows)),
        path(dir.file("p")) {
    table.write_packed(path, layout, kLayer, 0, kRows);
    table.add_sums(path);
  }
  uint64_t row_at(uint64_t id) const { return header_of(layout).row_offset(id); }

  TempDir dir;
  PackedLayout layout;
  TestTable table;
  std::string path;
};

class OpenStore {
 public:
  explicit OpenStore(const Shard& shard, uint64_t budget = 0)
      : table_(shard.table), store_(table_.open(budget)) {
    REQUIRE(store_ != nullptr);
  }
  ~OpenStore() { row_store_close(store_); }
  OpenStore(const OpenStore&) = delete;
  OpenStore& operator=(const OpenStore&) = delete;

  row_store_t* get() { return store_; }
  int attach(const Shard& shard) {
    return row_store_attach_packed(store_, shard.path.c_str(), kLayer);
  }
  bool is_exact(const std::vector<int64_t>& ids) {
    LookupBuffers buffers(ids.size());
    buffers.look_up(store_, ids);
    return buffers.first_wrong(table_, ids, 0, kRows) == -1 && buffers.canaries_whole();
  }
  row_store_statistics statistics() {
    row_store_statistics all{};
    all.struct_bytes = sizeof all;
    REQUIRE(row_store_extended_stats(store_, &all) == 1);
    return all;
  }

 private:
  const TestTable& table_;
  row_store_t* store_;
};

// The refusal says these words, and the store goes on as if nothing had been given to it.
void check_refused(const Shard& shard, int code, const std::vector<std::string>& words) {
  OpenStore store(shard);
  StderrCapture lines;
  const int attached = store.attach(shard);
  lines.stop();
  CHECK(attached == 0);
  CHECK(line_count(lines.text()) == 1);
  for (const std::string& word : words) {
    INFO(lines.text() << " should say " << word);
    CHECK(has(lines.text(), word));
  }
  char text[64];
  CHECK(row_store_last_error(text, sizeof text) == code);
  CHECK(store.statistics().packed_engine == ROW_STORE_ENGINE_NONE);
  CHECK(store.statistics().sum_bytes == 0);
  CHECK(store.is_exact(all_ids()));
  CHECK(store.statistics().packed_failures == 0);
}

}  // namespace

TEST_CASE("a good shard with sums serves every row and none fails", "[packed_sums]") {
  for (const PackedLayout layout : {PackedLayout::kDense, PackedLayout::kPage15}) {
    for (const bool raw : {false, true}) {
      const Shard shard(layout, raw);
      OpenStore store(shard);
      REQUIRE(store.attach(shard) == 1);
      CHECK(store.is_exact(all_ids()));
      const row_store_statistics all = store.statistics();
      CHECK(all.sum_bytes == 4096);  // 133 or 135 blocks
      CHECK(all.packed_failures == 0);
      CHECK(all.sum_failures == 0);
      CHECK(all.packed_dropped == 0);
    }
  }
}

TEST_CASE("a damaged block's rows come from the checkpoint, through every engine",
          "[packed_sums]") {
  for (const char* engine : {"auto", "aio", "pool", "buffered"}) {
    for (const PackedLayout layout : {PackedLayout::kDense, PackedLayout::kPage15}) {
      for (const uint64_t budget : {uint64_t{0}, uint64_t{1} << 20}) {
        INFO(engine << ", layout " << static_cast<int>(layout) << ", budget " << budget);
        const ScopedEnv choice("DSV41_IO_ENGINE", engine);
        const Shard shard(layout);
        damage(shard.path, shard.row_at(700) + 100);
        OpenStore store(shard, budget);
        REQUIRE(store.attach(shard) == 1);
        StderrCapture lines;
        CHECK(store.is_exact(all_ids()));
        CHECK(store.is_exact({700}));
        CHECK(store.is_exact(all_ids()));
        lines.stop();
        const row_store_statistics all = store.statistics();
        CHECK(all.sum_failures >= 15);
        CHECK(all.sum_failures == all.packed_failures);
        CHECK(all.packed_dropped == 0);
        CHECK(line_count(lines.text()) == 1);
        CHECK(has(lines.text(), shard.path + ": damaged"));
      }
    }
  }
}

TEST_CASE("good blocks in wrong places are found", "[packed_sums]") {
  const Shard shard(PackedLayout::kPage15);
  std::string blocks(2 * 4096, '\0');
  std::fstream file(shard.path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(8 * 4096);
  file.read(blocks.data(), 2 * 4096);
  std::rotate(blocks.begin(), blocks.begin() + 4096, blocks.end());
  file.seekp(8 * 4096);
  file.write(blocks.data(), 2 * 4096);
  file.close();
  OpenStore store(shard);
  REQUIRE(store.attach(shard) == 1);
  CHECK(store.is_exact(all_ids()));
  CHECK(store.statistics().sum_failures == 30);
}

TEST_CASE("a shard that fails again and again is dropped, and that is said once", "[packed_sums]") {
  const Shard shard(PackedLayout::kPage15);
  for (uint64_t block = 0; block < 20; ++block) damage(shard.path, shard.row_at(15 * block));
  OpenStore store(shard);
  REQUIRE(store.attach(shard) == 1);
  StderrCapture lines;
  for (int64_t block = 0; block < 20; ++block) {
    CHECK(store.is_exact({15 * block + 3}));
    uint64_t words[ROW_STORE_STAT_COUNT];
    row_store_stats(store.get(), words);
    CHECK(words[8] == (block < 7 ? 1 : 0));
  }
  lines.stop();
  CHECK(store.statistics().sum_failures == 8);
  CHECK(store.statistics().packed_dropped == 1);
  CHECK(line_count(lines.text()) == 2);
  CHECK(has(lines.text(), shard.path + ": failed 8 times"));
  CHECK(store.is_exact(all_ids()));
  CHECK(store.statistics().packed_failures == 8);
}

TEST_CASE("rows in memory are the checkpoint's, whatever is attached", "[packed_sums]") {
  const ScopedEnv ram("OFFLOAD_MODE", "ram");
  const Shard shard;
  damage(shard.path, shard.row_at(700) + 100);
  OpenStore store(shard);
  REQUIRE(store.attach(shard) == 1);
  CHECK(store.is_exact(all_ids()));
  CHECK(store.statistics().reads == 0);
}

TEST_CASE("a forked child checks what it reads", "[packed_sums]") {
  const Shard shard;
  damage(shard.path, shard.row_at(700) + 100);
  OpenStore store(shard);
  REQUIRE(store.attach(shard) == 1);
  const ChildResult child = run_in_child(
      [&] { return store.is_exact(all_ids()) && store.statistics().sum_failures != 0 ? 0 : 1; });
  CHECK(child.exit_code == 0);
  CHECK(line_count(child.standard_error) == 1);
}

TEST_CASE("damaged sums, and a damaged header, are refused as a whole", "[packed_sums]") {
  constexpr uint64_t kBlocks = 1 + 129;  // 2,000 dense rows
  constexpr int kChecksum = 19;
  for (const auto& [offset, words] : std::vector<std::pair<uint64_t, const char*>>{
           {kBlocks * 4096, "the head page at byte 532480 is damaged"},
           {kBlocks * 4096 + 2000, "the head page"},
           {kBlocks * 4096 + 4084, "the head page"},
           {kBlocks * 4096 + 4096 + 8, "the table at byte 536576 is damaged"},
           {4000, "its header is damaged"}}) {
    const Shard shard;
    damage(shard.path, offset);
    check_refused(shard, kChecksum, {shard.path, words, "pack"});
  }
}

TEST_CASE("sums that were cut short are refused, and a shard without them is served",
          "[packed_sums]") {
  const Shard shard;
  std::filesystem::resize_file(shard.path, 536'576 + 100);
  check_refused(shard, 14, {"file bytes expected at least 537616, found 536676"});
  // Nothing of the sums is left.
  std::filesystem::resize_file(shard.path, 532'480);
  OpenStore store(shard);
  StderrCapture lines;
  REQUIRE(store.attach(shard) == 1);
  lines.stop();
  CHECK(has(lines.text(), "no sums"));
  CHECK(store.is_exact(all_ids()));
  CHECK(store.statistics().sum_bytes == 0);
}

TEST_CASE("a shard of another checkpoint is refused with every field", "[packed_sums]") {
  constexpr int kMismatch = 16;
  const Shard shard;
  const auto bytes = std::filesystem::file_size(shard.table.path);
  // Sums that were made from a longer table.
  Shard wrong;
  TestTable sums = TestTable::checkpoint(wrong.dir.file("s"), kRows + 1);
  sums.rows = kRows;
  wrong.table.write_packed(wrong.path, PackedLayout::kDense, kLayer, 0, kRows);
  sums.add_sums(wrong.path);
  check_refused(wrong, kMismatch,
                {"another checkpoint file", "file bytes expected " + std::to_string(bytes),
                 "weight shape expected", "(differs)", "pack again from this checkpoint"});
  // Raw extents on one side, tensors on the other.
  Shard raw(PackedLayout::kDense, true);
  raw.table.write_packed(raw.path, PackedLayout::kDense, kLayer, 0, kRows);
  shard.table.add_sums(raw.path);
  check_refused(raw, kMismatch, {"another checkpoint file", "header digest expected"});
}
