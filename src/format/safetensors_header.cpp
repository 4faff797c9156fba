#include "format/safetensors_header.h"

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "format/little_endian.h"
#include "format/memory_guard.h"
#include "format/safetensors_layout.h"
#include "format/strict_json.h"
#include "format/text.h"

namespace row_store {
namespace {

namespace dom = simdjson::dom;

// Ours is 3: file, tensor, list. The rest is room for fields that we do not know.
constexpr size_t kNestingMax = 8;
constexpr std::string_view kMetadataKey = "__metadata__";

Status schema_error(std::string_view tensor, const std::string& text) {
  return Status::error(ErrorCode::kSchema,
                       "safetensors header: tensor " + quote(tensor) + ": " + text);
}

Result<std::vector<uint64_t>> read_integers(std::string_view tensor, const char* field,
                                            dom::element value) {
  dom::array array;
  if (value.get(array) != simdjson::SUCCESS) {
    return schema_error(tensor, std::string(field) + " is not a list");
  }
  std::vector<uint64_t> integers;
  for (const dom::element item : array) {
    uint64_t integer = 0;
    if (item.get(integer) != simdjson::SUCCESS) {
      return schema_error(tensor,
                          std::string(field) + " holds something else than integers from 0");
    }
    integers.push_back(integer);
  }
  return integers;
}

// The three fields of a tensor as the JSON gives them; each may stand once.
struct TensorFields {
  std::optional<dom::element> dtype;
  std::optional<dom::element> shape;
  std::optional<dom::element> data_offsets;
};

Result<TensorFields> read_fields(std::string_view name, dom::element info) {
  dom::object object;
  if (info.get(object) != simdjson::SUCCESS) {
    return schema_error(name, "expected an object with dtype, shape and data_offsets");
  }
  TensorFields fields;
  for (const dom::key_value_pair field : object) {
    std::optional<dom::element>* place = nullptr;
    if (field.key == "dtype") place = &fields.dtype;
    if (field.key == "shape") place = &fields.shape;
    if (field.key == "data_offsets") place = &fields.data_offsets;
    if (place == nullptr) continue;
    if (place->has_value()) {
      return Status::error(ErrorCode::kDuplicate, "safetensors header: tensor " + quote(name) +
                                                      " has " + quote(field.key) + " twice");
    }
    *place = field.value;
  }
  if (!fields.dtype) return schema_error(name, "dtype is missing");
  if (!fields.shape) return schema_error(name, "shape is missing");
  if (!fields.data_offsets) return schema_error(name, "data_offsets is missing");
  return fields;
}

Status check_metadata(dom::element value) {
  if (value.is_null()) return {};
  dom::object object;
  if (value.get(object) != simdjson::SUCCESS) {
    return Status::error(ErrorCode::kSchema, "safetensors header: __metadata__ is not an object");
  }
  for (const dom::key_value_pair field : object) {
    if (field.value.is_string()) continue;
    return Status::error(ErrorCode::kSchema, "safetensors header: __metadata__ holds " +
                                                 quote(field.key) + ", which is not a string");
  }
  return {};
}

// Turns the JSON tree into tensors. Members are walked, never looked up by name: a lookup would
// return the first of two equal keys where other readers return the last.
class TensorReader {
 public:
  explicit TensorReader(uint64_t data_offset) : data_offset_(data_offset) {}

  Status read(dom::element root) {
    dom::object object;
    if (root.get(object) != simdjson::SUCCESS) {
      return Status::error(ErrorCode::kSchema, "safetensors header: the JSON is not an object");
    }
    bool has_metadata = false;
    for (const dom::key_value_pair member : object) {
      if (member.key == kMetadataKey) {
        if (has_metadata) {
          return Status::error(ErrorCode::kDuplicate,
                               "safetensors header: __metadata__ stands twice");
        }
        has_metadata = true;
      }
      Status status = member.key == kMetadataKey ? check_metadata(member.value)
                                                 : read_tensor(member.key, member.value);
      if (!status.ok()) return status;
    }
    return {};
  }

  // What was wrong with an extent, kept back so that errors of form and doubled names come first.
  const Status& placement() const { return placement_; }
  std::vector<Tensor> take() { return std::move(tensors_); }

 private:
  Status read_tensor(std::string_view name, dom::element info) {
    auto fields = read_fields(name, info);
    if (!fields.ok()) return fields.status();
    std::string_view dtype;
    if (fields.value().dtype->get(dtype) != simdjson::SUCCESS) {
      return schema_error(name, "dtype is not a string");
    }
    auto shape = read_integers(name, "shape", *fields.value().shape);
    if (!shape.ok()) return shape.status();
    auto offsets = read_integers(name, "data_offsets", *fields.value().data_offsets);
    if (!offsets.ok()) return offsets.status();
    if (offsets.value().size() != 2) {
      return schema_error(name, "data_offsets holds " + std::to_string(offsets.value().size()) +
                                    " numbers, expected 2");
    }
    Tensor tensor{std::string(name), std::string(dtype), shape.take(), {}};
    const DataOffsets data_offsets{offsets.value()[0], offsets.value()[1]};
    auto extent = place_tensor(tensor.name, data_offsets, data_offset_);
    if (extent.ok()) {
      tensor.extent = extent.value();
    } else if (placement_.ok()) {
      placement_ = extent.status();
    }
    tensors_.push_back(std::move(tensor));
    return {};
  }

  uint64_t data_offset_;
  std::vector<Tensor> tensors_;
  Status placement_;
};

Status check_unique_names(const std::vector<Tensor>& tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const Tensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return Status::error(ErrorCode::kDuplicate,
                       "safetensors header: tensor " + quote(*twice) + " stands twice");
}

Result<SafetensorsHeader> parse(std::string_view json, uint64_t file_bytes) {
  SafetensorsHeader header;
  header.data_offset = kSafetensorsLengthBytes + json.size();
  TensorReader reader(header.data_offset);
  {
    dom::document document;
    Status status = parse_strict_json(json, "safetensors header", kNestingMax, document);
    if (status.ok()) status = reader.read(document.root());
    if (!status.ok()) return status;
  }
  header.tensors = reader.take();
  Status status = check_unique_names(header.tensors);
  if (status.ok()) status = reader.placement();
  if (status.ok()) {
    status = order_and_check_tensors(header.tensors, header.data_offset, file_bytes);
  }
  if (!status.ok()) return status;
  return header;
}

// Cause and cure for a length that cannot be one.
std::string length_advice(std::span<const uint8_t> head, uint64_t file_bytes, uint64_t length) {
  const std::string advice = file_kind_advice(classify_file(head), file_bytes);
  if (!advice.empty()) return "; " + advice;
  if (__builtin_bswap64(length) <= file_bytes) return "; the length seems to be big-endian";
  return "; this is not a safetensors file";
}

Result<uint64_t> header_bytes(std::span<const uint8_t> head, uint64_t file_bytes) {
  if (file_bytes < kSafetensorsLengthBytes) {
    return Status::error(ErrorCode::kShort,
                         "safetensors file has " + std::to_string(file_bytes) +
                             " bytes, its length field alone needs 8; the download is incomplete");
  }
  if (head.size() < kSafetensorsLengthBytes) {
    return Status::error(ErrorCode::kArgument,
                         "safetensors header: 8 bytes of the file are needed, "
                         "the caller has " +
                             std::to_string(head.size()));
  }
  const uint64_t length = load_le64(head, 0);
  const std::string found = "safetensors header length reads " + std::to_string(length);
  if (length == 0 || length > kSafetensorsHeaderMax) {
    return Status::error(ErrorCode::kHeaderLength, found + ", expected 1 to " +
                                                       std::to_string(kSafetensorsHeaderMax) +
                                                       length_advice(head, file_bytes, length));
  }
  const uint64_t needed = kSafetensorsLengthBytes + length;
  if (needed > file_bytes) {
    return Status::error(ErrorCode::kHeaderLength,
                         found + ", so the header alone needs " + std::to_string(needed) +
                             " bytes, the file has " + std::to_string(file_bytes) +
                             ": the download was cut short or still runs; fetch the file again");
  }
  return length;
}

}  // namespace

const Tensor* SafetensorsHeader::find(std::string_view name) const {
  for (const Tensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

const Tensor* SafetensorsHeader::find_at(uint64_t offset) const {
  auto tensor = std::lower_bound(
      tensors.begin(), tensors.end(), offset,
      [](const Tensor& candidate, uint64_t at) { return candidate.extent.offset < at; });
  while (tensor != tensors.end() && tensor->extent.offset == offset) {
    if (tensor->extent.bytes > 0) return &*tensor;
    ++tensor;
  }
  return nullptr;
}

Result<uint64_t> safetensors_header_bytes(std::span<const uint8_t> head, uint64_t file_bytes) {
  return guard_memory([&] { return header_bytes(head, file_bytes); });
}

Result<SafetensorsHeader> parse_safetensors_header(std::span<const uint8_t> head,
                                                   uint64_t file_bytes) {
  return guard_memory([&]() -> Result<SafetensorsHeader> {
    const auto length = header_bytes(head, file_bytes);
    if (!length.ok()) return length.status();
    if (head.size() - kSafetensorsLengthBytes < length.value()) {
      return Status::error(ErrorCode::kArgument,
                           "safetensors header: the caller has " + std::to_string(head.size()) +
                               " bytes, the header needs " +
                               std::to_string(kSafetensorsLengthBytes + length.value()));
    }
    const auto* text = reinterpret_cast<const char*>(head.data()) + kSafetensorsLengthBytes;
    return parse(std::string_view(text, length.value()), file_bytes);
  });
}

}  // namespace row_store
