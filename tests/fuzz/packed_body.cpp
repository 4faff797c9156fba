#include <algorithm>
#include <array>

#include "check.h"
#include "format/little_endian.h"
#include "format/packed_shard.h"
#include "fuzz_bodies.h"
#include "input.h"

namespace row_store::fuzz {
namespace {

using Header = std::array<uint8_t, kPackedHeaderBytes>;

void check_refusal(const Status& status) {
  FUZZ_CHECK(status.code() != ErrorCode::kOk);
  FUZZ_CHECK(status.code() != ErrorCode::kMemory);
  FUZZ_CHECK(!status.text().empty());
  for (const char c : status.text()) FUZZ_CHECK(c >= ' ' && c <= '~');
}

// Every row of an accepted shard lies between the header and the end of the file, in order and
// without overlap.
void check_places(const PackedHeader& header, uint64_t file_bytes) {
  const auto end = header.records_end();
  FUZZ_CHECK(end.ok());
  FUZZ_CHECK(end.value() <= file_bytes);
  FUZZ_CHECK(end.value() <= uint64_t{INT64_MAX});
  const uint64_t count = header.range.count();
  if (count == 0) return;
  FUZZ_CHECK(header.row_offset(header.range.begin) == kPackedHeaderBytes);
  for (const uint64_t row : {uint64_t{0}, uint64_t{14}, uint64_t{15}, count / 2, count - 1}) {
    if (row >= count) continue;
    const uint64_t at = header.row_offset(header.range.begin + row);
    FUZZ_CHECK(at >= kPackedHeaderBytes);
    FUZZ_CHECK(at + kRowBytes <= end.value());
    if (header.layout == PackedLayout::kPage15)
      FUZZ_CHECK(at / kPageBytes == (at + kRowBytes - 1) / kPageBytes);
    if (row + 1 < count)
      FUZZ_CHECK(header.row_offset(header.range.begin + row + 1) >= at + kRowBytes);
  }
}

// The words that a header has on disk are those that it was decoded to.
void check_round_trip(const Header& bytes, const PackedHeader& header) {
  const Header again = encode_packed_header(header);
  const size_t words = header.layout == PackedLayout::kDense ? 6 : 8;
  FUZZ_CHECK(
      std::equal(again.begin(), again.begin() + static_cast<ptrdiff_t>(8 * words), bytes.begin()));
}

}  // namespace

void packed_header(std::span<const uint8_t> input_bytes) {
  Input input(input_bytes);
  const uint64_t file_bytes = input.word();
  PackedExpectation expected;
  expected.layer = input.word();
  expected.range.begin = input.word();
  expected.range.end = input.word();
  expected.table_rows = input.word();
  Header bytes{};
  const std::span<const uint8_t> rest = input.rest();
  std::copy_n(rest.begin(), std::min<size_t>(rest.size(), bytes.size()), bytes.begin());

  const auto decoded = decode_packed_header(bytes, file_bytes);
  const auto matched = match_packed_header(bytes, file_bytes, expected);
  const auto cut = decode_packed_header(std::span(bytes).first(kPackedHeaderBytes - 1), file_bytes);
  FUZZ_CHECK(!cut.ok());
  if (!decoded.ok()) {
    check_refusal(decoded.status());
    FUZZ_CHECK(!matched.ok());
  }
  if (!matched.ok()) check_refusal(matched.status());
  if (!decoded.ok()) return;
  const PackedHeader& header = decoded.value();
  FUZZ_CHECK(header.range.begin <= header.range.end);
  FUZZ_CHECK(header.range.end <= header.table_rows);
  check_places(header, file_bytes);
  check_round_trip(bytes, header);
  // A store accepts exactly the shard that is its own.
  const bool own = expected.layer == header.layer && expected.range == header.range &&
                   expected.table_rows == header.table_rows;
  FUZZ_CHECK(matched.ok() == own);
  FUZZ_CHECK(
      match_packed_header(bytes, file_bytes, {header.layer, header.range, header.table_rows}).ok());
}

}  // namespace row_store::fuzz
