// Which tensors of a checkpoint file are an Engram table. Declared in safetensors_header.h.
#include <charconv>
#include <string>
#include <string_view>

#include "format/memory_guard.h"
#include "format/safetensors_header.h"
#include "format/text.h"

namespace row_store {
namespace {

constexpr char kWeightDtype[] = "F8_E4M3";
constexpr char kScaleDtype[] = "F8_E8M0";

// One of the two tensors, as it ought to be.
struct Part {
  const char* name;
  const char* dtype;
  uint64_t columns;
};
constexpr Part kWeight{"weight", kWeightDtype, kWeightBytes};
constexpr Part kScale{"scale", kScaleDtype, kScaleBytes};

bool is_like(const Tensor& tensor, const Part& part) {
  return tensor.dtype == part.dtype && tensor.shape.size() == 2 && tensor.shape[1] == part.columns;
}

const Tensor* first_like(const SafetensorsHeader& header, const Part& part) {
  for (const Tensor& tensor : header.tensors) {
    if (is_like(tensor, part)) return &tensor;
  }
  return nullptr;
}

std::string describe(const Tensor& tensor) {
  return "tensor " + quote(tensor.name) + " " + shape_text(tensor.shape) + " " +
         quote(tensor.dtype) + " at byte " + std::to_string(tensor.extent.offset);
}

Status not_there(const SafetensorsHeader& header, const Part& part, uint64_t offset) {
  const Tensor* like = first_like(header, part);
  std::string wanted = "[rows, " + std::to_string(part.columns) + "] " + part.dtype;
  if (like == nullptr) {
    return Status::error(ErrorCode::kMissing,
                         std::string("no Engram ") + part.name + " in this file: none of its " +
                             std::to_string(header.tensors.size()) + " tensors is " + wanted +
                             "; the model's index names the file that has it");
  }
  return Status::error(ErrorCode::kArgument, std::string("no tensor begins at the ") + part.name +
                                                 " offset " + std::to_string(offset) +
                                                 "; the file has " + describe(*like));
}

// Type and shape as far as the file alone can be wrong; the number of rows is compared later.
Status check_part(const Tensor& tensor, const Part& part) {
  if (tensor.dtype != part.dtype) {
    return Status::error(ErrorCode::kDtype, std::string("Engram ") + part.name + ": " +
                                                describe(tensor) + ", expected " + part.dtype);
  }
  if (tensor.shape.size() != 2 || tensor.shape[1] != part.columns) {
    return Status::error(ErrorCode::kShape, std::string("Engram ") + part.name + ": " +
                                                describe(tensor) + ", expected [rows, " +
                                                std::to_string(part.columns) + "]");
  }
  return {};
}

Status check_pair(const Tensor& weight, const Tensor& scale) {
  Status status = check_part(weight, kWeight);
  if (status.ok()) status = check_part(scale, kScale);
  if (!status.ok()) return status;
  if (weight.shape[0] != scale.shape[0]) {
    return Status::error(ErrorCode::kShape, "Engram weight and scale have different rows: " +
                                                describe(weight) + ", " + describe(scale));
  }
  return {};
}

Status check_at(const SafetensorsHeader& header, uint64_t rows, uint64_t weight_offset,
                uint64_t scale_offset) {
  if (rows == 0) return Status::error(ErrorCode::kArgument, "an Engram table has at least one row");
  const Tensor* weight = header.find_at(weight_offset);
  if (weight == nullptr) return not_there(header, kWeight, weight_offset);
  const Tensor* scale = header.find_at(scale_offset);
  if (scale == nullptr) return not_there(header, kScale, scale_offset);
  if (is_like(*weight, kScale) && is_like(*scale, kWeight)) {
    return Status::error(ErrorCode::kArgument,
                         "the offsets of weight and scale are swapped: byte " +
                             std::to_string(weight_offset) + " has the " + describe(*weight));
  }
  Status status = check_pair(*weight, *scale);
  if (!status.ok()) return status;
  if (weight->shape[0] != rows) {
    return Status::error(ErrorCode::kArgument, "the caller names " + std::to_string(rows) +
                                                   " rows, the file has " + describe(*weight));
  }
  return {};
}

Result<EngramTable> find_by_name(const SafetensorsHeader& header, uint64_t layer) {
  const std::string stem = "layers." + std::to_string(layer) + ".engram.embed.";
  const Tensor* weight = header.find(stem + kWeight.name);
  const Tensor* scale = header.find(stem + kScale.name);
  if (weight == nullptr || scale == nullptr) {
    return Status::error(ErrorCode::kMissing,
                         "no tensor " + quote(stem + (weight == nullptr ? "weight" : "scale")) +
                             " among the " + std::to_string(header.tensors.size()) +
                             " of this file; the model's index names the file that has it");
  }
  Status status = check_pair(*weight, *scale);
  if (!status.ok()) return status;
  if (weight->shape[0] == 0) {
    return Status::error(ErrorCode::kShape, "Engram table without rows: " + describe(*weight));
  }
  return EngramTable{weight->shape[0], weight->extent.offset, scale->extent.offset};
}

// The number between "layers." and ".engram.", each at the border of a part of the name.
std::optional<uint32_t> layer_in_name(std::string_view name) {
  constexpr std::string_view kBefore = "layers.";
  constexpr std::string_view kBehind = ".engram.";
  for (size_t at = name.find(kBefore); at != std::string_view::npos;
       at = name.find(kBefore, at + 1)) {
    if (at != 0 && name[at - 1] != '.') continue;
    const std::string_view rest = name.substr(at + kBefore.size());
    uint32_t layer = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), layer);
    const auto digits = static_cast<size_t>(stop - rest.data());
    if (error == std::errc() && rest.substr(digits, kBehind.size()) == kBehind) return layer;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint32_t> engram_layer_at(const SafetensorsHeader& header, uint64_t weight_offset) {
  const Tensor* weight = header.find_at(weight_offset);
  return weight == nullptr ? std::nullopt : layer_in_name(weight->name);
}

Status check_engram_tensors(const SafetensorsHeader& header, uint64_t rows, uint64_t weight_offset,
                            uint64_t scale_offset) {
  return guard_memory([&] { return check_at(header, rows, weight_offset, scale_offset); });
}

Result<EngramTable> find_engram_table(const SafetensorsHeader& header, uint64_t layer) {
  return guard_memory([&] { return find_by_name(header, layer); });
}

}  // namespace row_store
