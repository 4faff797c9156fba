// The rest of the parser table: which tensors of a good file are the table that a caller names.
#include <cstdint>
#include <string>

#include "format/safetensors_file.h"
#include "format/safetensors_header.h"
#include "support/catch.h"

namespace row_store {
namespace {

using testing::file_of;
using testing::good_json;
using testing::parse_file;
using testing::tensor_json;

// A file whose weight and scale have these types and shapes; both exist, whatever they hold.
SafetensorsHeader header_with(const std::string& weight_dtype, const std::string& weight_shape,
                              uint64_t weight_bytes, const std::string& scale_dtype,
                              const std::string& scale_shape, uint64_t scale_bytes) {
  const uint64_t end = weight_bytes + scale_bytes;
  auto header = parse_file(file_of(
      "{" +
          tensor_json("layers.1.engram.embed.weight", weight_dtype, weight_shape, 0, weight_bytes) +
          "," +
          tensor_json("layers.1.engram.embed.scale", scale_dtype, scale_shape, weight_bytes, end) +
          "}",
      end));
  INFO(header.status().text());
  REQUIRE(header.ok());
  return header.take();
}

SafetensorsHeader good_header() {
  return header_with("F8_E4M3", "[4,256]", 1024, "F8_E8M0", "[4,8]", 32);
}

// By offset and by name, the verdict is the same.
void check_refused(const SafetensorsHeader& header, ErrorCode verdict) {
  const uint64_t weight = header.tensors[0].extent.offset;
  const uint64_t scale = header.tensors[1].extent.offset;
  const Status by_offset = check_engram_tensors(header, 4, weight, scale);
  INFO(by_offset.text());
  CHECK(by_offset.code() == verdict);
  CHECK(by_offset.text().find("embed") != std::string::npos);
  CHECK(find_engram_table(header, 1).status().code() == verdict);
}

TEST_CASE("a table is found by its offsets and by its layer", "[unit]") {
  const SafetensorsHeader header = good_header();
  const auto table = find_engram_table(header, 1);
  REQUIRE(table.ok());
  CHECK(table.value().rows == 4);
  CHECK(table.value().weight_offset == header.data_offset);
  CHECK(table.value().scale_offset == header.data_offset + 1024);
  CHECK(check_engram_tensors(header, 4, header.data_offset, header.data_offset + 1024).ok());
}

TEST_CASE("the layer of a table is told by its weight's name", "[unit]") {
  const auto layer_of = [](const std::string& name) {
    const auto header =
        parse_file(file_of("{" + tensor_json(name, "F8_E4M3", "[4,256]", 0, 1024) + "," +
                               tensor_json("scale", "F8_E8M0", "[4,8]", 1024, 1056) + "}",
                           1056));
    REQUIRE(header.ok());
    return engram_layer_at(header.value(), header.value().data_offset);
  };
  CHECK(layer_of("layers.1.engram.embed.weight") == 1U);
  CHECK(layer_of("layers.14.engram.embed.weight") == 14U);
  CHECK(layer_of("model.layers.0.engram.embed.weight") == 0U);
  CHECK(layer_of("model.layers.x.layers.7.engram.embed.weight") == 7U);
  for (const char* name :
       {"weight", "layers.", "layers.1", "layers.1.", "layers.1.engram", "layers.engram.weight",
        "layers.-1.engram.weight", "layers.1x.engram.weight", "sublayers.1.engram.weight",
        "layers.4294967296.engram.weight", "layers.1.attn.weight", "layers.1.engrams.weight"}) {
    INFO(name);
    CHECK_FALSE(layer_of(name).has_value());
  }
  const SafetensorsHeader header = good_header();
  CHECK_FALSE(engram_layer_at(header, header.data_offset + 1).has_value());
  CHECK_FALSE(engram_layer_at(header, UINT64_MAX).has_value());
}

TEST_CASE("S41 an empty tensor where the weight begins does not hide it", "[unit]") {
  const std::string json =
      "{" + tensor_json("empty", "F32", "[0]", 0, 0) + "," + good_json().substr(1);
  const auto header = parse_file(file_of(json));
  REQUIRE(header.ok());
  const uint64_t data = header.value().data_offset;
  CHECK(check_engram_tensors(header.value(), 4, data, data + 1024).ok());
}

TEST_CASE("S56 a file without the table says so", "[unit]") {
  const auto only = [](const std::string& tensor, uint64_t bytes) {
    return parse_file(file_of("{" + tensor + "}", bytes)).take();
  };
  const SafetensorsHeader weight = only(testing::weight_json(), 1024);
  const SafetensorsHeader scale =
      only(tensor_json("layers.1.engram.embed.scale", "F8_E8M0", "[4,8]", 0, 32), 32);
  const SafetensorsHeader neither = only(tensor_json("x", "U8", "[8]", 0, 8), 8);
  SECTION("weight missing") {
    const uint64_t data = scale.data_offset;
    CHECK(check_engram_tensors(scale, 4, data + 1024, data).code() == ErrorCode::kMissing);
    CHECK(find_engram_table(scale, 1).status().code() == ErrorCode::kMissing);
    CHECK(find_engram_table(scale, 1).status().text().find("embed.weight") != std::string::npos);
  }
  SECTION("scale missing") {
    const uint64_t data = weight.data_offset;
    CHECK(check_engram_tensors(weight, 4, data, data + 1024).code() == ErrorCode::kMissing);
    CHECK(find_engram_table(weight, 1).status().text().find("embed.scale") != std::string::npos);
  }
  SECTION("neither") {
    CHECK(check_engram_tensors(neither, 4, 664, 1688).code() == ErrorCode::kMissing);
    CHECK(find_engram_table(neither, 1).status().code() == ErrorCode::kMissing);
  }
  SECTION("only another layer's") {
    CHECK(find_engram_table(good_header(), 14).status().code() == ErrorCode::kMissing);
    CHECK(find_engram_table(good_header(), 11).status().code() == ErrorCode::kMissing);
  }
}

TEST_CASE("S57 a weight of another shape is refused", "[unit]") {
  const auto with_shape = [](const char* shape, uint64_t bytes) {
    return header_with("F8_E4M3", shape, bytes, "F8_E8M0", "[4,8]", 32);
  };
  SECTION("[rows, 255]") { check_refused(with_shape("[4,255]", 1020), ErrorCode::kShape); }
  SECTION("[256, rows]") { check_refused(with_shape("[256,4]", 1024), ErrorCode::kShape); }
  SECTION("[rows, 256, 1]") { check_refused(with_shape("[4,256,1]", 1024), ErrorCode::kShape); }
  SECTION("[rows * 256]") { check_refused(with_shape("[1024]", 1024), ErrorCode::kShape); }
}

TEST_CASE("S58 a scale of another shape, or another element type, is refused", "[unit]") {
  SECTION("scale [rows, 4]") {
    check_refused(header_with("F8_E4M3", "[4,256]", 1024, "F8_E8M0", "[4,4]", 16),
                  ErrorCode::kShape);
  }
  SECTION("scale [rows - 1, 8]") {
    check_refused(header_with("F8_E4M3", "[4,256]", 1024, "F8_E8M0", "[3,8]", 24),
                  ErrorCode::kShape);
  }
  SECTION("weight F8_E5M2") {
    check_refused(header_with("F8_E5M2", "[4,256]", 1024, "F8_E8M0", "[4,8]", 32),
                  ErrorCode::kDtype);
  }
  SECTION("scale U8") {
    check_refused(header_with("F8_E4M3", "[4,256]", 1024, "U8", "[4,8]", 32), ErrorCode::kDtype);
  }
  SECTION("scale F8_E4M3") {
    check_refused(header_with("F8_E4M3", "[4,256]", 1024, "F8_E4M3", "[4,8]", 32),
                  ErrorCode::kDtype);
  }
}

TEST_CASE("S48 a weight of an unknown type is refused, unlike other tensors", "[unit]") {
  check_refused(header_with("F8_E4M3FN", "[4,256]", 1024, "F8_E8M0", "[4,8]", 32),
                ErrorCode::kDtype);
}

TEST_CASE("S59 a table of no rows is refused", "[unit]") {
  const SafetensorsHeader header = good_header();
  CHECK(check_engram_tensors(header, 0, header.data_offset, header.data_offset + 1024).code() ==
        ErrorCode::kArgument);
  const auto empty = header_with("F8_E4M3", "[0,256]", 0, "F8_E8M0", "[0,8]", 0);
  CHECK(find_engram_table(empty, 1).status().code() == ErrorCode::kShape);
}

TEST_CASE("S60 rows or offsets of the caller that differ from the file are refused", "[unit]") {
  const SafetensorsHeader header = good_header();
  const uint64_t weight = header.data_offset;
  const uint64_t scale = weight + 1024;
  struct Call {
    const char* what;
    uint64_t rows, weight, scale;
    const char* told;
  };
  const Call calls[] = {
      {"one row more", 5, weight, scale, "names 5 rows"},
      {"one row less", 3, weight, scale, "names 3 rows"},
      {"weight a byte later", 4, weight + 1, scale, "no tensor begins at the weight offset"},
      {"weight a byte earlier", 4, weight - 1, scale, "weight offset"},
      {"weight 8 bytes later", 4, weight + 8, scale, "weight offset"},
      {"scale a byte later", 4, weight, scale + 1, "no tensor begins at the scale offset"},
      {"scale 8 bytes earlier", 4, weight, scale - 8, "scale offset"},
      {"scale at the end of the file", 4, weight, scale + 32, "scale offset"},
      {"swapped", 4, scale, weight, "swapped"},
      {"2^64-1", 4, UINT64_MAX, UINT64_MAX, "weight offset"},
  };
  for (const Call& call : calls) {
    DYNAMIC_SECTION("S60 " << call.what) {
      const Status status = check_engram_tensors(header, call.rows, call.weight, call.scale);
      INFO(status.text());
      CHECK(status.code() == ErrorCode::kArgument);
      CHECK(status.text().find(call.told) != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace row_store
