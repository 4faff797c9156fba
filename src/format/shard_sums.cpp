#include "format/shard_sums.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/checked.h"
#include "format/checksum.h"
#include "format/field_comparison.h"
#include "format/little_endian.h"
#include "format/memory_guard.h"
#include "format/text.h"

namespace row_store {
namespace {

constexpr uint64_t kFileOffsetMax = INT64_MAX;  // off_t

// Bytes of the head page; source_identity.cpp has those from 72 to 4079.
constexpr size_t kVersionAt = 8;
constexpr size_t kLayerAt = 16;
constexpr size_t kBlockBytesAt = 24;
constexpr size_t kBlockCountAt = 32;
constexpr size_t kRecordsEndAt = 40;
constexpr size_t kTableBytesAt = 48;
constexpr size_t kTableSumAt = 56;
constexpr size_t kMagicAgainAt = 4080;
constexpr size_t kHeadSumAt = 4088;

uint64_t seed_of(uint64_t layer, uint64_t block) { return (layer << 52) + block; }

uint64_t head_sum(std::span<const uint8_t> page, uint64_t layer, uint64_t block_count) {
  return checksum(page.first(kHeadSumAt), seed_of(layer, block_count));
}

uint64_t table_sum(std::span<const uint8_t> table, uint64_t layer, uint64_t block_count) {
  return checksum(table, seed_of(layer, block_count + 1));
}

Status sums_status(ErrorCode code, const std::string& text) {
  return Status::error(code, "packed shard: sums: " + text);
}

Status cut_short(uint64_t needed, uint64_t file_bytes) {
  return sums_status(ErrorCode::kSize, "file bytes expected at least " + std::to_string(needed) +
                                           ", found " + std::to_string(file_bytes) +
                                           "; packing or copying was cut short, pack again");
}

Status check_page(std::span<const uint8_t> page, const PackedHeader& header,
                  const SumsPlace& place) {
  if (load_le64(page, kVersionAt) != kSumsVersion) {
    return sums_status(ErrorCode::kUnsupported,
                       "version expected 1, found " + std::to_string(load_le64(page, kVersionAt)) +
                           "; a newer packer or a damaged page, pack again");
  }
  const uint64_t expected = head_sum(page, header.layer, place.block_count);
  const uint64_t found = load_le64(page, kHeadSumAt);
  if (expected != found || load_le64(page, 0) != kSumsMagic ||
      load_le64(page, kMagicAgainAt) != kSumsMagic) {
    return sums_status(ErrorCode::kChecksum,
                       "the head page at byte " + std::to_string(place.head_offset) +
                           " is damaged: its sum expected " + hex_text(expected) + ", found " +
                           hex_text(found) + "; pack again");
  }
  FieldComparison fields;
  fields.add("layer", header.layer, load_le64(page, kLayerAt));
  fields.add("block bytes", kPageBytes, load_le64(page, kBlockBytesAt));
  fields.add("blocks", place.block_count, load_le64(page, kBlockCountAt));
  fields.add("end of records", header.records_end().value(), load_le64(page, kRecordsEndAt));
  fields.add("table bytes", place.table.bytes, load_le64(page, kTableBytesAt));
  if (fields.is_equal()) return {};
  return sums_status(ErrorCode::kMismatch, fields.text() + "; pack again");
}

Result<std::optional<SumsHead>> decode(std::span<const uint8_t> page, const PackedHeader& header,
                                       uint64_t file_bytes) {
  const Result<SumsPlace> place = place_sums(header);
  if (!place.ok()) return place.status();
  const bool begins = page.size() >= 8 && load_le64(page, 0) == kSumsMagic;
  const bool ends = page.size() >= kPageBytes && load_le64(page, kMagicAgainAt) == kSumsMagic;
  if (!begins && !ends) return std::optional<SumsHead>();
  if (page.size() < kPageBytes || file_bytes < place.value().end())
    return cut_short(place.value().end(), file_bytes);
  page = page.first(kPageBytes);
  if (Status status = check_page(page, header, place.value()); !status.ok()) return status;
  Result<SourceIdentity> source = load_source(page);
  if (!source.ok()) return source.status();
  return std::optional<SumsHead>(
      {place.value(), header.layer, load_le64(page, kTableSumAt), source.take()});
}

Status check_table(const SumsHead& head, std::span<const uint8_t> table) {
  if (table.size() != head.place.table.bytes)
    return cut_short(head.place.end(), head.place.table.offset + table.size());
  const uint64_t found = table_sum(table, head.layer, head.place.block_count);
  if (found == head.table_sum) return {};
  return sums_status(ErrorCode::kChecksum,
                     "the table at byte " + std::to_string(head.place.table.offset) +
                         " is damaged: its sum expected " + hex_text(head.table_sum) + ", found " +
                         hex_text(found) + "; pack again");
}

Result<SumsPlace> place_behind(const PackedHeader& header) {
  const Result<uint64_t> records_end = header.records_end();
  if (!records_end.ok()) return records_end.status();
  SumsPlace place;
  // None of these wraps: records_end is below 2^63, and the table is 1/512 of it.
  place.head_offset = align_up(records_end.value(), kPageBytes);
  place.block_count = place.head_offset / kPageBytes;
  place.table = {place.head_offset + kPageBytes, place.block_count * kSumBytes};
  if (place.end() <= kFileOffsetMax) return place;
  return sums_status(ErrorCode::kOverflow, std::to_string(header.range.count()) +
                                               " rows and their sums do not fit a file");
}

}  // namespace

Result<SumsPlace> place_sums(const PackedHeader& header) {
  return guard_memory([&] { return place_behind(header); });
}

Result<std::optional<SumsHead>> decode_sums_head(std::span<const uint8_t> page,
                                                 const PackedHeader& header, uint64_t file_bytes) {
  return guard_memory([&] { return decode(page, header, file_bytes); });
}

Status check_sums_table(const SumsHead& head, std::span<const uint8_t> table) {
  return guard_memory([&] { return check_table(head, table); });
}

bool BlockSums::matches(uint64_t block, const uint8_t* bytes) const {
  return block < block_count() && checksum({bytes, kPageBytes}, seed_of(layer_, block)) ==
                                      load_le64(table_, block * kSumBytes);
}

Result<SumsBuilder> SumsBuilder::create(const PackedHeader& header, const SourceIdentity& source) {
  return guard_memory([&]() -> Result<SumsBuilder> {
    const Result<SumsPlace> place = place_behind(header);
    if (!place.ok()) return place.status();
    for (const SourceTensor* tensor : {&source.weight, &source.scale}) {
      if (tensor->name.size() <= kSourceNameMax) continue;
      return sums_status(ErrorCode::kArgument,
                         "tensor " + quote(tensor->name) + ": a name has at most 1024 bytes");
    }
    SumsBuilder builder;
    builder.records_end_ = header.records_end().value();
    builder.layer_ = header.layer;
    builder.place_ = place.value();
    builder.source_ = source;
    builder.tail_.resize(place.value().end() - builder.records_end_);
    return builder;
  });
}

void SumsBuilder::end_block(const uint8_t* block) {
  const uint64_t index = (added_ - 1) / kPageBytes;
  store_le64(tail_, place_.table.offset - records_end_ + index * kSumBytes,
             checksum({block, kPageBytes}, seed_of(layer_, index)));
}

Status SumsBuilder::add(std::span<const uint8_t> bytes) {
  if (bytes.size() > records_end_ - added_) {
    return guard_memory([&] {
      return sums_status(ErrorCode::kArgument,
                         std::to_string(bytes.size()) + " bytes more than byte " +
                             std::to_string(added_) + " of " + std::to_string(records_end_));
    });
  }
  while (!bytes.empty()) {
    const uint64_t begun = added_ % kPageBytes;
    const uint64_t taken = std::min<uint64_t>(bytes.size(), kPageBytes - begun);
    const bool is_whole = taken == kPageBytes;
    if (!is_whole) std::memcpy(block_.data() + begun, bytes.data(), taken);
    added_ += taken;
    if (begun + taken == kPageBytes) end_block(is_whole ? bytes.data() : block_.data());
    bytes = bytes.subspan(taken);
  }
  return {};
}

Result<std::vector<uint8_t>> SumsBuilder::finish() {
  if (added_ != records_end_ || tail_.empty()) {
    return guard_memory([&]() -> Result<std::vector<uint8_t>> {
      return sums_status(ErrorCode::kArgument, "finished after " + std::to_string(added_) + " of " +
                                                   std::to_string(records_end_) + " bytes");
    });
  }
  if (const uint64_t begun = added_ % kPageBytes; begun != 0) {
    std::fill(block_.begin() + static_cast<ptrdiff_t>(begun), block_.end(), uint8_t{0});
    end_block(block_.data());
  }
  const uint64_t head_at = place_.head_offset - records_end_;
  const std::span<uint8_t> head = std::span(tail_).subspan(head_at, kPageBytes);
  const std::span<const uint8_t> table = std::span(tail_).subspan(head_at + kPageBytes);
  store_le64(head, 0, kSumsMagic);
  store_le64(head, kVersionAt, kSumsVersion);
  store_le64(head, kLayerAt, layer_);
  store_le64(head, kBlockBytesAt, kPageBytes);
  store_le64(head, kBlockCountAt, place_.block_count);
  store_le64(head, kRecordsEndAt, records_end_);
  store_le64(head, kTableBytesAt, table.size());
  store_le64(head, kTableSumAt, table_sum(table, layer_, place_.block_count));
  store_source(head, source_);
  store_le64(head, kMagicAgainAt, kSumsMagic);
  store_le64(head, kHeadSumAt, head_sum(head, layer_, place_.block_count));
  return std::move(tail_);
}

}  // namespace row_store
