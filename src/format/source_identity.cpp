#include "format/source_identity.h"

#include <algorithm>
#include <cstddef>

#include "format/checksum.h"
#include "format/field_comparison.h"
#include "format/little_endian.h"
#include "format/memory_guard.h"
#include "format/row_layout.h"
#include "format/text.h"

namespace row_store {
namespace {

// Bytes of the head page.
constexpr size_t kHasSha256At = 72;
constexpr size_t kSha256At = 80;
constexpr size_t kFileBytesAt = 112;
constexpr size_t kHeaderBytesAt = 120;
constexpr size_t kHeaderDigestAt = 128;
constexpr size_t kWeightAt = 256;
constexpr size_t kScaleAt = 2048;
constexpr size_t kTensorWords = 32;  // offset, rows, columns, bytes of the name that follows
static_assert(kWeightAt + kTensorWords + kSourceNameMax <= kScaleAt);
static_assert(kScaleAt + kTensorWords + kSourceNameMax <= 4080);

Result<SourceTensor> describe_tensor(const SafetensorsHeader& header, uint64_t offset) {
  const Tensor* tensor = header.find_at(offset);
  if (tensor == nullptr || tensor->shape.size() != 2) {
    return Status::error(ErrorCode::kArgument,
                         "no table begins at byte " + std::to_string(offset) +
                             " of the checkpoint file; take the offset from its header");
  }
  if (tensor->name.size() > kSourceNameMax) {
    return Status::error(ErrorCode::kArgument, "tensor " + quote(tensor->name) +
                                                   ": a name of at most 1024 bytes can be stored "
                                                   "with sums; pack without them");
  }
  return SourceTensor{tensor->name, tensor->shape[0], tensor->shape[1], offset};
}

void store_tensor(std::span<uint8_t> page, size_t at, const SourceTensor& tensor) {
  store_le64(page, at, tensor.offset);
  store_le64(page, at + 8, tensor.rows);
  store_le64(page, at + 16, tensor.columns);
  store_le64(page, at + 24, tensor.name.size());
  std::copy(tensor.name.begin(), tensor.name.end(), page.data() + at + kTensorWords);
}

Result<SourceTensor> load_tensor(std::span<const uint8_t> page, size_t at) {
  const uint64_t name_bytes = load_le64(page, at + 24);
  if (name_bytes > kSourceNameMax) {
    return Status::error(ErrorCode::kMismatch, "packed shard: sums: a tensor's name has " +
                                                   std::to_string(name_bytes) +
                                                   " bytes, at most 1024 are possible; pack again");
  }
  const uint8_t* name = page.data() + at + kTensorWords;
  return SourceTensor{{name, name + name_bytes},
                      load_le64(page, at + 8),
                      load_le64(page, at + 16),
                      load_le64(page, at)};
}

void compare_tensor(FieldComparison& fields, const std::string& what, const SourceTensor& expected,
                    const SourceTensor& found) {
  const auto shape = [](const SourceTensor& tensor) {
    return shape_text({tensor.rows, tensor.columns});
  };
  fields.note((what + " tensor").c_str(), quote(expected.name), quote(found.name),
              expected.name == found.name);
  fields.note((what + " shape").c_str(), shape(expected), shape(found),
              expected.rows == found.rows && expected.columns == found.columns);
  fields.add((what + " offset").c_str(), expected.offset, found.offset);
}

// Enough to tell two files apart by eye; all bytes are compared.
std::string sha256_text(const Sha256& sha256) {
  uint64_t first = 0;
  for (size_t i = 0; i < 8; ++i) first = first << 8 | sha256[i];
  return hex_text(first) + "...";
}

Status match(const SourceIdentity& expected, const SourceIdentity& found) {
  FieldComparison fields;
  fields.add("file bytes", expected.file_bytes, found.file_bytes);
  fields.add("header bytes", expected.header_bytes, found.header_bytes);
  fields.note("header digest", hex_text(expected.header_digest), hex_text(found.header_digest),
              expected.header_digest == found.header_digest);
  compare_tensor(fields, "weight", expected.weight, found.weight);
  compare_tensor(fields, "scale", expected.scale, found.scale);
  if (expected.sha256 && found.sha256) {
    fields.note("SHA-256", sha256_text(*expected.sha256), sha256_text(*found.sha256),
                *expected.sha256 == *found.sha256);
  }
  if (fields.is_equal()) return {};
  return Status::error(ErrorCode::kMismatch,
                       "packed shard: copied from another checkpoint file: " + fields.text() +
                           "; pack again from this checkpoint");
}

}  // namespace

Result<SourceIdentity> identify_source(const SafetensorsHeader& header,
                                       std::span<const uint8_t> head, uint64_t file_bytes,
                                       uint64_t weight_offset, uint64_t scale_offset) {
  return guard_memory([&]() -> Result<SourceIdentity> {
    Result<SourceTensor> weight = describe_tensor(header, weight_offset);
    if (!weight.ok()) return weight.status();
    Result<SourceTensor> scale = describe_tensor(header, scale_offset);
    if (!scale.ok()) return scale.status();
    return SourceIdentity{file_bytes,    head.size(),  checksum(head, 0),
                          weight.take(), scale.take(), std::nullopt};
  });
}

SourceIdentity identify_raw_source(uint64_t file_bytes, uint64_t rows, uint64_t weight_offset,
                                   uint64_t scale_offset) {
  SourceIdentity source;
  source.file_bytes = file_bytes;
  source.weight = {"", rows, kWeightBytes, weight_offset};
  source.scale = {"", rows, kScaleBytes, scale_offset};
  return source;
}

Status match_source(const SourceIdentity& expected, const SourceIdentity& found) {
  return guard_memory([&] { return match(expected, found); });
}

void store_source(std::span<uint8_t> page, const SourceIdentity& source) {
  if (source.sha256) {
    store_le64(page, kHasSha256At, 1);
    std::copy(source.sha256->begin(), source.sha256->end(), page.data() + kSha256At);
  }
  store_le64(page, kFileBytesAt, source.file_bytes);
  store_le64(page, kHeaderBytesAt, source.header_bytes);
  store_le64(page, kHeaderDigestAt, source.header_digest);
  store_tensor(page, kWeightAt, source.weight);
  store_tensor(page, kScaleAt, source.scale);
}

Result<SourceIdentity> load_source(std::span<const uint8_t> page) {
  return guard_memory([&]() -> Result<SourceIdentity> {
    Result<SourceTensor> weight = load_tensor(page, kWeightAt);
    if (!weight.ok()) return weight.status();
    Result<SourceTensor> scale = load_tensor(page, kScaleAt);
    if (!scale.ok()) return scale.status();
    SourceIdentity source{load_le64(page, kFileBytesAt),
                          load_le64(page, kHeaderBytesAt),
                          load_le64(page, kHeaderDigestAt),
                          weight.take(),
                          scale.take(),
                          std::nullopt};
    if (load_le64(page, kHasSha256At) == 1) {
      source.sha256.emplace();
      std::copy_n(page.data() + kSha256At, source.sha256->size(), source.sha256->begin());
    }
    return source;
  });
}

}  // namespace row_store
