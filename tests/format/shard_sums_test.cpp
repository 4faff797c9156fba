// Sums of packed shards as bytes: what is built is understood, and what is changed is found.
#include "format/shard_sums.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "format/checksum.h"
#include "format/little_endian.h"
#include "support/catch.h"

namespace row_store {
namespace {

using Bytes = std::vector<uint8_t>;

// The shard of docs/packed-format.md: 20 rows, every byte of a row its number.
constexpr PackedHeader kDense{PackedLayout::kDense, 1, {0, 20}, 20};
constexpr PackedHeader kPage15{PackedLayout::kPage15, 1, {0, 20}, 20};
constexpr uint64_t kDenseEnd = 4096 + 20 * 264;
constexpr uint64_t kHeadAt = 12288;
constexpr uint64_t kTableAt = 16384;
constexpr uint64_t kBlocks = 3;

SourceIdentity example_source() {
  SourceIdentity source;
  source.file_bytes = 5600;
  source.header_bytes = 320;
  source.header_digest = 0x0123456789abcdef;
  source.weight = {"layers.1.engram.embed.weight", 20, 256, 320};
  source.scale = {"layers.1.engram.embed.scale", 20, 8, 5440};
  return source;
}

Bytes records_of(const PackedHeader& header) {
  Bytes shard(header.records_end().value());
  const auto head = encode_packed_header(header);
  std::copy(head.begin(), head.end(), shard.begin());
  for (uint64_t id = header.range.begin; id < header.range.end; ++id)
    std::fill_n(shard.data() + header.row_offset(id), kRowBytes, static_cast<uint8_t>(id));
  return shard;
}

Bytes with_sums(const PackedHeader& header, const SourceIdentity& source, uint64_t piece = 1000) {
  Bytes shard = records_of(header);
  auto builder = SumsBuilder::create(header, source);
  REQUIRE(builder.ok());
  const std::span<const uint8_t> bytes(shard);
  for (uint64_t at = 0; at < bytes.size(); at += piece)
    REQUIRE(builder.value().add(bytes.subspan(at, std::min(piece, bytes.size() - at))).ok());
  CHECK(builder.value().added() == bytes.size());
  const auto tail = builder.value().finish();
  REQUIRE(tail.ok());
  shard.insert(shard.end(), tail.value().begin(), tail.value().end());
  return shard;
}

std::span<const uint8_t> page_of(const Bytes& shard) {
  return std::span(shard).subspan(kHeadAt, std::min<uint64_t>(kPageBytes, shard.size() - kHeadAt));
}

auto decode(const Bytes& shard, const PackedHeader& header = kDense) {
  return decode_sums_head(page_of(shard), header, shard.size());
}

// What a reader does with a shard: false when it finds anything wrong with a byte of it.
bool is_accepted(const Bytes& shard) {
  const auto head = decode(shard);
  if (!head.ok() || !head.value()) return false;
  const auto table = std::span(shard).subspan(kTableAt);
  if (!check_sums_table(*head.value(), table).ok()) return false;
  if (!match_source(example_source(), head.value()->source).ok()) return false;
  const BlockSums sums(head.value()->layer, table);
  for (uint64_t block = 0; block < sums.block_count(); ++block)
    if (!sums.matches(block, shard.data() + block * kPageBytes)) return false;
  return true;
}

TEST_CASE("the hash is XXH3 with 64 bits", "[unit]") {
  CHECK(checksum({}, 0) == 0x2D06800538D394C2);  // the value that xxHash publishes
  const Bytes bytes(4096, 7);
  CHECK(checksum(bytes, 1) != checksum(bytes, 0));
}

TEST_CASE("what is built is understood, in both layouts", "[unit]") {
  for (const PackedHeader& header : {kDense, kPage15}) {
    const Bytes shard = with_sums(header, example_source());
    CHECK(shard.size() == kTableAt + kBlocks * 8);
    const auto head = decode(shard, header);
    INFO(head.status().text());
    REQUIRE(head.ok());
    REQUIRE(head.value());
    CHECK(head.value()->place.block_count == kBlocks);
    CHECK(head.value()->place.table.offset == kTableAt);
    const Status same = match_source(example_source(), head.value()->source);
    INFO(same.text());
    CHECK(same.ok());
    CHECK_FALSE(head.value()->source.sha256);
    const auto table = std::span(shard).subspan(kTableAt);
    CHECK(check_sums_table(*head.value(), table).ok());
    const BlockSums sums(header.layer, table);
    for (uint64_t block = 0; block < kBlocks; ++block)
      CHECK(sums.matches(block, shard.data() + block * kPageBytes));
    CHECK_FALSE(sums.matches(kBlocks, shard.data()));
  }
}

TEST_CASE("the size of the pieces does not matter", "[unit]") {
  const Bytes expected = with_sums(kDense, example_source(), 1 << 20);
  for (const uint64_t piece : {1, 7, 264, 4095, 4096, 4097, 8192})
    CHECK(with_sums(kDense, example_source(), piece) == expected);
}

TEST_CASE("the dump in docs/packed-format.md is what is written", "[unit]") {
  const Bytes shard = with_sums(kDense, example_source());
  const std::pair<uint64_t, uint64_t> words[] = {
      {0x3000, kSumsMagic},
      {0x3008, 1},
      {0x3010, 1},
      {0x3018, 4096},
      {0x3020, 3},
      {0x3028, 9376},
      {0x3030, 24},
      {0x3038, 0xf173c949fcc28b69},
      {0x3040, 0},
      {0x3048, 0},
      {0x3070, 5600},
      {0x3078, 320},
      {0x3080, 0x0123456789abcdef},
      {0x3100, 320},
      {0x3108, 20},
      {0x3110, 256},
      {0x3118, 28},
      {0x3800, 5440},
      {0x3808, 20},
      {0x3810, 8},
      {0x3818, 27},
      {0x3ff0, kSumsMagic},
      {0x3ff8, 0x42304aaf2986f8a8},
      {0x4000, 0xf49ee5b7fbd27e9b},
      {0x4008, 0xf4106b5ce8b1c06d},
      {0x4010, 0x8731660c862b2fee},
  };
  for (const auto& [at, word] : words) {
    INFO("byte " << at);
    CHECK(load_le64(shard, at) == word);
  }
  CHECK(shard.size() == 0x4018);
}

TEST_CASE("every single bit flip is found", "[unit]") {
  Bytes shard = with_sums(kDense, example_source());
  REQUIRE(is_accepted(shard));
  for (uint64_t bit = 0; bit < shard.size() * 8; ++bit) {
    shard[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    if (is_accepted(shard)) FAIL("bit " << bit << " flipped is accepted");
    shard[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
}

TEST_CASE("a good block in a wrong place, or of another layer, is found", "[unit]") {
  const Bytes shard = with_sums(kDense, example_source());
  const BlockSums sums(1, std::span(shard).subspan(kTableAt));
  CHECK(sums.matches(1, shard.data() + 4096));
  CHECK_FALSE(sums.matches(2, shard.data() + 4096));
  CHECK_FALSE(BlockSums(2, std::span(shard).subspan(kTableAt)).matches(1, shard.data() + 4096));
  // Two blocks of the same bytes have different sums.
  const PackedHeader even{PackedLayout::kPage15, 1, {0, 30}, 30};
  Bytes same(even.records_end().value(), 5);
  auto builder = SumsBuilder::create(even, example_source());
  REQUIRE(builder.value().add(same).ok());
  const Bytes tail = builder.value().finish().take();
  CHECK(load_le64(tail, kPageBytes) != load_le64(tail, kPageBytes + 8));
}

TEST_CASE("a longer file without the magic has no sums", "[unit]") {
  Bytes shard = records_of(kDense);
  shard.resize(kTableAt + 24);
  const auto head = decode(shard);
  REQUIRE(head.ok());
  CHECK_FALSE(head.value());
  CHECK_FALSE(decode_sums_head({}, kDense, kDenseEnd).value());
}

TEST_CASE("one damaged magic does not hide the sums", "[unit]") {
  for (const uint64_t at : {kHeadAt, kHeadAt + 4080}) {
    Bytes shard = with_sums(kDense, example_source());
    std::fill_n(shard.data() + at, 8, uint8_t{0});
    CHECK(decode(shard).status().code() == ErrorCode::kChecksum);
  }
}

TEST_CASE("sums that were cut short are refused", "[unit]") {
  const Bytes whole = with_sums(kDense, example_source());
  for (const uint64_t bytes : {kHeadAt + 8, kHeadAt + 4095, kTableAt, kTableAt + 23}) {
    const Bytes shard(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
    CHECK(decode(shard).status().code() == ErrorCode::kSize);
  }
}

TEST_CASE("another version, layer, range or layout is refused, with its fields", "[unit]") {
  Bytes shard = with_sums(kDense, example_source());
  const PackedHeader other_layer{PackedLayout::kDense, 2, {0, 20}, 20};
  CHECK(decode(shard, other_layer).status().code() == ErrorCode::kChecksum);  // by its seed
  const PackedHeader fewer{PackedLayout::kDense, 1, {0, 19}, 20};             // as many blocks
  const Status status = decode(shard, fewer).status();
  CHECK(status.code() == ErrorCode::kMismatch);
  CHECK(status.text().find("end of records expected 9112, found 9376 (differs)") !=
        std::string::npos);
  CHECK(decode(shard, kPage15).status().code() == ErrorCode::kMismatch);
  store_le64(shard, kHeadAt + 8, 2);
  CHECK(decode(shard).status().code() == ErrorCode::kUnsupported);
}

TEST_CASE("a name that is too long is refused, in a page with a good sum as well", "[unit]") {
  SourceIdentity source = example_source();
  source.weight.name.assign(kSourceNameMax + 1, 'x');
  CHECK(SumsBuilder::create(kDense, source).status().code() == ErrorCode::kArgument);
  source.weight.name.assign(kSourceNameMax, 'x');
  source.scale.name = source.weight.name;
  Bytes shard = with_sums(kDense, source);
  CHECK(match_source(source, decode(shard).value()->source).ok());
  for (const uint64_t at : {256 + 24, 2048 + 24}) {
    Bytes hostile = shard;
    const auto page = std::span(hostile).subspan(kHeadAt, kPageBytes);
    for (const uint64_t length : {kSourceNameMax + 1, UINT64_MAX}) {
      store_le64(page, at, length);
      store_le64(page, 4088, checksum(page.first(4088), (uint64_t{1} << 52) + kBlocks));
      CHECK(decode(hostile).status().code() == ErrorCode::kMismatch);
    }
  }
}

TEST_CASE("the builder takes exactly the bytes of header and records", "[unit]") {
  const Bytes shard = records_of(kDense);
  auto builder = SumsBuilder::create(kDense, example_source());
  REQUIRE(builder.ok());
  CHECK(builder.value().finish().status().code() == ErrorCode::kArgument);
  CHECK(builder.value().add(std::span(shard).first(5000)).ok());
  CHECK(builder.value().add(shard).code() == ErrorCode::kArgument);
  CHECK(builder.value().add(std::span(shard).subspan(5000)).ok());
  CHECK(builder.value().finish().ok());
  CHECK(builder.value().finish().status().code() == ErrorCode::kArgument);
  const PackedHeader vast{PackedLayout::kDense, 1, {0, INT64_MAX / 264 - 16}, INT64_MAX};
  REQUIRE(vast.records_end().ok());
  CHECK(SumsBuilder::create(vast, example_source()).status().code() == ErrorCode::kOverflow);
}

}  // namespace
}  // namespace row_store
