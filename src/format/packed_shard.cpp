#include "format/packed_shard.h"

#include <cstddef>
#include <optional>

#include "base/checked.h"
#include "format/field_comparison.h"
#include "format/file_kind.h"
#include "format/little_endian.h"
#include "format/memory_guard.h"
#include "format/text.h"

namespace row_store {
namespace {

constexpr uint64_t kFileOffsetMax = INT64_MAX;  // off_t

// The header as it lies on disk, in 8-byte words; zeros up to byte 4096.
struct RawHeader {
  uint64_t magic = 0;
  uint64_t layer = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t table_rows = 0;
  uint64_t row_bytes = 0;
  uint64_t page_rows = 0;   // page15 only
  uint64_t page_bytes = 0;  // page15 only
};

RawHeader load_raw(std::span<const uint8_t> bytes) {
  return {load_le64(bytes, 0),  load_le64(bytes, 8),  load_le64(bytes, 16), load_le64(bytes, 24),
          load_le64(bytes, 32), load_le64(bytes, 40), load_le64(bytes, 48), load_le64(bytes, 56)};
}

bool is_packed_magic(uint64_t magic) { return magic == kPackedMagic || magic == kPage15Magic; }

std::optional<uint64_t> records_end_of(PackedLayout layout, uint64_t row_count) {
  std::optional<uint64_t> bytes;
  if (layout == PackedLayout::kDense) {
    bytes = checked_mul(row_count, kRowBytes);
  } else {
    const uint64_t page_count = row_count / kPage15Rows + (row_count % kPage15Rows != 0 ? 1 : 0);
    bytes = checked_mul(page_count, kPageBytes);
  }
  if (!bytes) return std::nullopt;
  const auto end = checked_add(kPackedHeaderBytes, *bytes);
  if (!end || *end > kFileOffsetMax) return std::nullopt;
  return end;
}

Status mismatch(const std::string& text) {
  return Status::error(ErrorCode::kMismatch, "packed shard: " + text);
}

Status wrong_magic(const RawHeader& raw, std::span<const uint8_t> header, uint64_t file_bytes) {
  const FileKind kind = classify_file(header);
  const std::string advice = file_kind_advice(kind, file_bytes);
  return mismatch("magic expected " + hex_text(kPackedMagic) + " or " + hex_text(kPage15Magic) +
                  ", found " + hex_text(raw.magic) + (advice.empty() ? "" : "; " + advice));
}

Status check_length(std::span<const uint8_t> header, uint64_t file_bytes) {
  if (file_bytes >= kPackedHeaderBytes && header.size() >= kPackedHeaderBytes) return {};
  const std::string advice = file_kind_advice(classify_file(header), file_bytes);
  const bool is_cut = classify_file(header) == FileKind::kPackedShard ||
                      classify_file(header) == FileKind::kPage15Shard;
  return Status::error(ErrorCode::kShort,
                       "packed shard: header expected 4096 bytes, the file has " +
                           std::to_string(file_bytes) + ", the caller has read " +
                           std::to_string(header.size()) +
                           (is_cut || advice.empty() ? "; pack the shard again" : "; " + advice));
}

Status check_constants(const RawHeader& raw) {
  if (raw.row_bytes != kRowBytes) {
    return mismatch("row bytes expected 264, found " + std::to_string(raw.row_bytes));
  }
  if (raw.magic != kPage15Magic) return {};
  if (raw.page_rows != kPage15Rows) {
    return mismatch("rows a page expected 15, found " + std::to_string(raw.page_rows));
  }
  if (raw.page_bytes != kPageBytes) {
    return mismatch("page bytes expected 4096, found " + std::to_string(raw.page_bytes));
  }
  return {};
}

Result<PackedHeader> decode(std::span<const uint8_t> header, uint64_t file_bytes) {
  Status status = check_length(header, file_bytes);
  if (!status.ok()) return status;
  const RawHeader raw = load_raw(header);
  if (!is_packed_magic(raw.magic)) return wrong_magic(raw, header, file_bytes);
  status = check_constants(raw);
  if (!status.ok()) return status;
  if (raw.begin > raw.end || raw.end > raw.table_rows) {
    return mismatch("rows " + std::to_string(raw.begin) + " to " + std::to_string(raw.end) +
                    " are no range of a table of " + std::to_string(raw.table_rows) + " rows");
  }
  PackedHeader decoded;
  decoded.layout = raw.magic == kPage15Magic ? PackedLayout::kPage15 : PackedLayout::kDense;
  decoded.layer = raw.layer;
  decoded.range = {raw.begin, raw.end};
  decoded.table_rows = raw.table_rows;
  const auto end = decoded.records_end();
  if (!end.ok()) return end.status();
  if (file_bytes < end.value()) {
    return Status::error(
        ErrorCode::kSize,
        "packed shard: file bytes expected at least " + std::to_string(end.value()) + " for " +
            std::to_string(decoded.range.count()) + " rows, found " + std::to_string(file_bytes) +
            "; packing or copying was cut short, pack the shard again");
  }
  return decoded;
}

FieldComparison compare(const RawHeader& raw, uint64_t file_bytes,
                        const PackedExpectation& expected) {
  FieldComparison fields;
  const bool is_page15 = raw.magic == kPage15Magic;
  fields.note("magic", hex_text(is_page15 ? kPage15Magic : kPackedMagic), hex_text(raw.magic),
              is_packed_magic(raw.magic));
  fields.add("layer", expected.layer, raw.layer);
  fields.add("first row", expected.range.begin, raw.begin);
  fields.add("end row", expected.range.end, raw.end);
  fields.add("table rows", expected.table_rows, raw.table_rows);
  fields.add("row bytes", kRowBytes, raw.row_bytes);
  if (is_page15) {
    fields.add("rows a page", kPage15Rows, raw.page_rows);
    fields.add("page bytes", kPageBytes, raw.page_bytes);
  }
  const auto layout = is_page15 ? PackedLayout::kPage15 : PackedLayout::kDense;
  const auto end = records_end_of(layout, expected.range.count());
  // A short file is kSize when all fields agree; in the list it only adds to the picture.
  fields.note("file bytes", end ? "at least " + std::to_string(*end) : "a 63-bit size",
              std::to_string(file_bytes), true);
  return fields;
}

Result<PackedHeader> match(std::span<const uint8_t> header, uint64_t file_bytes,
                           const PackedExpectation& expected) {
  Status status = check_length(header, file_bytes);
  if (!status.ok()) return status;
  const RawHeader raw = load_raw(header);
  const FieldComparison fields = compare(raw, file_bytes, expected);
  if (fields.is_equal()) return decode(header, file_bytes);
  const std::string advice =
      is_packed_magic(raw.magic) ? "" : file_kind_advice(classify_file(header), file_bytes);
  return mismatch(fields.text() + (advice.empty() ? "" : "; " + advice));
}

}  // namespace

uint64_t PackedHeader::row_offset(uint64_t id) const {
  const uint64_t row = id - range.begin;
  if (layout == PackedLayout::kDense) return kPackedHeaderBytes + row * kRowBytes;
  return kPackedHeaderBytes + row / kPage15Rows * kPageBytes + row % kPage15Rows * kRowBytes;
}

Result<uint64_t> PackedHeader::records_end() const {
  return guard_memory([&]() -> Result<uint64_t> {
    const auto end = records_end_of(layout, range.count());
    if (end) return *end;
    return Status::error(ErrorCode::kOverflow, "packed shard: " + std::to_string(range.count()) +
                                                   " rows do not fit a file");
  });
}

Result<PackedHeader> decode_packed_header(std::span<const uint8_t> header, uint64_t file_bytes) {
  return guard_memory([&] { return decode(header, file_bytes); });
}

Result<PackedHeader> match_packed_header(std::span<const uint8_t> header, uint64_t file_bytes,
                                         const PackedExpectation& expected) {
  return guard_memory([&] { return match(header, file_bytes, expected); });
}

std::array<uint8_t, kPackedHeaderBytes> encode_packed_header(const PackedHeader& header) {
  std::array<uint8_t, kPackedHeaderBytes> bytes{};
  const bool is_page15 = header.layout == PackedLayout::kPage15;
  store_le64(bytes, 0, is_page15 ? kPage15Magic : kPackedMagic);
  store_le64(bytes, 8, header.layer);
  store_le64(bytes, 16, header.range.begin);
  store_le64(bytes, 24, header.range.end);
  store_le64(bytes, 32, header.table_rows);
  store_le64(bytes, 40, kRowBytes);
  if (is_page15) {
    store_le64(bytes, 48, kPage15Rows);
    store_le64(bytes, 56, kPageBytes);
  }
  return bytes;
}

}  // namespace row_store
