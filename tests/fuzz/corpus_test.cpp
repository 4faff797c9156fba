// Every committed input of the fuzz targets, and every input that once failed, goes through its
// body in each ordinary build.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz_bodies.h"
#include "support/catch.h"
#include "support/stderr_capture.h"

namespace {

using Body = void (*)(std::span<const uint8_t>);

void replay(const std::string& name, Body body) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(ROW_STORE_FUZZ_CORPUS) + "/" + name))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  REQUIRE(paths.size() > 10);
  StderrCapture quiet;
  for (const std::filesystem::path& path : paths) {
    INFO(path);
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    body({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  quiet.stop();
  SUCCEED(paths.size() << " inputs");
}

}  // namespace

TEST_CASE("the corpus of safetensors heads passes", "[fuzz]") {
  replay("safetensors", row_store::fuzz::safetensors_head);
}

TEST_CASE("the corpus of packed headers passes", "[fuzz]") {
  replay("packed", row_store::fuzz::packed_header);
}

TEST_CASE("the corpus of lookups agrees with pread in every engine and backing", "[fuzz]") {
  replay("lookup", row_store::fuzz::lookups);
}
