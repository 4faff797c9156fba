#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "check.h"
#include "engram/uint128.h"
#include "format/little_endian.h"
#include "format/safetensors_header.h"
#include "fuzz_bodies.h"
#include "input.h"

namespace row_store::fuzz {
namespace {

struct Head {
  std::vector<uint8_t> bytes;
  uint64_t file_bytes = 0;
};

Head head_of(std::span<const uint8_t> input_bytes) {
  Input input(input_bytes);
  const uint64_t size = input.word();
  const uint8_t flags = input.byte();
  const std::span<const uint8_t> rest = input.rest();
  Head head;
  if ((flags & 1) != 0) {
    head.file_bytes = size;
  } else {
    const auto sum = checked_add(size, kSafetensorsLengthBytes + rest.size());
    head.file_bytes = sum ? *sum : UINT64_MAX;
    head.bytes.resize(kSafetensorsLengthBytes);
    store_le64(head.bytes, 0, rest.size());
  }
  head.bytes.insert(head.bytes.end(), rest.begin(), rest.end());
  // No spare capacity behind the end, so that a sanitizer sees a read beyond it.
  head.bytes.resize(head.bytes.size() - std::min<size_t>(head.bytes.size(), flags >> 1));
  head.bytes.shrink_to_fit();
  return head;
}

// Texts about a stranger's bytes end up in a log: one printable line of a bearable length.
void check_refusal(const Status& status) {
  FUZZ_CHECK(status.code() != ErrorCode::kOk);
  FUZZ_CHECK(status.code() != ErrorCode::kMemory);
  FUZZ_CHECK(!status.text().empty());
  FUZZ_CHECK(status.text().size() < 1024);
  for (const char c : status.text()) FUZZ_CHECK(c >= ' ' && c <= '~');
}

// Bits of an element, from the format's own list; 0 for types that came later.
uint64_t element_bits(std::string_view dtype) {
  static constexpr std::pair<std::string_view, uint64_t> kKnown[] = {
      {"F4", 4},      {"F6_E2M3", 6},     {"F6_E3M2", 6},     {"BOOL", 8}, {"U8", 8},   {"I8", 8},
      {"F8_E5M2", 8}, {"F8_E4M3", 8},     {"F8_E8M0", 8},     {"U16", 16}, {"I16", 16}, {"F16", 16},
      {"BF16", 16},   {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"U32", 32}, {"I32", 32}, {"F32", 32},
      {"U64", 64},    {"I64", 64},        {"F64", 64},        {"C64", 64},
  };
  for (const auto& [name, bits] : kKnown)
    if (name == dtype) return bits;
  return 0;
}

// The size of a tensor in bits, by sums that cannot wrap: every factor has at most 64 bits and the
// product is cut off above 2^100.
bool has_bits(const Tensor& tensor, uint64_t bits_each) {
  constexpr Uint128 kFar = Uint128{1} << 100;
  const Uint128 wanted = Uint128{tensor.extent.bytes} * 8;
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0u) != tensor.shape.end())
    return wanted == 0;
  Uint128 bits = bits_each;
  for (const uint64_t dimension : tensor.shape) {
    if (bits > kFar / dimension) return false;
    bits *= dimension;
  }
  return bits == wanted;
}

void check_tensors(const SafetensorsHeader& header, uint64_t file_bytes) {
  std::set<std::string_view> names;
  uint64_t expected = header.data_offset;
  for (const Tensor& tensor : header.tensors) {
    FUZZ_CHECK(names.insert(tensor.name).second);
    FUZZ_CHECK(header.find(tensor.name) == &tensor);
    FUZZ_CHECK(tensor.extent.offset == expected);
    expected += tensor.extent.bytes;
    FUZZ_CHECK(expected >= tensor.extent.offset);
    FUZZ_CHECK(expected <= uint64_t{INT64_MAX});
    const uint64_t bits = element_bits(tensor.dtype);
    if (bits != 0) FUZZ_CHECK(has_bits(tensor, bits));
  }
  FUZZ_CHECK(expected == file_bytes);
}

// What is accepted must be refused when the file is longer or shorter than its header says.
void check_size_is_exact(const Head& head) {
  for (const uint64_t other : {head.file_bytes - 1, head.file_bytes + 1}) {
    const auto parsed = parse_safetensors_header(head.bytes, other);
    FUZZ_CHECK(!parsed.ok());
    FUZZ_CHECK(parsed.status().code() == ErrorCode::kSize ||
               parsed.status().code() == ErrorCode::kHeaderLength);
  }
}

// A blank behind the JSON moves the data by one byte and changes nothing else.
void check_padding(const Head& head, const SafetensorsHeader& header) {
  const uint64_t json_bytes = header.data_offset - kSafetensorsLengthBytes;
  Head padded{{head.bytes.begin(), head.bytes.begin() + static_cast<ptrdiff_t>(header.data_offset)},
              head.file_bytes + 1};
  padded.bytes.push_back(' ');
  store_le64(padded.bytes, 0, json_bytes + 1);
  const auto parsed = parse_safetensors_header(padded.bytes, padded.file_bytes);
  if (json_bytes == kSafetensorsHeaderMax || padded.file_bytes > uint64_t{INT64_MAX}) return;
  FUZZ_CHECK(parsed.ok());
  FUZZ_CHECK(parsed.value().tensors.size() == header.tensors.size());
  for (size_t i = 0; i < header.tensors.size(); ++i) {
    FUZZ_CHECK(parsed.value().tensors[i].name == header.tensors[i].name);
    FUZZ_CHECK(parsed.value().tensors[i].extent.offset == header.tensors[i].extent.offset + 1);
  }
}

void check_engram_table(const SafetensorsHeader& header) {
  for (const uint64_t layer : {1, 14}) {
    const auto table = find_engram_table(header, layer);
    if (!table.ok()) {
      check_refusal(table.status());
      continue;
    }
    const auto [rows, weights, scales] = table.value();
    FUZZ_CHECK(check_engram_tensors(header, rows, weights, scales).ok());
    for (const Status& wrong : {check_engram_tensors(header, rows + 1, weights, scales),
                                check_engram_tensors(header, rows, weights + 1, scales),
                                check_engram_tensors(header, rows, weights, scales + 1),
                                check_engram_tensors(header, rows, scales, weights)})
      check_refusal(wrong);
  }
}

}  // namespace

void safetensors_head(std::span<const uint8_t> input) {
  const Head head = head_of(input);
  const auto length = safetensors_header_bytes(
      std::span(head.bytes).first(std::min<size_t>(16, head.bytes.size())), head.file_bytes);
  const auto header = parse_safetensors_header(head.bytes, head.file_bytes);
  if (!length.ok()) check_refusal(length.status());
  if (!header.ok()) {
    check_refusal(header.status());
    return;
  }
  FUZZ_CHECK(length.ok());
  FUZZ_CHECK(header.value().data_offset == kSafetensorsLengthBytes + length.value());
  check_tensors(header.value(), head.file_bytes);
  check_size_is_exact(head);
  check_padding(head, header.value());
  check_engram_table(header.value());
}

}  // namespace row_store::fuzz
