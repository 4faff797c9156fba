#include "store/checkpoint_folder.h"

#include <filesystem>
#include <fstream>
#include <limits>

#include "support/catch.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

using namespace row_store;

namespace {

void write_index(const std::string& folder, const std::string& file) {
  const std::string stem = "\"layers.1.engram.embed.";
  std::ofstream(folder + "/" + kWeightMapFile)
      << R"({"weight_map":{)" << stem << "weight\":\"" << file << "\"," << stem << "scale\":\""
      << file << "\"}}";
}

}  // namespace

TEST_CASE("a table is found as its writer placed it", "[checkpoint_folder]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("model.safetensors"), 100);
  write_index(dir.path(), "model.safetensors");
  const auto found = locate_engram_table(dir.path(), 1);
  REQUIRE(found.ok());
  CHECK(found.value().path == table.path);
  CHECK(found.value().table.rows == 100);
  CHECK(found.value().table.weight_offset == table.weight_offset);
  CHECK(found.value().table.scale_offset == table.scale_offset);
  CHECK(locate_engram_table(dir.path() + "/", 1).ok());
  CHECK(locate_engram_table(dir.path(), 2).status().code() == ErrorCode::kMissing);
}

TEST_CASE("links in the folder are followed, names out of it are not", "[checkpoint_folder]") {
  const TempDir dir;
  const std::string blobs = dir.file("blobs"), model = dir.file("model");
  std::filesystem::create_directory(blobs);
  std::filesystem::create_directory(model);
  TestTable::checkpoint(blobs + "/0a1b", 100);
  std::filesystem::create_symlink("../blobs/0a1b", model + "/model.safetensors");
  write_index(model, "model.safetensors");
  CHECK(locate_engram_table(model, 1).ok());
  for (const std::string& name : {std::string("../blobs/0a1b"), blobs + "/0a1b"}) {
    write_index(model, name);
    const Status status = locate_engram_table(model, 1).status();
    CHECK(status.code() == ErrorCode::kSchema);
    CHECK(status.text().find("inside the checkpoint's folder") != std::string::npos);
  }
}

TEST_CASE("a folder that is no checkpoint says which file is wrong", "[checkpoint_folder]") {
  const TempDir dir;
  const auto refused = [&] { return locate_engram_table(dir.path(), 1).status(); };
  CHECK(refused().sys_errno() == ENOENT);
  CHECK(refused().text().find(kWeightMapFile) != std::string::npos);
  std::ofstream(dir.file(kWeightMapFile)) << "version https://git-lfs.github.com/spec/v1\n";
  CHECK(refused().code() == ErrorCode::kJson);
  CHECK(refused().text().find("git lfs pull") != std::string::npos);
  write_index(dir.path(), "model.safetensors");
  CHECK(refused().sys_errno() == ENOENT);
  std::ofstream(dir.file("model.safetensors")) << "version https://git-lfs.github.com/spec/v1\n";
  CHECK(refused().code() == ErrorCode::kHeaderLength);
  std::filesystem::remove(dir.file("model.safetensors"));
  std::filesystem::create_directory(dir.file("model.safetensors"));
  CHECK(refused().code() == ErrorCode::kNotFile);
}

TEST_CASE("an absurdly large index is not read", "[checkpoint_folder]") {
  const TempDir dir;
  std::ofstream(dir.file(kWeightMapFile)) << "{";
  std::filesystem::resize_file(dir.file(kWeightMapFile), uint64_t{1} << 40);
  CHECK(read_weight_map(dir.path()).status().code() == ErrorCode::kSize);
}

TEST_CASE("ranks share the rows as the adapter does", "[checkpoint_folder]") {
  CHECK(rank_rows(384006168, 0, 4).value() == RowRange{0, 96001542});
  CHECK(rank_rows(384016682, 1, 4).value() == RowRange{96004170, 192008341});
  CHECK(rank_rows(10, 2, 3).value() == RowRange{6, 10});
  CHECK(rank_rows(2, 0, 3).value() == RowRange{0, 0});
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  CHECK(rank_rows(kMost, kRanksMax - 1, kRanksMax).value().end == kMost);
  CHECK(rank_rows(kMost, 1, 3).value() == RowRange{kMost / 3, kMost / 3 * 2});
  for (const auto& [rank, tp] : {std::pair<uint64_t, uint64_t>{0, 0}, {3, 3}, {0, kRanksMax + 1}})
    CHECK(rank_rows(100, rank, tp).status().code() == ErrorCode::kArgument);
  CHECK(packed_shard_name(14, 3, 4) == "engram-l14-r3of4.bin");
}
