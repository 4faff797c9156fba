#include "format/safetensors_layout.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/checked.h"
#include "format/text.h"

namespace row_store {
namespace {

constexpr uint64_t kFileOffsetMax = INT64_MAX;  // off_t

struct DtypeBits {
  std::string_view name;
  uint64_t bits;
};

constexpr DtypeBits kDtypes[] = {
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
};

std::optional<uint64_t> bits_of(std::string_view dtype) {
  for (const DtypeBits& known : kDtypes) {
    if (known.name == dtype) return known.bits;
  }
  return std::nullopt;
}

std::string describe(const Tensor& tensor) {
  return "tensor " + quote(tensor.name) + " " + shape_text(tensor.shape) + " " +
         quote(tensor.dtype);
}

Status overflow(const Tensor& tensor) {
  return Status::error(ErrorCode::kOverflow, "safetensors header: the size of " + describe(tensor) +
                                                 " does not fit 64 bits");
}

// Multiplied in the order of the dimensions, as the reference does: [2^63, 2, 0] overflows although
// the tensor would be empty.
Status check_tensor_size(const Tensor& tensor) {
  uint64_t count = 1;
  for (const uint64_t dimension : tensor.shape) {
    const auto product = checked_mul(count, dimension);
    if (!product) return overflow(tensor);
    count = *product;
  }
  const auto bits_each = bits_of(tensor.dtype);
  if (!bits_each) return {};  // Its size is not ours to judge; its place is, in check_tiling.
  const auto bits = checked_mul(count, *bits_each);
  if (!bits) return overflow(tensor);
  if (*bits % 8 != 0) {
    return Status::error(ErrorCode::kLayout, "safetensors header: " + describe(tensor) + " ends " +
                                                 std::to_string(*bits % 8) + " bits into a byte");
  }
  if (*bits / 8 != tensor.extent.bytes) {
    return Status::error(ErrorCode::kLayout, "safetensors header: " + describe(tensor) + " needs " +
                                                 std::to_string(*bits / 8) +
                                                 " bytes, its data_offsets span " +
                                                 std::to_string(tensor.extent.bytes));
  }
  return {};
}

Status tiling_error(const Tensor* before, const Tensor& tensor, uint64_t expected,
                    uint64_t data_offset) {
  std::string text = "safetensors header: tensor " + quote(tensor.name) + " begins at data byte " +
                     std::to_string(tensor.extent.offset - data_offset) + ", expected " +
                     std::to_string(expected - data_offset);
  text += before == nullptr ? ", the start of the data" : ", the end of " + quote(before->name);
  text += tensor.extent.offset > expected ? " (a hole between tensors)" : " (tensors overlap)";
  return Status::error(ErrorCode::kLayout, text);
}

Status check_file_size(uint64_t needed_bytes, uint64_t file_bytes) {
  if (file_bytes == needed_bytes) return {};
  std::string text = "safetensors file has " + std::to_string(file_bytes) +
                     " bytes, its header needs " + std::to_string(needed_bytes);
  if (file_bytes < needed_bytes) {
    text += " (" + std::to_string(needed_bytes - file_bytes) +
            " missing): the download was cut short or still runs; fetch the file again";
  } else {
    text += " (" + std::to_string(file_bytes - needed_bytes) +
            " too many): something was appended; fetch the file again";
  }
  return Status::error(ErrorCode::kSize, text);
}

}  // namespace

Result<Extent> place_tensor(const std::string& name, DataOffsets offsets, uint64_t data_offset) {
  if (offsets.begin > offsets.end) {
    return Status::error(ErrorCode::kLayout, "safetensors header: tensor " + quote(name) +
                                                 " begins at data byte " +
                                                 std::to_string(offsets.begin) +
                                                 ", after its end " + std::to_string(offsets.end));
  }
  const auto end = checked_add(data_offset, offsets.end);
  if (!end || *end > kFileOffsetMax) {
    return Status::error(ErrorCode::kOverflow,
                         "safetensors header: tensor " + quote(name) + " ends at data byte " +
                             std::to_string(offsets.end) + ", beyond what a file can hold");
  }
  return Extent{data_offset + offsets.begin, offsets.end - offsets.begin};
}

Status order_and_check_tensors(std::vector<Tensor>& tensors, uint64_t data_offset,
                               uint64_t file_bytes) {
  // Empty tensors sort before the tensor that begins where they stand, so they are legal there and
  // nowhere inside a tensor.
  std::sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) {
    return std::tie(a.extent.offset, a.extent.bytes, a.name) <
           std::tie(b.extent.offset, b.extent.bytes, b.name);
  });
  uint64_t expected = data_offset;
  const Tensor* before = nullptr;
  for (const Tensor& tensor : tensors) {
    if (tensor.extent.offset != expected) {
      return tiling_error(before, tensor, expected, data_offset);
    }
    Status sized = check_tensor_size(tensor);
    if (!sized.ok()) return sized;
    expected = tensor.extent.offset + tensor.extent.bytes;  // At most 2^63 - 1, see place_tensor.
    before = &tensor;
  }
  return check_file_size(expected, file_bytes);
}

}  // namespace row_store
