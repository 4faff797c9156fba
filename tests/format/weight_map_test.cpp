#include "format/weight_map.h"

#include "support/catch.h"

using namespace row_store;

namespace {

std::string index_of(const std::string& entries) {
  return R"({"metadata":{"total_size":1},"weight_map":{)" + entries + "}}";
}

std::string pair_in(const std::string& layer, const std::string& weight, const std::string& scale) {
  const std::string stem = "\"layers." + layer + ".engram.embed.";
  return stem + "weight\":\"" + weight + "\"," + stem + "scale\":\"" + scale + "\"";
}

ErrorCode code_of(const std::string& json) { return parse_weight_map(json).status().code(); }

}  // namespace

TEST_CASE("an index tells the file of a layer's table", "[weight_map]") {
  const auto map = parse_weight_map(
      index_of(pair_in("14", "sub/b.safetensors", "sub/b.safetensors") + "," +
               pair_in("1", "a.safetensors", "a.safetensors") +
               R"(,"layers.01.engram.embed.weight":"c","layers.2.mlp.weight":"a.safetensors")"));
  REQUIRE(map.ok());
  CHECK(map.value().engram_layers() == std::vector<uint64_t>{1, 14});
  CHECK(map.value().engram_file(1).value() == "a.safetensors");
  CHECK(map.value().engram_file(14).value() == "sub/b.safetensors");
  const Status missing = map.value().engram_file(2).status();
  CHECK(missing.code() == ErrorCode::kMissing);
  CHECK(missing.text().find("layers with a table: 1, 14") != std::string::npos);
}

TEST_CASE("a table in two files is refused", "[weight_map]") {
  const auto map = parse_weight_map(index_of(pair_in("1", "a.safetensors", "b.safetensors")));
  REQUIRE(map.ok());
  CHECK(map.value().engram_file(1).status().code() == ErrorCode::kSchema);
}

TEST_CASE("a name stays in its folder or is refused", "[weight_map]") {
  for (const char* good : {"a", "a.safetensors", "sub/a", "./a", "..a/b..", "...", "a\\..\\b"})
    CHECK(stays_in_folder(good));
  const std::string nul("a\0b", 3);
  for (const std::string& bad :
       {std::string(), std::string("."), std::string("/etc/passwd"), std::string(".."),
        std::string("../a"), std::string("a/../../b"), std::string("a/.."), std::string("a//b"),
        std::string("a/"), std::string("a/."), std::string("a\nb"), std::string("\x7F"), nul})
    CHECK_FALSE(stays_in_folder(bad));
}

TEST_CASE("an index that leads out of the folder is refused whole", "[weight_map]") {
  for (const char* name : {"../../etc/passwd", "/etc/passwd", "a/../../b", "", "x\\u0000y"}) {
    const std::string entries = pair_in("1", "a.safetensors", "a.safetensors");
    CHECK(code_of(index_of(entries)) == ErrorCode::kOk);
    CHECK(code_of(index_of(entries + ",\"z\":\"" + name + "\"")) == ErrorCode::kSchema);
  }
}

TEST_CASE("each way in which an index can be wrong has its code", "[weight_map]") {
  CHECK(code_of("") == ErrorCode::kJson);
  CHECK(code_of("{\"weight_map\":{}") == ErrorCode::kJson);
  CHECK(code_of("\xEF\xBB\xBF{\"weight_map\":{}}") == ErrorCode::kJson);
  CHECK(code_of("{\"weight_map\":{\"\xFF\":\"a\"}}") == ErrorCode::kUtf8);
  CHECK(code_of("[]") == ErrorCode::kSchema);
  CHECK(code_of("{}") == ErrorCode::kSchema);
  CHECK(code_of("{\"weight_map\":[]}") == ErrorCode::kSchema);
  CHECK(code_of(index_of("\"t\":1")) == ErrorCode::kSchema);
  CHECK(code_of(index_of("\"t\":[\"a\"]")) == ErrorCode::kSchema);
  CHECK(code_of(index_of("\"t\":\"a\",\"t\":\"b\"")) == ErrorCode::kDuplicate);
  CHECK(code_of("{\"weight_map\":{},\"weight_map\":{}}") == ErrorCode::kDuplicate);
  CHECK(code_of(std::string(100000, '[')) == ErrorCode::kJson);
  CHECK(code_of("{\"weight_map\":{}}") == ErrorCode::kOk);
}
