// Shards that are not this store's: 0, one line with every field, and a store that is as it was.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/child.h"
#include "support/scoped_env.h"
#include "support/stderr_capture.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

namespace {

constexpr uint64_t kRows = 2003, kLo = 500, kHi = 1500, kLayer = 14;

// Two fixed batches, so that statistics can be compared.
bool rows_are_right(row_store_t* store, const TestTable& table) {
  std::vector<int64_t> ids;
  for (uint64_t i = 0; i < 300; ++i) ids.push_back(static_cast<int64_t>(i * 977 % kRows));
  LookupBuffers buffers(ids.size());
  buffers.look_up(store, ids);
  return buffers.first_wrong(table, ids, kLo, kHi) == -1;
}

class Shards {
 public:
  Shards() {
    row_store_range(store_, kLo, kHi);
    REQUIRE(rows_are_right(store_, table_));
  }
  ~Shards() { row_store_close(store_); }
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  std::string write(row_store::PackedLayout layout = row_store::PackedLayout::kDense,
                    uint64_t lo = kLo, uint64_t hi = kHi) const {
    table_.write_packed(path(), layout, kLayer, lo, hi);
    return path();
  }
  std::string path() const { return dir_.file("shard"); }
  void put(uint64_t offset, uint64_t value) const {
    const int fd = ::open(path().c_str(), O_WRONLY);
    REQUIRE(::pwrite(fd, &value, 8, static_cast<off_t>(offset)) == 8);
    ::close(fd);
  }
  // The refusal says these words, and after it the store is as it was, down to its memory.
  void check_refused(const char* path, const std::string& name, int error,
                     const std::vector<std::string>& words) {
    uint64_t before[ROW_STORE_STAT_COUNT], after[ROW_STORE_STAT_COUNT];
    row_store_stats(store_, before);
    StderrCapture capture;
    errno = 0;
    const int result = row_store_attach_packed(store_, path, kLayer);
    const int sys_errno = errno;
    capture.stop();
    const std::string printed = capture.text();
    char text[1024];
    const int code = row_store_last_error(text, sizeof text);
    row_store_stats(store_, after);
    INFO(printed);
    CHECK(result == 0);
    CHECK(row_store_error_name(code) == name);
    CHECK(sys_errno == error);
    CHECK(line_count(printed) == 1);
    CHECK(printed.find("Engram: row_store_attach_packed: " + std::string(text)) == 0);
    for (const std::string& word : words) {
      INFO("expected: " << word);
      CHECK(std::string(text).find(word) != std::string::npos);
    }
    CHECK(std::equal(before, before + ROW_STORE_STAT_COUNT, after));
    CHECK(after[ROW_STORE_STAT_SCALE_BYTES] == (kHi - kLo) * 8);
    CHECK(rows_are_right(store_, table_));
  }
  void check_attaches(const char* path) {
    CHECK(row_store_attach_packed(store_, path, kLayer) == 1);
    uint64_t stats[ROW_STORE_STAT_COUNT];
    row_store_stats(store_, stats);
    CHECK(stats[ROW_STORE_STAT_PACKED] == 1);
    CHECK(stats[ROW_STORE_STAT_SCALE_BYTES] == 0);
    CHECK(rows_are_right(store_, table_));
  }

  TempDir dir_;
  TestTable table_ = TestTable::checkpoint(dir_.file("t"), kRows);
  row_store_t* store_ = table_.open(20'000);
};

const std::vector<std::string> kEveryField = {"magic expected 0x31344e4531565344",
                                              "layer expected 14",
                                              "first row expected 500",
                                              "end row expected 1500",
                                              "table rows expected 2003",
                                              "row bytes expected 264",
                                              "file bytes expected at least 268096"};

}  // namespace

TEST_CASE("a shard with one field wrong is refused with every field listed", "[errors][shard]") {
  struct Field {
    uint64_t offset;
    const char* name;
    std::vector<uint64_t> values;
  };
  const Field fields[] = {
      {8, "layer", {1, 0, ~uint64_t{0}}},
      {16, "first row", {499, 501, 0, ~uint64_t{0}}},
      {24, "end row", {1499, 1501, 0, 2004, ~uint64_t{0}}},
      {32, "table rows", {2002, 2004, 1000, 0, ~uint64_t{0}}},
      {40, "row bytes", {0, 263, 265, ~uint64_t{0}}},
  };
  Shards shards;
  for (const Field& field : fields) {
    for (const uint64_t value : field.values) {
      INFO(field.name << " = " << value);
      const std::string path = shards.write();
      shards.put(field.offset, value);
      std::vector<std::string> words = kEveryField;
      words.push_back(path);
      words.push_back("found " + std::to_string(value) + " (differs)");
      shards.check_refused(path.c_str(), "mismatch", EINVAL, words);
    }
  }
  shards.check_attaches(shards.write().c_str());
}

TEST_CASE("a shard with any byte of its magic wrong is refused", "[errors][shard]") {
  Shards shards;
  const std::string path = shards.write();
  for (int byte = 0; byte < 8; ++byte) {
    shards.put(0, row_store::kPackedMagic ^ uint64_t{1} << (8 * byte));
    shards.check_refused(path.c_str(), "mismatch", EINVAL, {path, "magic expected 0x31344e45"});
  }
  shards.put(0, row_store::kPackedMagic);
  shards.check_attaches(path.c_str());
}

TEST_CASE("a page15 shard with a field of its own wrong is refused", "[errors][shard]") {
  Shards shards;
  for (const uint64_t offset : {uint64_t{48}, uint64_t{56}}) {
    const std::string path = shards.write(row_store::PackedLayout::kPage15);
    shards.put(offset, 16);
    shards.check_refused(path.c_str(), "mismatch", EINVAL,
                         {path, offset == 48 ? "rows a page expected 15, found 16"
                                             : "page bytes expected 4096, found 16"});
  }
  shards.check_attaches(shards.write(row_store::PackedLayout::kPage15).c_str());
}

TEST_CASE("a shard of another rank is refused", "[errors][shard]") {
  Shards shards;
  shards.check_refused(
      shards.write(row_store::PackedLayout::kDense, 0, kLo).c_str(), "mismatch", EINVAL,
      {"first row expected 500, found 0 (differs)", "end row expected 1500, found 500 (differs)"});
  shards.check_refused(shards.write(row_store::PackedLayout::kDense, 0, kRows).c_str(), "mismatch",
                       EINVAL, {"end row expected 1500, found 2003 (differs)"});
}

TEST_CASE("a shard that was cut short is refused and one that is longer is taken",
          "[errors][shard]") {
  Shards shards;
  const std::string path = shards.write();
  const off_t whole = 4096 + 264 * (kHi - kLo);
  for (const off_t size : {whole - 1, whole - 264, off_t{4096}}) {
    REQUIRE(::truncate(path.c_str(), size) == 0);
    shards.check_refused(path.c_str(), "size", EINVAL,
                         {path, "at least 268096", "found " + std::to_string(size), "pack"});
  }
  for (const off_t size : {off_t{4095}, off_t{8}, off_t{0}}) {
    REQUIRE(::truncate(path.c_str(), size) == 0);
    shards.check_refused(path.c_str(), "short", EINVAL, {path, "4096", std::to_string(size)});
  }
  shards.write();
  REQUIRE(::truncate(path.c_str(), whole + 12345) == 0);
  shards.check_attaches(path.c_str());
}

TEST_CASE("a shard that cannot be read is refused", "[errors][shard]") {
  Shards shards;
  const std::string none = shards.dir_.file("none");
  shards.check_refused(none.c_str(), "io", ENOENT, {none, "No such file", "check the path"});
  shards.check_refused(shards.dir_.path().c_str(), "not_file", EISDIR, {"not a regular file"});
  shards.check_refused("/dev/zero", "not_file", EINVAL, {"not a regular file"});
  shards.check_refused("", "argument", EINVAL, {"path is NULL or empty"});
  shards.check_refused(nullptr, "argument", EINVAL, {"path is NULL or empty"});
  const std::string fifo = shards.dir_.file("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  ::alarm(30);
  shards.check_refused(fifo.c_str(), "not_file", EINVAL, {fifo});
  ::alarm(0);
  const std::string longest = shards.dir_.file(std::string(5000, 'y'));
  shards.check_refused(longest.c_str(), "io", ENAMETOOLONG, {"File name too long"});
}

TEST_CASE("a checkpoint, a pointer or a page given as a shard is called by its name",
          "[errors][shard]") {
  Shards shards;
  shards.check_refused(shards.table_.path.c_str(), "mismatch", EINVAL,
                       {"safetensors file", "not a packed shard"});
  const auto other = [&](const std::string& bytes, off_t size) {
    std::ofstream(shards.path(), std::ios::binary) << bytes;
    REQUIRE(::truncate(shards.path().c_str(), size) == 0);
    return shards.path();
  };
  shards.check_refused(other("<!DOCTYPE html><html>", 9000).c_str(), "mismatch", EINVAL,
                       {"HTML page"});
  shards.check_refused(other("version https://git-lfs.github.com/spec/v1\n", 130).c_str(), "short",
                       EINVAL, {"Git LFS pointer", "git lfs pull"});
  shards.check_refused(other("", 900'000).c_str(), "mismatch", EINVAL, {"zeros"});
}

TEST_CASE("a refusal while scales are being loaded leaves them loading", "[errors][shard]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), 60'000);
  row_store_t* store = table.open(0);
  REQUIRE(store != nullptr);
  row_store_range(store, 0, 60'000);
  StderrCapture capture;
  CHECK(row_store_attach_packed(store, dir.file("none").c_str(), 1) == 0);
  capture.stop();
  // One read a row tells that the row's scale is in memory.
  LookupBuffers buffers(1);
  uint64_t before[ROW_STORE_STAT_COUNT], after[ROW_STORE_STAT_COUNT];
  const std::vector<int64_t> last = {59'999};
  for (int attempt = 0; attempt < 2000; ++attempt) {
    row_store_stats(store, before);
    buffers.look_up(store, last);
    row_store_stats(store, after);
    if (after[ROW_STORE_STAT_READS] == before[ROW_STORE_STAT_READS] + 1) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(after[ROW_STORE_STAT_READS] == before[ROW_STORE_STAT_READS] + 1);
  CHECK(buffers.first_wrong(table, last, 0, 60'000) == -1);
  row_store_close(store);
}
