// The parser table: each row is a file that is good but for one change, and the verdict on it. The
// ids (S01 ...) stay with a row for ever, so that a report can name it.
#include "format/safetensors_header.h"

#include <cstdint>
#include <string>
#include <vector>

#include "format/parser_table.h"
#include "format/safetensors_file.h"
#include "support/catch.h"

namespace row_store {
namespace {

using testing::bytes_of;
using testing::check_rows;
using testing::file_bytes_of;
using testing::file_of;
using testing::file_of_text;
using testing::file_with_length;
using testing::good_json;
using testing::one_tensor;
using testing::parse_file;
using testing::SafetensorsFile;
using testing::scale_json;
using testing::tensor_json;
using testing::two_tensors;
using testing::weight_json;
using testing::with_offsets;

SafetensorsFile with_extra(const std::string& value) {
  return one_tensor("{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8],\"extra\":" + value +
                    "}");
}

SafetensorsFile with_metadata(const std::string& value) {
  return file_of("{\"__metadata__\":" + value + "," + weight_json() + "," + scale_json() + "}");
}

std::string nested(int levels) {
  return std::string(static_cast<size_t>(levels), '[') +
         std::string(static_cast<size_t>(levels), ']');
}

std::string with_byte_behind_brace(const std::string& bytes) {
  return "{\"" + bytes + "\":1," + good_json().substr(1);
}

const char kLfsPointer[] =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 99999999999\n";

TEST_CASE("a good table is read with its places in the file", "[unit]") {
  const auto header = parse_file(file_of(good_json()));
  REQUIRE(header.ok());
  const uint64_t data = 8 + good_json().size();
  CHECK(header.value().data_offset == data);
  REQUIRE(header.value().tensors.size() == 2);
  const Tensor* scale = header.value().find("layers.1.engram.embed.scale");
  REQUIRE(scale != nullptr);
  CHECK(scale->dtype == "F8_E8M0");
  CHECK(scale->shape == std::vector<uint64_t>{4, 8});
  CHECK(scale->extent.offset == data + 1024);
  CHECK(scale->extent.bytes == 32);
  CHECK(header.value().find("layers.1.engram.embed.scal") == nullptr);
}

TEST_CASE("files too short for a length, or with an impossible one, are refused", "[unit]") {
  const std::string json = good_json();
  const uint64_t file_bytes = file_bytes_of(json);
  const uint64_t big_endian = __builtin_bswap64(json.size());
  check_rows({
      {"S01", "empty file", file_of_text(""), ErrorCode::kShort, "0 bytes"},
      {"S02", "1 byte", file_of_text("x"), ErrorCode::kShort, "1 bytes"},
      {"S02", "7 bytes", file_of_text("1234567"), ErrorCode::kShort, "incomplete"},
      {"S03", "8 bytes, length 0", file_with_length(0, "", 8), ErrorCode::kHeaderLength, "reads 0"},
      {"S04", "zero-filled head", file_with_length(0, std::string(4096, '\0'), file_bytes),
       ErrorCode::kHeaderLength, "begins with zeros"},
      {"S05", "length one past the file", file_with_length(file_bytes - 7, json, file_bytes),
       ErrorCode::kHeaderLength, "cut short"},
      {"S06", "length 100,000,001", file_with_length(100'000'001, json, UINT64_C(1) << 40),
       ErrorCode::kHeaderLength, "expected 1 to 100000000"},
      {"S07", "length 2^63", file_with_length(UINT64_C(1) << 63, json, file_bytes),
       ErrorCode::kHeaderLength},
      {"S07", "length 2^64-1", file_with_length(UINT64_MAX, json, file_bytes),
       ErrorCode::kHeaderLength},
      {"S07", "length 2^64-8", file_with_length(UINT64_MAX - 7, json, file_bytes),
       ErrorCode::kHeaderLength},
      {"S08", "length big-endian", file_with_length(big_endian, json, file_bytes),
       ErrorCode::kHeaderLength, "big-endian"},
  });
}

TEST_CASE("a length that misses the JSON by one byte is refused", "[unit]") {
  const std::string json = good_json();
  const std::string padded = json + " ";
  const uint64_t file_bytes = file_bytes_of(json);
  check_rows({
      {"S09", "one less, cutting the brace", file_with_length(json.size() - 1, json, file_bytes),
       ErrorCode::kJson},
      {"S09", "one less, in the padding",
       file_with_length(padded.size() - 1, padded, file_bytes_of(padded)), ErrorCode::kSize},
      {"S10", "one more, data byte x", file_with_length(json.size() + 1, json + "x", file_bytes),
       ErrorCode::kJson},
      {"S10", "one more, data byte space",
       file_with_length(json.size() + 1, json + " ", file_bytes), ErrorCode::kSize},
  });
}

TEST_CASE("files of other kinds are refused by name, with what to do", "[unit]") {
  REQUIRE(std::string(kLfsPointer).size() == 136);
  const std::string pointer_135 = std::string(kLfsPointer).replace(124, 2, "9");
  REQUIRE(pointer_135.size() == 135);
  const std::string zip =
      std::string("PK\x03\x04\x14\x00\x00\x00\x08\x00", 10) + "archive/data.pkl";
  const std::string gguf = std::string("GGUF\x03\x00\x00\x00\x01\x00\x00\x00", 12) + "general";
  check_rows({
      {"S11", "Git LFS pointer", file_of_text(pointer_135), ErrorCode::kHeaderLength,
       "this is a Git LFS pointer, 135 bytes; run 'git lfs pull'"},
      {"S12", "HTML page", file_of_text("<!DOCTYPE html><html><body>Not found"),
       ErrorCode::kHeaderLength, "this is an HTML page, 36 bytes"},
      {"S12", "HTML page behind a line break", file_of_text("\n<html lang=\"en\"><body>Sign in"),
       ErrorCode::kHeaderLength, "HTML page"},
      {"S12", "GGUF", file_of_text(gguf), ErrorCode::kHeaderLength, "GGUF"},
      {"S12", "zip", file_of_text(zip), ErrorCode::kHeaderLength, "zip archive"},
      {"S12", "raw JSON", file_of_text("{\"weight_map\": {}}"), ErrorCode::kHeaderLength,
       "JSON text"},
      {"S12", "packed shard", file_of_text("DSV1EN41" + std::string(4088, '\0')),
       ErrorCode::kHeaderLength, "packed shard"},
      {"S12", "page15 shard", file_of_text("DS41EPG2" + std::string(4088, '\0')),
       ErrorCode::kHeaderLength, "page15 packed shard"},
  });
}

TEST_CASE("a header that is not UTF-8 is refused", "[unit]") {
  check_rows({
      {"S13", "byte FF", file_of(with_byte_behind_brace("\xFF")), ErrorCode::kUtf8, "UTF-8"},
      {"S13", "overlong C0 AF", file_of(with_byte_behind_brace("\xC0\xAF")), ErrorCode::kUtf8},
      {"S13", "surrogate ED A0 80", file_of(with_byte_behind_brace("\xED\xA0\x80")),
       ErrorCode::kUtf8},
      {"S13", "not UTF-8 comes before not JSON", file_of("\xFF"), ErrorCode::kUtf8},
  });
}

TEST_CASE("a header that is not strict JSON is refused", "[unit]") {
  const std::string json = good_json();
  const std::string open = json.substr(0, json.size() - 1);
  check_rows({
      {"S14", "lone surrogate escape", file_of("{\"\\ud800\":{}," + json.substr(1)),
       ErrorCode::kJson},
      {"S15", "brace only", file_of("{"), ErrorCode::kJson},
      {"S15", "unclosed string", file_of("{\"abc"), ErrorCode::kJson},
      {"S15", "trailing comma", file_of(open + ",}"), ErrorCode::kJson},
      {"S15", "comment", file_of("/* c */" + json), ErrorCode::kJson},
      {"S15", "single quotes", file_of("{'t':{}}"), ErrorCode::kJson, "begins with"},
      {"S15", "NaN", with_extra("NaN"), ErrorCode::kJson},
      {"S15", "+1", with_extra("+1"), ErrorCode::kJson},
      {"S15", "01", with_extra("01"), ErrorCode::kJson},
      {"S15", "01 before 2^64", with_extra("[01,18446744073709551616]"), ErrorCode::kJson},
      {"S15", "1. without digits", with_extra("1."), ErrorCode::kJson},
      {"S15", "raw line break in a string", with_extra("\"a\nb\""), ErrorCode::kJson},
      {"S15", "only spaces", file_of("        "), ErrorCode::kJson},
      {"S16", "byte order mark", file_of("\xEF\xBB\xBF" + json), ErrorCode::kJson,
       "byte order mark"},
      {"S19", "NUL padding", file_of(json + std::string(3, '\0')), ErrorCode::kJson, "NUL"},
      {"S20", "two objects", file_of(json + "{}"), ErrorCode::kJson},
      {"S20", "object, then x", file_of(json + " x"), ErrorCode::kJson},
      {"S22", "nested 127 deep", with_extra(nested(127)), ErrorCode::kJson, "nested deeper"},
      {"S22", "nested 128 deep", with_extra(nested(128)), ErrorCode::kJson},
      {"S22", "nested 1023 deep", with_extra(nested(1023)), ErrorCode::kJson},
      {"S22", "nested 1024 deep", with_extra(nested(1024)), ErrorCode::kJson},
      {"S22", "nested 100000 deep", with_extra(nested(100'000)), ErrorCode::kJson},
      {"S22", "nested 4 deep", with_extra(nested(4)), ErrorCode::kOk},
  });
}

TEST_CASE("white space around the object is accepted", "[unit]") {
  const std::string json = good_json();
  check_rows({
      {"S17", "space before", file_of("   " + json), ErrorCode::kOk},
      {"S17", "tab, LF, CR before", file_of("\t\n\r" + json), ErrorCode::kOk},
      {"S18", "space behind", file_of(json + "   "), ErrorCode::kOk},
      {"S18", "tab, LF, CR behind", file_of(json + "\t\n\r"), ErrorCode::kOk},
  });
}

TEST_CASE("JSON of another shape than the format's is refused", "[unit]") {
  check_rows({
      {"S21", "root list", file_of("[]"), ErrorCode::kSchema, "not an object"},
      {"S21", "root number", file_of("5"), ErrorCode::kSchema},
      {"S21", "root string", file_of("\"x\""), ErrorCode::kSchema},
      {"S21", "root null", file_of("null"), ErrorCode::kSchema},
      {"S23", "metadata with a number", with_metadata("{\"a\":1}"), ErrorCode::kSchema, "'a'"},
      {"S23", "metadata with an object", with_metadata("{\"a\":{}}"), ErrorCode::kSchema},
      {"S23", "metadata with a list", with_metadata("{\"a\":[]}"), ErrorCode::kSchema},
      {"S23", "metadata is a list", with_metadata("[]"), ErrorCode::kSchema},
      {"S24", "metadata is null", with_metadata("null"), ErrorCode::kOk},
      {"S24", "metadata of strings", with_metadata("{\"format\":\"pt\"}"), ErrorCode::kOk},
      {"S29", "dtype missing", one_tensor("{\"shape\":[8],\"data_offsets\":[0,8]}"),
       ErrorCode::kSchema, "dtype is missing"},
      {"S29", "shape missing", one_tensor("{\"dtype\":\"U8\",\"data_offsets\":[0,8]}"),
       ErrorCode::kSchema, "shape is missing"},
      {"S29", "data_offsets missing", one_tensor("{\"dtype\":\"U8\",\"shape\":[8]}"),
       ErrorCode::kSchema, "data_offsets is missing"},
      {"S29", "dtype not a string",
       one_tensor("{\"dtype\":8,\"shape\":[8],\"data_offsets\":[0,8]}"), ErrorCode::kSchema,
       "dtype is not a string"},
      {"S31", "unknown field", with_extra("\"x\""), ErrorCode::kOk},
      {"S32", "tensor as a list", one_tensor("[\"U8\",[8],[0,8]]"), ErrorCode::kSchema},
      {"S33", "no offsets", with_offsets("[]"), ErrorCode::kSchema, "holds 0 numbers"},
      {"S33", "one offset", with_offsets("[8]"), ErrorCode::kSchema},
      {"S33", "three offsets", with_offsets("[0,8,8]"), ErrorCode::kSchema},
      {"S33", "offsets as an object", with_offsets("{}"), ErrorCode::kSchema, "not a list"},
  });
}

TEST_CASE("offsets and dimensions are integers from 0 to 2^64-1", "[unit]") {
  const auto shape = [](const std::string& text) {
    return one_tensor("{\"dtype\":\"U8\",\"shape\":" + text + ",\"data_offsets\":[0,8]}");
  };
  check_rows({
      {"S34", "-1", with_offsets("[0,-1]"), ErrorCode::kSchema},
      {"S34", "8.0", with_offsets("[0,8.0]"), ErrorCode::kSchema},
      {"S34", "8e0", with_offsets("[0,8e0]"), ErrorCode::kSchema},
      {"S34", "text", with_offsets("[0,\"8\"]"), ErrorCode::kSchema},
      {"S34", "true", with_offsets("[0,true]"), ErrorCode::kSchema},
      {"S34", "null", with_offsets("[0,null]"), ErrorCode::kSchema},
      {"S34", "2^64", with_offsets("[0,18446744073709551616]"), ErrorCode::kSchema, "64 bits"},
      {"S34", "-2^63-1", with_offsets("[0,-9223372036854775809]"), ErrorCode::kSchema, "64 bits"},
      {"S34", "1e999", with_offsets("[0,1e999]"), ErrorCode::kSchema, "64 bits"},
      {"S34", "2^64 behind a name with quotes and digits",
       file_of("{\"a\\\"01\":{\"dtype\":\"U8\",\"shape\":[18446744073709551616]}}"),
       ErrorCode::kSchema, "64 bits"},
      {"S34", "dimension -1", shape("[-1]"), ErrorCode::kSchema, "shape"},
      {"S34", "dimension 8.0", shape("[8.0]"), ErrorCode::kSchema},
      {"S34", "dimension 2^64", shape("[18446744073709551616]"), ErrorCode::kSchema},
      {"S34", "shape a number", shape("8"), ErrorCode::kSchema},
      {"S35", "-0", with_offsets("[-0,8]"), ErrorCode::kOk},
  });
}

TEST_CASE("a name that stands twice is refused", "[unit]") {
  const std::string weight = weight_json();
  const std::string elsewhere =
      tensor_json("layers.1.engram.embed.weight", "F8_E8M0", "[4,8]", 1024, 1056);
  std::string escaped = elsewhere;
  escaped.replace(escaped.find('l'), 1, "\\u006c");
  const std::string fields = "\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]";
  check_rows({
      {"S25", "metadata twice",
       file_of("{\"__metadata__\":{},\"__metadata__\":{}," + good_json().substr(1)),
       ErrorCode::kDuplicate, "__metadata__"},
      {"S25", "metadata null, then again",
       file_of("{\"__metadata__\":null,\"__metadata__\":{}," + good_json().substr(1)),
       ErrorCode::kDuplicate},
      {"S26", "identical", file_of("{" + weight + "," + weight + "," + scale_json() + "}"),
       ErrorCode::kDuplicate, "'layers.1.engram.embed.weight'"},
      {"S27", "at other bytes", two_tensors(weight, elsewhere), ErrorCode::kDuplicate},
      {"S27", "written with an escape", two_tensors(weight, escaped), ErrorCode::kDuplicate},
      {"S30", "dtype", one_tensor("{" + fields + ",\"dtype\":\"U8\"}"), ErrorCode::kDuplicate,
       "'dtype'"},
      {"S30", "shape", one_tensor("{" + fields + ",\"shape\":[8]}"), ErrorCode::kDuplicate},
      {"S30", "data_offsets", one_tensor("{" + fields + ",\"data_offsets\":[0,8]}"),
       ErrorCode::kDuplicate},
  });
}

TEST_CASE("S54 a header of 100,000,000 bytes is read", "[.][slow]") {
  std::string json = "{";
  uint64_t count = 0;
  while (json.size() < 99'999'900) {
    if (count > 0) json += ",";
    json += tensor_json("t" + std::to_string(count), "U8", "[1]", count, count + 1);
    ++count;
  }
  json += "}";
  json.resize(100'000'000, ' ');
  const auto header = parse_file(file_of(json, count));
  INFO(header.status().text());
  REQUIRE(header.ok());
  CHECK(header.value().tensors.size() == count);
  CHECK(header.value().tensors.back().extent.offset == 8 + 100'000'000 + count - 1);
}

TEST_CASE("S55 strange names are kept, and escaped and cut in messages", "[unit]") {
  SECTION("a NUL, a line break, U+FFFD and right-to-left text") {
    const std::string escaped = "a\\u0000b\\n\xEF\xBF\xBD\xE2\x80\xAE";
    const std::string name("a\0b\n\xEF\xBF\xBD\xE2\x80\xAE", 10);
    const auto good = parse_file(file_of("{" + tensor_json(escaped, "U8", "[8]", 0, 8) + "}", 8));
    REQUIRE(good.ok());
    CHECK(good.value().find(name) != nullptr);
    const auto bad = parse_file(file_of("{" + tensor_json(escaped, "U8", "[9]", 0, 8) + "}", 8));
    CHECK(bad.status().text().find("'a\\x00b\\x0a\\xef\\xbf\\xbd\\xe2\\x80\\xae'") !=
          std::string::npos);
  }
  SECTION("90 MB") {
    const std::string name(90'000'000, 'n');
    const auto good = parse_file(file_of("{" + tensor_json(name, "U8", "[8]", 0, 8) + "}", 8));
    REQUIRE(good.ok());
    CHECK(good.value().tensors[0].name.size() == 90'000'000);
    const auto bad = parse_file(file_of("{" + tensor_json(name, "U8", "[9]", 0, 8) + "}", 8));
    CHECK(bad.status().text().find("... (90000000 bytes)") != std::string::npos);
    CHECK(bad.status().text().size() < 300);
  }
}

TEST_CASE("a caller who hands in less than the header is told so", "[unit]") {
  const SafetensorsFile file = file_of(good_json());
  const std::span<const uint8_t> head(file.head);
  CHECK(parse_safetensors_header(head.first(head.size() - 1), file.file_bytes).status().code() ==
        ErrorCode::kArgument);
  CHECK(safetensors_header_bytes(head.first(7), file.file_bytes).status().code() ==
        ErrorCode::kArgument);
  CHECK(parse_safetensors_header(head, file.file_bytes).ok());
}

TEST_CASE("no cut of a good header is accepted", "[unit]") {
  const std::string json = good_json();
  for (size_t size = 1; size < json.size(); ++size) {
    INFO(size);
    CHECK_FALSE(parse_file(file_of(json.substr(0, size))).ok());
  }
}

TEST_CASE("a file's kind is told from its first 16 bytes", "[unit]") {
  const auto kind = [](const std::string& text) { return classify_file(bytes_of(text)); };
  CHECK(kind(std::string("\x7b\0\0\0\0\0\0\0{\"a\":1}", 15)) == FileKind::kSafetensors);
  CHECK(kind(std::string("\x10\0\0\0\0\0\0\0        ", 16)) == FileKind::kSafetensors);
  CHECK(kind(std::string("\x10\0\0\0\0\0\0\0[1,2,3]", 15)) == FileKind::kUnknown);
  CHECK(kind(std::string(16, '\0')) == FileKind::kZeroFilled);
  CHECK(kind("version https://") == FileKind::kLfsPointer);
  CHECK(kind("version 1.0 of x") == FileKind::kUnknown);
  CHECK(kind("\xEF\xBB\xBF<!doctype ht") == FileKind::kHtml);
  CHECK(kind("  [1, 2]") == FileKind::kJson);
  CHECK(kind("PK\x03\x04" + std::string(12, '\x14')) == FileKind::kZip);
  CHECK(kind("GGUF" + std::string(12, '\x01')) == FileKind::kGguf);
  CHECK(kind("DSV1EN41") == FileKind::kPackedShard);
  CHECK(kind("DS41EPG2") == FileKind::kPage15Shard);
  CHECK(kind("") == FileKind::kUnknown);
  CHECK(kind("GIF89a") == FileKind::kUnknown);
}

}  // namespace
}  // namespace row_store
