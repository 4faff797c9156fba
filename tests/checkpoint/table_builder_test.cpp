#include "checkpoint/table_builder.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "checkpoint/locate.h"
#include "checkpoint/row_bytes.h"
#include "support/catch.h"
#include "trace/addressing.h"
#include "trace/files.h"

using namespace row_store;
using namespace row_store::checkpoint;

namespace {

class TempDir {
 public:
  TempDir() { REQUIRE(mkdtemp(path_.data()) != nullptr); }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/row-store-checkpoint-XXXXXX";
};

std::vector<uint8_t> bytes_of_file(const std::string& path) {
  Result<std::vector<uint8_t>> bytes = trace::read_file(path);
  REQUIRE(bytes.ok());
  return bytes.take();
}

uint64_t word(const std::vector<uint8_t>& bytes, size_t index) {
  uint64_t value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

const CheckpointSpec kSmall = {{{1, 1001}, {14, 777}}, 42, 16};

}  // namespace

TEST_CASE("a table found through index and header holds its rows") {
  TempDir dir;
  REQUIRE(write_checkpoint(kSmall, dir.path()).ok());
  for (const TableSpec& table : kSmall.tables) {
    const Result<TableLocation> found = locate_table(dir.path(), table.layer);
    REQUIRE(found.ok());
    CHECK(found.value().rows == table.rows);
    const std::vector<uint8_t> file = bytes_of_file(found.value().path);
    REQUIRE(found.value().scale_offset + table.rows * kScaleBytes <= file.size());
    const RowSource rows{kSmall.seed, table.layer};
    for (uint64_t id = 0; id < table.rows; ++id) {
      CHECK(rows.matches(id, file.data() + found.value().weight_offset + id * kWeightBytes,
                         file.data() + found.value().scale_offset + id * kScaleBytes));
    }
  }
}

TEST_CASE("tables lie at odd offsets between other tensors") {
  TempDir dir;
  REQUIRE(write_checkpoint(kSmall, dir.path()).ok());
  for (const TableSpec& table : kSmall.tables) {
    const TableLocation found = locate_table(dir.path(), table.layer).value();
    const std::vector<uint8_t> file = bytes_of_file(found.path);
    CHECK(word(file, 0) % 2 == 1);
    CHECK(found.weight_offset % 2 == 1);
    CHECK(found.weight_offset > 8 + word(file, 0));
    CHECK(found.scale_offset + table.rows * kScaleBytes < file.size());
  }
}

TEST_CASE("config.json gives back the base and the seed") {
  TempDir dir;
  REQUIRE(write_checkpoint(kSmall, dir.path()).ok());
  const Result<ModelConfig> config = read_model_config(dir.path());
  REQUIRE(config.ok());
  CHECK(config.value().vocab_base == 16);
  CHECK(config.value().synthetic_seed == 42);
}

TEST_CASE("a layer without a table and a folder without an index are refused") {
  TempDir dir;
  CHECK_FALSE(locate_table(dir.path(), 1).ok());
  CHECK_FALSE(read_model_config(dir.path()).ok());
  REQUIRE(write_checkpoint(kSmall, dir.path()).ok());
  CHECK(locate_table(dir.path(), 2).status().code() == ErrorCode::kSchema);
}

TEST_CASE("a checkpoint of a base has the addressing rule's rows") {
  const CheckpointSpec spec = checkpoint_of_base(16000, 1).value();
  REQUIRE(spec.tables.size() == 2);
  CHECK(spec.tables[0].rows == trace::make_addressing(1, 16000).value().rows);
  CHECK(spec.tables[1].layer == 14);
  CHECK(spec.vocab_base == 16000);
}

TEST_CASE("a dense shard is a header of eight words and records back to back") {
  TempDir dir;
  const std::string path = dir.path() + "/shard";
  REQUIRE(write_packed_shard({PackedLayout::kDense, {14, 777}, {100, 163}, 42}, path).ok());
  const std::vector<uint8_t> file = bytes_of_file(path);
  REQUIRE(file.size() == 4096 + 63 * 264);
  CHECK(std::memcmp(file.data(), "DSV1EN41", 8) == 0);
  const uint64_t expected[] = {kPackedMagic, 14, 100, 163, 777, 264};
  for (size_t i = 0; i < 6; ++i) CHECK(word(file, i) == expected[i]);
  CHECK(std::count(file.begin() + 48, file.begin() + 4096, 0) == 4096 - 48);
  for (uint64_t id = 100; id < 163; ++id) {
    const uint8_t* row = file.data() + 4096 + (id - 100) * 264;
    CHECK(RowSource{42, 14}.matches(id, row, row + 256));
  }
}

TEST_CASE("a page15 shard holds 15 records a page and ends with a whole page") {
  TempDir dir;
  const std::string path = dir.path() + "/shard";
  for (const uint64_t rows : {1, 14, 15, 16, 30, 31}) {
    const RowRange range{5, 5 + rows};
    REQUIRE(write_packed_shard({PackedLayout::kPage15, {1, 1001}, range, 42}, path).ok());
    const std::vector<uint8_t> file = bytes_of_file(path);
    REQUIRE(file.size() == 4096 + (rows + 14) / 15 * 4096);
    CHECK(std::memcmp(file.data(), "DS41EPG2", 8) == 0);
    CHECK(word(file, 5) == 264);
    CHECK(word(file, 6) == 15);
    CHECK(word(file, 7) == 4096);
    for (uint64_t i = 0; i < rows; ++i) {
      const uint8_t* row = file.data() + 4096 + i / 15 * 4096 + i % 15 * 264;
      CHECK(RowSource{42, 1}.matches(5 + i, row, row + 256));
    }
  }
}

TEST_CASE("a shard of rows that its table lacks is not written") {
  TempDir dir;
  const std::string path = dir.path() + "/shard";
  CHECK_FALSE(write_packed_shard({PackedLayout::kDense, {1, 10}, {0, 11}, 1}, path).ok());
  CHECK_FALSE(write_packed_shard({PackedLayout::kDense, {1, 10}, {5, 4}, 1}, path).ok());
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a folder that cannot be written to is an error, not a table") {
  CHECK(write_checkpoint(kSmall, "/nonexistent").code() == ErrorCode::kIo);
  CHECK(write_checkpoint({{{1, 0}}, 1, 2}, "/tmp").code() == ErrorCode::kArgument);
}

TEST_CASE("ranks split a table without gap or overlap, as the adapter rounds") {
  for (const uint64_t tp : {1, 2, 3, 4, 7}) {
    uint64_t next = 0;
    for (uint64_t rank = 0; rank < tp; ++rank) {
      const RowRange range = rank_range(384016682, rank, tp);
      CHECK(range.begin == next);
      CHECK(range.begin == 384016682 * rank / tp);
      next = range.end;
    }
    CHECK(next == 384016682);
  }
  CHECK(packed_shard_name(14, 2, 4) == "engram-l14-r2of4.bin");
}

TEST_CASE("rows differ by seed, layer and id, and hold no NaN") {
  uint8_t rows[4][kRowBytes];
  fill_row(1, 1, 0, rows[0]);
  fill_row(2, 1, 0, rows[1]);
  fill_row(1, 14, 0, rows[2]);
  fill_row(1, 1, 1, rows[3]);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < i; ++j) CHECK(std::memcmp(rows[i], rows[j], kRowBytes) != 0);
  }
  for (uint64_t id = 0; id < 10000; ++id) {
    fill_row(1, 1, id, rows[0]);
    const bool has_nan = std::any_of(rows[0], rows[0] + kWeightBytes,
                                     [](uint8_t byte) { return (byte & 0x7F) == 0x7F; });
    REQUIRE_FALSE(has_nan);
  }
}

TEST_CASE("one changed bit is noticed anywhere in a row") {
  uint8_t row[kRowBytes];
  const RowSource source{7, 1};
  source.fill(12, row);
  REQUIRE(source.matches(12, row, row + kWeightBytes));
  for (size_t i = 0; i < kRowBytes; ++i) {
    row[i] ^= 0x10;
    CHECK_FALSE(source.matches(12, row, row + kWeightBytes));
    row[i] ^= 0x10;
  }
}
