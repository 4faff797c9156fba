#include "format/text.h"

#include <cstddef>

namespace row_store {
namespace {

constexpr size_t kQuotedMax = 64;
constexpr size_t kDimensionsMax = 8;
constexpr char kHexDigits[] = "0123456789abcdef";

}  // namespace

std::string quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text.substr(0, kQuotedMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\' && c != '\'') {
      quoted += c;
    } else {
      quoted += "\\x";
      quoted += kHexDigits[byte >> 4];
      quoted += kHexDigits[byte & 15];
    }
  }
  quoted += '\'';
  if (text.size() > kQuotedMax) quoted += "... (" + std::to_string(text.size()) + " bytes)";
  return quoted;
}

std::string shape_text(const std::vector<uint64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size() && i < kDimensionsMax; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  if (shape.size() > kDimensionsMax) text += ", ...";
  return text + "]";
}

std::string hex_text(uint64_t value) {
  std::string text = "0x";
  for (int shift = 60; shift >= 0; shift -= 4) text += kHexDigits[(value >> shift) & 15];
  return text;
}

}  // namespace row_store
