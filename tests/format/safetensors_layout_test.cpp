// The rows of the parser table that are about bytes: tensors tile the data, and sizes do not wrap.
#include <cstdint>
#include <string>

#include "format/parser_table.h"
#include "format/safetensors_file.h"
#include "format/safetensors_header.h"
#include "support/catch.h"

namespace row_store {
namespace {

using testing::check_rows;
using testing::file_bytes_of;
using testing::file_of;
using testing::good_json;
using testing::kGoodDataBytes;
using testing::parse_file;
using testing::scale_json;
using testing::tensor_json;
using testing::two_tensors;
using testing::weight_json;
using testing::with_offsets;

TEST_CASE("tensors that do not tile the data are refused", "[unit]") {
  const auto u8 = [](const char* name, uint64_t begin, uint64_t end) {
    return tensor_json(name, "U8", "[" + std::to_string(end - begin) + "]", begin, end);
  };
  check_rows({
      {"S36", "begin behind end", with_offsets("[8,0]"), ErrorCode::kLayout, "after its end"},
      {"S37", "first begin 1", two_tensors(u8("a", 1, 8), u8("b", 8, 9), 9), ErrorCode::kLayout,
       "the start of the data"},
      {"S38", "hole of a byte", two_tensors(u8("a", 0, 8), u8("b", 9, 16), 16), ErrorCode::kLayout,
       "hole"},
      {"S39", "overlap of a byte", two_tensors(u8("a", 0, 8), u8("b", 7, 16), 16),
       ErrorCode::kLayout, "overlap"},
      {"S39", "same bytes", two_tensors(u8("a", 0, 8), u8("b", 0, 8), 8), ErrorCode::kLayout},
      {"S41", "empty tensors on boundaries",
       file_of("{" + u8("e", 8, 8) + "," + u8("z", 0, 0) + "," + u8("a", 0, 8) + "," +
                   u8("b", 8, 16) + "," + u8("f", 16, 16) + "}",
               16),
       ErrorCode::kOk},
      {"S41", "empty tensor inside another",
       file_of("{" + u8("a", 0, 8) + "," + u8("e", 4, 4) + "}", 8), ErrorCode::kLayout},
      {"S41", "scalar", two_tensors(tensor_json("s", "F32", "[]", 0, 4), u8("a", 4, 8), 8),
       ErrorCode::kOk},
      {"S42", "scale before weight",
       two_tensors(tensor_json("w", "F8_E4M3", "[4,256]", 32, 1056),
                   tensor_json("s", "F8_E8M0", "[4,8]", 0, 32)),
       ErrorCode::kOk},
      {"S46", "shape too large by one", file_of("{" + tensor_json("t", "U8", "[9]", 0, 8) + "}", 8),
       ErrorCode::kLayout, "needs 9 bytes"},
      {"S46", "shape too small by one", file_of("{" + tensor_json("t", "U8", "[7]", 0, 8) + "}", 8),
       ErrorCode::kLayout},
      {"S47", "F4 of 12 bits", file_of("{" + tensor_json("t", "F4", "[3]", 0, 2) + "}", 2),
       ErrorCode::kLayout, "4 bits into a byte"},
      {"S47", "F6 of 12 bits", file_of("{" + tensor_json("t", "F6_E2M3", "[2]", 0, 2) + "}", 2),
       ErrorCode::kLayout},
      {"S47", "F4 of 16 bits", file_of("{" + tensor_json("t", "F4", "[4]", 0, 2) + "}", 2),
       ErrorCode::kOk},
  });
}

TEST_CASE("a tensor of an unknown type is accepted, but must tile", "[unit]") {
  const auto other = [](const char* dtype, uint64_t begin, uint64_t end) {
    return file_of("{" + weight_json() + "," + scale_json() + "," +
                       tensor_json("x", dtype, "[3]", begin, end) + "}",
                   end);
  };
  check_rows({
      {"S48", "f32", other("f32", 1056, 1063), ErrorCode::kOk},
      {"S48", "F8_E4M3 with a space", other("F8_E4M3 ", 1056, 1063), ErrorCode::kOk},
      {"S48", "F8_E4M3FN", other("F8_E4M3FN", 1056, 1063), ErrorCode::kOk},
      {"S48", "F128", other("F128", 1056, 1063), ErrorCode::kOk},
      {"S48", "no name", other("", 1056, 1063), ErrorCode::kOk},
      {"S48", "unknown, with a hole", other("F128", 1057, 1063), ErrorCode::kLayout},
      {"S48", "unknown, over the scale", other("F128", 1055, 1063), ErrorCode::kLayout},
  });
}

TEST_CASE("every type of the reference has its size", "[unit]") {
  struct Type {
    const char* name;
    uint64_t bytes_of_eight;
  };
  const Type types[] = {{"BOOL", 8},    {"F4", 4},          {"F6_E2M3", 6},     {"F6_E3M2", 6},
                        {"U8", 8},      {"I8", 8},          {"F8_E5M2", 8},     {"F8_E4M3", 8},
                        {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
                        {"U16", 16},    {"F16", 16},        {"BF16", 16},       {"I32", 32},
                        {"U32", 32},    {"F32", 32},        {"C64", 64},        {"F64", 64},
                        {"I64", 64},    {"U64", 64}};
  for (const Type& type : types) {
    INFO(type.name);
    const uint64_t bytes = type.bytes_of_eight;
    CHECK(
        parse_file(file_of("{" + tensor_json("t", type.name, "[8]", 0, bytes) + "}", bytes)).ok());
    const auto wrong = parse_file(
        file_of("{" + tensor_json("t", type.name, "[8]", 0, bytes + 1) + "}", bytes + 1));
    CHECK(wrong.status().code() == ErrorCode::kLayout);
  }
}

TEST_CASE("sizes that wrap 64 bits are refused", "[unit]") {
  const auto shaped = [](const char* dtype, const char* shape, uint64_t end) {
    return file_of("{" + tensor_json("t", dtype, shape, 0, end) + "}", end);
  };
  check_rows({
      {"S43", "[2, 2^64-2]", shaped("U8", "[2,18446744073709551614]", 8), ErrorCode::kOverflow,
       "does not fit 64 bits"},
      {"S43", "[2^63, 2] wraps to 0", shaped("U8", "[9223372036854775808,2]", 0),
       ErrorCode::kOverflow},
      {"S43", "[2^63, 2, 0] wraps before the 0", shaped("U8", "[9223372036854775808,2,0]", 0),
       ErrorCode::kOverflow},
      {"S43", "[0, 2^63, 2] is empty", shaped("U8", "[0,9223372036854775808,2]", 0),
       ErrorCode::kOk},
      {"S43", "unknown type", shaped("F128", "[2,18446744073709551614]", 8), ErrorCode::kOverflow},
      {"S44", "[2, 2^63-1] F32", shaped("F32", "[2,9223372036854775807]", 8), ErrorCode::kOverflow},
      {"S44", "[2^61] U8: the bits wrap", shaped("U8", "[2305843009213693952]", 8),
       ErrorCode::kOverflow},
      {"S51", "last end 2^63", with_offsets("[0,9223372036854775808]"), ErrorCode::kOverflow,
       "beyond what a file can hold"},
      {"S51", "last end 2^64-1", with_offsets("[0,18446744073709551615]"), ErrorCode::kOverflow},
      {"S51", "last end 2^63-1", with_offsets("[0,9223372036854775807]"), ErrorCode::kOverflow},
  });
}

TEST_CASE("a file of another size than its header's is refused", "[unit]") {
  const auto sized = [](uint64_t data_bytes) { return file_of(good_json(), data_bytes); };
  const std::string big = "{" + tensor_json("w", "F8_E4M3", "[4096,256]", 0, 1u << 20) + "}";
  check_rows({
      {"S49", "a byte short", sized(kGoodDataBytes - 1), ErrorCode::kSize, "1 missing"},
      {"S49", "a page short", file_of(big, (1u << 20) - 4096), ErrorCode::kSize, "4096 missing"},
      {"S49", "only the header", sized(0), ErrorCode::kSize, "cut short"},
      {"S50", "a byte too many", sized(kGoodDataBytes + 1), ErrorCode::kSize, "1 too many"},
      {"S50", "a second file behind", sized(kGoodDataBytes + file_bytes_of(good_json())),
       ErrorCode::kSize, "appended"},
      {"S50", "no tensors, but data", file_of("{}", 1), ErrorCode::kSize},
      {"S50", "no tensors, no data", file_of("{}", 0), ErrorCode::kOk},
      {"S65", "incomplete download", sized(kGoodDataBytes / 2), ErrorCode::kSize,
       "fetch the file again"},
  });
}

TEST_CASE("S52 offsets beyond 4 GiB are kept exactly", "[unit]") {
  const uint64_t rows = UINT64_C(24) << 20;  // 6 GiB of weights.
  const uint64_t weight_bytes = rows * 256;
  const std::string count = std::to_string(rows);
  const auto header = parse_file(two_tensors(
      tensor_json("w", "F8_E4M3", "[" + count + ",256]", 0, weight_bytes),
      tensor_json("s", "F8_E8M0", "[" + count + ",8]", weight_bytes, rows * 264), rows * 264));
  REQUIRE(header.ok());
  CHECK(header.value().find("w")->extent.bytes == UINT64_C(6442450944));
  CHECK(header.value().find("s")->extent.offset ==
        header.value().data_offset + UINT64_C(6442450944));
}

TEST_CASE("S61 odd places are kept exactly", "[unit]") {
  std::string json = good_json();
  if (json.size() % 2 == 0) json += " ";
  const auto header = parse_file(file_of(json));
  REQUIRE(header.ok());
  CHECK(header.value().data_offset % 2 == 1);
  CHECK(header.value().tensors[0].extent.offset == 8 + json.size());
}

TEST_CASE("S42 tensors come in file order whatever the order of names", "[unit]") {
  const auto header = parse_file(two_tensors(scale_json(), weight_json()));
  REQUIRE(header.ok());
  CHECK(header.value().tensors[0].name == "layers.1.engram.embed.weight");
  CHECK(header.value().tensors[1].name == "layers.1.engram.embed.scale");
}

}  // namespace
}  // namespace row_store
