// Packed headers: each row of the table (P01 ...) is a good header but for one change.
#include "format/packed_shard.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/little_endian.h"
#include "format/safetensors_file.h"
#include "support/catch.h"

namespace row_store {
namespace {

using HeaderBytes = std::array<uint8_t, kPackedHeaderBytes>;

constexpr uint64_t kLayer = 14;
constexpr RowRange kRange{1000, 1100};
constexpr uint64_t kTableRows = 4000;
constexpr PackedExpectation kExpected{kLayer, kRange, kTableRows};
constexpr uint64_t kDenseBytes = 4096 + 100 * 264;
constexpr uint64_t kPage15Bytes = 4096 + 7 * 4096;  // 100 rows are 6 pages of 15 and one of 10.

HeaderBytes good_header(PackedLayout layout) {
  return encode_packed_header({layout, kLayer, kRange, kTableRows});
}

uint64_t good_bytes(PackedLayout layout) {
  return layout == PackedLayout::kDense ? kDenseBytes : kPage15Bytes;
}

HeaderBytes changed(PackedLayout layout, size_t at, uint64_t value) {
  HeaderBytes header = good_header(layout);
  store_le64(header, at, value);
  return header;
}

bool contains(const Status& status, const std::string& part) {
  return status.text().find(part) != std::string::npos;
}

const PackedLayout kLayouts[] = {PackedLayout::kDense, PackedLayout::kPage15};

const char* name_of(PackedLayout layout) {
  return layout == PackedLayout::kDense ? "dense" : "page15";
}

TEST_CASE("a dense header has the original packer's bytes", "[unit]") {
  const HeaderBytes header = good_header(PackedLayout::kDense);
  CHECK(std::string(header.begin(), header.begin() + 8) == "DSV1EN41");
  const uint64_t words[] = {0x31344E4531565344, 14, 1000, 1100, 4000, 264, 0, 0};
  for (size_t i = 0; i < 8; ++i) CHECK(load_le64(header, 8 * i) == words[i]);
  for (size_t i = 64; i < header.size(); ++i) REQUIRE(header[i] == 0);
  CHECK(header[8] == 14);
  CHECK(header[16] == 0xE8);
  CHECK(header[17] == 0x03);
}

TEST_CASE("a page15 header names its magic, rows a page and page size", "[unit]") {
  const HeaderBytes header = good_header(PackedLayout::kPage15);
  CHECK(std::string(header.begin(), header.begin() + 8) == "DS41EPG2");
  const uint64_t words[] = {0x3247504531345344, 14, 1000, 1100, 4000, 264, 15, 4096};
  for (size_t i = 0; i < 8; ++i) CHECK(load_le64(header, 8 * i) == words[i]);
  for (size_t i = 64; i < header.size(); ++i) REQUIRE(header[i] == 0);
}

TEST_CASE("the headers in docs/packed-format.md are what is written", "[unit]") {
  const std::array<uint8_t, 64> dense = {
      0x44, 0x53, 0x56, 0x31, 0x45, 0x4e, 0x34, 0x31, 0x0e, 0, 0,    0,    0,    0,
      0,    0,    0x4a, 0xe8, 0xb8, 0x05, 0,    0,    0,    0, 0x95, 0xd0, 0x71, 0x0b,
      0,    0,    0,    0,    0x2a, 0xa1, 0xe3, 0x16, 0,    0, 0,    0,    0x08, 0x01};
  const std::array<uint8_t, 64> page15 = {
      0x44, 0x53, 0x34, 0x31, 0x45, 0x50, 0x47, 0x32, 0x0e, 0,    0,    0,    0,    0, 0,
      0,    0,    0,    0,    0,    0,    0,    0,    0,    0x95, 0xd0, 0x71, 0x0b, 0, 0,
      0,    0,    0x2a, 0xa1, 0xe3, 0x16, 0,    0,    0,    0,    0x08, 0x01, 0,    0, 0,
      0,    0,    0,    0x0f, 0,    0,    0,    0,    0,    0,    0,    0,    0x10};
  const PackedHeader rank1of4{PackedLayout::kDense, 14, {96'004'170, 192'008'341}, 384'016'682};
  const PackedHeader rank0of2{PackedLayout::kPage15, 14, {0, 192'008'341}, 384'016'682};
  const HeaderBytes dense_header = encode_packed_header(rank1of4);
  const HeaderBytes page15_header = encode_packed_header(rank0of2);
  CHECK(std::equal(dense.begin(), dense.end(), dense_header.begin()));
  CHECK(std::equal(page15.begin(), page15.end(), page15_header.begin()));
  CHECK(rank1of4.records_end().value() == 25'345'105'240);
  CHECK(rank0of2.records_end().value() == 52'431'085'568);
  CHECK(rank1of4.row_offset(96'004'172) == 4624);
  const auto other_layer = match_packed_header(dense_header, 25'345'105'240,
                                               {1, {96'001'542, 192'003'084}, 384'006'168});
  CHECK(other_layer.status().text() ==
        "packed shard: magic expected 0x31344e4531565344, found 0x31344e4531565344; "
        "layer expected 1, found 14 (differs); "
        "first row expected 96001542, found 96004170 (differs); "
        "end row expected 192003084, found 192008341 (differs); "
        "table rows expected 384006168, found 384016682 (differs); "
        "row bytes expected 264, found 264; "
        "file bytes expected at least 25344411184, found 25345105240");
}

TEST_CASE("what is encoded is decoded, in both layouts", "[unit]") {
  for (const PackedLayout layout : kLayouts) {
    DYNAMIC_SECTION(name_of(layout)) {
      const auto header = match_packed_header(good_header(layout), good_bytes(layout), kExpected);
      INFO(header.status().text());
      REQUIRE(header.ok());
      CHECK(header.value().layout == layout);
      CHECK(header.value().layer == kLayer);
      CHECK(header.value().range == kRange);
      CHECK(header.value().table_rows == kTableRows);
      REQUIRE(header.value().records_end().ok());
      CHECK(header.value().records_end().value() == good_bytes(layout));
    }
  }
}

TEST_CASE("dense rows lie back to back behind the header", "[unit]") {
  const PackedHeader header{PackedLayout::kDense, kLayer, kRange, kTableRows};
  CHECK(header.row_offset(1000) == 4096);
  CHECK(header.row_offset(1001) == 4096 + 264);
  CHECK(header.row_offset(1099) == 4096 + 99 * 264);
}

TEST_CASE("page15 rows lie 15 a page and none straddles", "[unit]") {
  const PackedHeader header{PackedLayout::kPage15, kLayer, kRange, kTableRows};
  CHECK(header.row_offset(1000) == 4096);
  CHECK(header.row_offset(1014) == 4096 + 14 * 264);
  CHECK(header.row_offset(1015) == 8192);
  CHECK(header.row_offset(1099) == 4096 + 6 * 4096 + 9 * 264);
  for (uint64_t id = kRange.begin; id < kRange.end; ++id) {
    const uint64_t offset = header.row_offset(id);
    REQUIRE(offset / kPageBytes == (offset + kRowBytes - 1) / kPageBytes);
  }
}

TEST_CASE("the real tables' shards have the published sizes", "[unit]") {
  const PackedHeader first{PackedLayout::kDense, 1, {0, 96'001'542}, 384'006'168};
  CHECK(first.records_end().value() == 25'344'411'184);
  const PackedHeader third{PackedLayout::kDense, 1, {0, 128'002'056}, 384'006'168};
  CHECK(third.records_end().value() == 33'792'546'880);
}

TEST_CASE("the last page of page15 counts whole", "[unit]") {
  const auto end = [](uint64_t rows) {
    return PackedHeader{PackedLayout::kPage15, 1, {0, rows}, rows}.records_end().value();
  };
  CHECK(end(0) == 4096);
  CHECK(end(1) == 8192);
  CHECK(end(15) == 8192);
  CHECK(end(16) == 12288);
}

TEST_CASE("P01 a file or a read shorter than the header is refused", "[unit]") {
  const HeaderBytes good = good_header(PackedLayout::kDense);
  const std::span<const uint8_t> bytes(good);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{8}, size_t{47}, size_t{4095}}) {
    DYNAMIC_SECTION("P01 " << size << " bytes") {
      const auto short_file = match_packed_header(bytes.first(size), size, kExpected);
      CHECK(short_file.status().code() == ErrorCode::kShort);
      CHECK(contains(short_file.status(), "expected 4096 bytes"));
      CHECK(decode_packed_header(bytes.first(size), size).status().code() == ErrorCode::kShort);
      CHECK(decode_packed_header(bytes.first(size), kDenseBytes).status().code() ==
            ErrorCode::kShort);
    }
  }
  const auto pointer = testing::bytes_of("version https://git-lfs.github.com/spec/v1\n");
  CHECK(contains(decode_packed_header(pointer, pointer.size()).status(), "git lfs pull"));
}

TEST_CASE("P02 a magic with any bit changed is refused", "[unit]") {
  for (const PackedLayout layout : kLayouts) {
    for (size_t bit = 0; bit < 64; ++bit) {
      HeaderBytes header = good_header(layout);
      header[bit / 8] = static_cast<uint8_t>(header[bit / 8] ^ 1u << bit % 8);
      INFO(name_of(layout) << " bit " << bit);
      CHECK(match_packed_header(header, 1 << 20, kExpected).status().code() ==
            ErrorCode::kMismatch);
      CHECK(decode_packed_header(header, 1 << 20).status().code() == ErrorCode::kMismatch);
    }
  }
}

TEST_CASE("P02 the text that people quote for the magic is refused", "[unit]") {
  HeaderBytes header = good_header(PackedLayout::kDense);
  const std::string quoted = "DSV41EN1";
  std::copy(quoted.begin(), quoted.end(), header.begin());
  const auto found = match_packed_header(header, kDenseBytes, kExpected);
  CHECK(found.status().code() == ErrorCode::kMismatch);
  CHECK(contains(found.status(), "magic expected 0x31344e4531565344, found 0x314e453134565344"));
}

struct WrongField {
  const char* id;
  const char* name;
  size_t at;
  uint64_t value;
  std::string told;
};

TEST_CASE("a field of another store is refused, with every field in the message", "[unit]") {
  const WrongField fields[] = {
      {"P03", "layer", 8, 1, "layer expected 14, found 1 (differs)"},
      {"P04", "lo", 16, 999, "first row expected 1000, found 999 (differs)"},
      {"P04", "lo inside the range in use", 16, 1001, "first row expected 1000, found 1001"},
      {"P05", "hi", 24, 1101, "end row expected 1100, found 1101 (differs)"},
      {"P05", "hi inside the range in use", 24, 1099, "end row expected 1100, found 1099"},
      {"P06", "rows of the table", 32, 4001, "table rows expected 4000, found 4001 (differs)"},
      {"P06", "rows of the shard as the table's", 32, 100, "table rows expected 4000, found 100"},
      {"P07", "row bytes 0", 40, 0, "row bytes expected 264, found 0 (differs)"},
      {"P07", "row bytes 263", 40, 263, "row bytes expected 264, found 263 (differs)"},
      {"P07", "row bytes 2^64-1", 40, UINT64_MAX, "found 18446744073709551615 (differs)"},
      {"P08", "lo > hi", 16, 1200, "first row expected 1000, found 1200 (differs)"},
  };
  for (const PackedLayout layout : kLayouts) {
    for (const WrongField& field : fields) {
      DYNAMIC_SECTION(field.id << " " << field.name << ", " << name_of(layout)) {
        const HeaderBytes header = changed(layout, field.at, field.value);
        const auto found = match_packed_header(header, 1 << 20, kExpected);
        INFO(found.status().text());
        CHECK(found.status().code() == ErrorCode::kMismatch);
        CHECK(contains(found.status(), field.told));
        for (const char* part : {"magic expected ", "layer expected 14", "first row expected 1000",
                                 "end row expected 1100", "table rows expected 4000",
                                 "row bytes expected 264", "file bytes expected at least "}) {
          CHECK(contains(found.status(), part));
        }
        CHECK(contains(found.status(), "found 1048576"));
        CHECK(found.status().text().find("(differs)") == found.status().text().rfind("(differs)"));
      }
    }
  }
}

TEST_CASE("P07 P08 a header that fits no store at all is refused on its own", "[unit]") {
  for (const PackedLayout layout : kLayouts) {
    const auto code = [&](size_t at, uint64_t value) {
      return decode_packed_header(changed(layout, at, value), UINT64_C(1) << 50).status().code();
    };
    INFO(name_of(layout));
    CHECK(code(40, 0) == ErrorCode::kMismatch);
    CHECK(code(40, 263) == ErrorCode::kMismatch);
    CHECK(code(40, UINT64_MAX) == ErrorCode::kMismatch);
    CHECK(code(16, 1101) == ErrorCode::kMismatch);
    CHECK(code(32, 1099) == ErrorCode::kMismatch);
    CHECK(code(32, 1100) == ErrorCode::kOk);
    CHECK(code(16, 1100) == ErrorCode::kOk);  // An empty range is one.
    CHECK(code(8, 99) == ErrorCode::kOk);
  }
}

TEST_CASE("P09 rows whose bytes do not fit a file are refused", "[unit]") {
  const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX / 264 + 1, UINT64_MAX / 264, INT64_MAX / 264,
                            (INT64_MAX - 4096) / 264 + 1};
  for (const PackedLayout layout : kLayouts) {
    for (const uint64_t rows : sizes) {
      INFO(name_of(layout) << " " << rows);
      const PackedHeader wide{layout, kLayer, {0, rows}, rows};
      const HeaderBytes header = encode_packed_header(wide);
      CHECK(decode_packed_header(header, INT64_MAX).status().code() == ErrorCode::kOverflow);
      const PackedExpectation same{kLayer, {0, rows}, rows};
      CHECK(match_packed_header(header, INT64_MAX, same).status().code() == ErrorCode::kOverflow);
      CHECK(wide.records_end().status().code() == ErrorCode::kOverflow);
    }
  }
  const uint64_t most = (INT64_MAX - 4096) / 264;
  const PackedHeader most_rows{PackedLayout::kDense, kLayer, {0, most}, most};
  CHECK(decode_packed_header(encode_packed_header(most_rows), INT64_MAX).ok());
}

TEST_CASE("P10 a shorter file is refused, a longer one accepted", "[unit]") {
  for (const PackedLayout layout : kLayouts) {
    INFO(name_of(layout));
    const HeaderBytes header = good_header(layout);
    const uint64_t bytes = good_bytes(layout);
    const auto cut = match_packed_header(header, bytes - 1, kExpected);
    CHECK(cut.status().code() == ErrorCode::kSize);
    CHECK(contains(cut.status(), "expected at least " + std::to_string(bytes)));
    CHECK(contains(cut.status(), "found " + std::to_string(bytes - 1)));
    CHECK(match_packed_header(header, 4096, kExpected).status().code() == ErrorCode::kSize);
    CHECK(match_packed_header(header, bytes, kExpected).ok());
    CHECK(match_packed_header(header, bytes + 1, kExpected).ok());
    CHECK(match_packed_header(header, bytes + (1 << 20), kExpected).ok());
  }
}

TEST_CASE("P11 a checkpoint given as a shard is refused by name", "[unit]") {
  auto file = testing::file_of(testing::good_json(), 1 << 20);
  file.head.resize(kPackedHeaderBytes);
  const auto matched = match_packed_header(file.head, file.file_bytes, kExpected);
  CHECK(matched.status().code() == ErrorCode::kMismatch);
  CHECK(contains(matched.status(), "this is a safetensors file"));
  CHECK(contains(matched.status(), "layer expected 14"));
  const auto decoded = decode_packed_header(file.head, file.file_bytes);
  CHECK(decoded.status().code() == ErrorCode::kMismatch);
  CHECK(contains(decoded.status(), "this is a safetensors file"));
}

TEST_CASE("P12 a shard of another rank, layer or checkpoint is refused", "[unit]") {
  const auto code = [](const PackedExpectation& expected) {
    return match_packed_header(good_header(PackedLayout::kDense), kDenseBytes, expected)
        .status()
        .code();
  };
  CHECK(code({kLayer, {1100, 1200}, kTableRows}) == ErrorCode::kMismatch);
  CHECK(code({kLayer, {900, 1100}, kTableRows}) == ErrorCode::kMismatch);
  CHECK(code({kLayer, {1010, 1090}, kTableRows}) == ErrorCode::kMismatch);
  CHECK(code({1, kRange, kTableRows}) == ErrorCode::kMismatch);
  CHECK(code({kLayer, kRange, 384'016'682}) == ErrorCode::kMismatch);
  CHECK(code(kExpected) == ErrorCode::kOk);
}

TEST_CASE("P13 page15 with other pages is refused", "[unit]") {
  const auto found = [](size_t at, uint64_t value) {
    return match_packed_header(changed(PackedLayout::kPage15, at, value), kPage15Bytes, kExpected)
        .status();
  };
  CHECK(found(48, 14).code() == ErrorCode::kMismatch);
  CHECK(contains(found(48, 14), "rows a page expected 15, found 14 (differs)"));
  CHECK(found(48, 0).code() == ErrorCode::kMismatch);
  CHECK(found(56, 8192).code() == ErrorCode::kMismatch);
  CHECK(contains(found(56, 8192), "page bytes expected 4096, found 8192 (differs)"));
  const auto decoded = [](size_t at, uint64_t value) {
    return decode_packed_header(changed(PackedLayout::kPage15, at, value), kPage15Bytes)
        .status()
        .code();
  };
  CHECK(decoded(48, 14) == ErrorCode::kMismatch);
  CHECK(decoded(56, 0) == ErrorCode::kMismatch);
}

TEST_CASE("P14 bytes of the header that the layout does not use are ignored", "[unit]") {
  HeaderBytes dense = changed(PackedLayout::kDense, 48, 15);
  dense[4095] = 1;
  CHECK(match_packed_header(dense, kDenseBytes, kExpected).ok());
  const HeaderBytes page15 = changed(PackedLayout::kPage15, 64, 1);
  CHECK(match_packed_header(page15, kPage15Bytes, kExpected).ok());
}

TEST_CASE("any bit flipped in the used words of a header is refused", "[unit]") {
  for (const PackedLayout layout : kLayouts) {
    const size_t used_bytes = layout == PackedLayout::kDense ? 48 : 64;
    for (size_t bit = 0; bit < 8 * used_bytes; ++bit) {
      HeaderBytes header = good_header(layout);
      header[bit / 8] = static_cast<uint8_t>(header[bit / 8] ^ 1u << bit % 8);
      INFO(name_of(layout) << " bit " << bit);
      REQUIRE_FALSE(match_packed_header(header, 1 << 20, kExpected).ok());
    }
  }
}

}  // namespace
}  // namespace row_store
