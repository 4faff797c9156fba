// Every field of a source's identity counts, and survives its page.
#include "format/source_identity.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "format/checksum.h"
#include "format/row_layout.h"
#include "support/catch.h"

namespace row_store {
namespace {

const SafetensorsHeader kHeader{
    {{"first", "U8", {320}, {640, 320}},
     {"empty", "U8", {0, 4}, {960, 0}},
     {"layers.1.engram.embed.weight", "F8_E4M3", {20, 256}, {960, 5120}},
     {"layers.1.engram.embed.scale", "F8_E8M0", {20, 8}, {6080, 160}}},
    640};
const std::vector<uint8_t> kHead(640, 'h');

SourceIdentity example() {
  const auto source = identify_source(kHeader, kHead, 6240, 960, 6080);
  REQUIRE(source.ok());
  SourceIdentity identity = source.value();
  identity.sha256.emplace();
  identity.sha256->fill(9);
  return identity;
}

TEST_CASE("a source is its file's size, header and two tensors", "[unit]") {
  const SourceIdentity source = example();
  CHECK(source.file_bytes == 6240);
  CHECK(source.header_bytes == 640);
  CHECK(source.header_digest == checksum(kHead, 0));
  CHECK(source.weight.name == "layers.1.engram.embed.weight");
  CHECK(source.weight.rows == 20);
  CHECK(source.weight.columns == 256);
  CHECK(source.weight.offset == 960);
  CHECK(source.scale.name == "layers.1.engram.embed.scale");
  CHECK(source.scale.columns == 8);
  CHECK(source.scale.offset == 6080);
}

TEST_CASE("an offset without a table, or a name beyond the page, is refused", "[unit]") {
  CHECK(identify_source(kHeader, kHead, 6240, 961, 6080).status().code() == ErrorCode::kArgument);
  CHECK(identify_source(kHeader, kHead, 6240, 960, 640).status().code() == ErrorCode::kArgument);
  SafetensorsHeader header = kHeader;
  header.tensors[3].name.assign(kSourceNameMax + 1, 'n');
  CHECK(identify_source(header, kHead, 6240, 960, 6080).status().code() == ErrorCode::kArgument);
}

TEST_CASE("a source survives its page", "[unit]") {
  for (const bool with_sha256 : {true, false}) {
    SourceIdentity source = example();
    if (!with_sha256) source.sha256.reset();
    std::array<uint8_t, kPageBytes> page{};
    store_source(page, source);
    const auto loaded = load_source(page);
    REQUIRE(loaded.ok());
    CHECK(match_source(source, loaded.value()).ok());
    CHECK(loaded.value().sha256 == source.sha256);
  }
}

TEST_CASE("a source that differs in any field is another one", "[unit]") {
  using Change = std::function<void(SourceIdentity&)>;
  const std::pair<const char*, Change> changes[] = {
      {"file bytes", [](SourceIdentity& source) { ++source.file_bytes; }},
      {"header bytes", [](SourceIdentity& source) { ++source.header_bytes; }},
      {"header digest", [](SourceIdentity& source) { ++source.header_digest; }},
      {"weight tensor", [](SourceIdentity& source) { source.weight.name += "x"; }},
      {"weight shape", [](SourceIdentity& source) { ++source.weight.rows; }},
      {"weight shape", [](SourceIdentity& source) { ++source.weight.columns; }},
      {"weight offset", [](SourceIdentity& source) { ++source.weight.offset; }},
      {"scale tensor", [](SourceIdentity& source) { source.scale.name.clear(); }},
      {"scale shape", [](SourceIdentity& source) { ++source.scale.rows; }},
      {"scale offset", [](SourceIdentity& source) { ++source.scale.offset; }},
      {"SHA-256", [](SourceIdentity& source) { ++source.sha256->back(); }},
  };
  for (const auto& [name, change] : changes) {
    SourceIdentity other = example();
    change(other);
    const Status status = match_source(example(), other);
    INFO(name << ": " << status.text());
    REQUIRE(status.code() == ErrorCode::kMismatch);
    CHECK(status.text().find(std::string(name) + " expected") != std::string::npos);
    const auto marks = std::count(status.text().begin(), status.text().end(), '(');
    CHECK(marks == 1);  // "(differs)", once
  }
}

TEST_CASE("a SHA-256 that only one side knows is no difference", "[unit]") {
  SourceIdentity without = example();
  without.sha256.reset();
  CHECK(match_source(example(), without).ok());
  CHECK(match_source(without, example()).ok());
}

TEST_CASE("a raw file has sizes and offsets for its identity", "[unit]") {
  const SourceIdentity raw = identify_raw_source(6240, 20, 960, 6080);
  CHECK(raw.header_bytes == 0);
  CHECK(raw.weight.name.empty());
  CHECK(match_source(raw, identify_raw_source(6240, 20, 960, 6080)).ok());
  CHECK_FALSE(match_source(raw, identify_raw_source(6240, 21, 960, 6080)).ok());
  CHECK_FALSE(match_source(raw, example()).ok());
}

}  // namespace
}  // namespace row_store
