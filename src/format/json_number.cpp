#include "format/json_number.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace row_store {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Everything up to here belongs to the number, so that "1true" is one bad token.
bool ends_token(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == ':' || c == ']' ||
         c == '}' || c == '[' || c == '{' || c == '"';
}

size_t skip_digits(std::string_view text, size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// The position behind the closing quote of the string whose opening quote is at `at`.
size_t skip_string(std::string_view json, size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at + 1;
}

enum class Verdict { kFits, kTooLarge, kMalformed };

template <typename Integer>
Verdict judge_integer(std::string_view token) {
  Integer value = 0;
  const auto parsed = std::from_chars(token.data(), token.data() + token.size(), value);
  return parsed.ec == std::errc::result_out_of_range ? Verdict::kTooLarge : Verdict::kFits;
}

// RFC 8259: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
Verdict judge(std::string_view token) {
  size_t at = token.starts_with('-') ? 1 : 0;
  const size_t first_digit = at;
  at = skip_digits(token, at);
  if (at == first_digit) return Verdict::kMalformed;
  if (token[first_digit] == '0' && at > first_digit + 1) return Verdict::kMalformed;
  if (at == token.size()) {
    return token.starts_with('-') ? judge_integer<int64_t>(token) : judge_integer<uint64_t>(token);
  }
  if (token[at] == '.') {
    const size_t fraction = at + 1;
    at = skip_digits(token, fraction);
    if (at == fraction) return Verdict::kMalformed;
  }
  if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
    ++at;
    if (at < token.size() && (token[at] == '+' || token[at] == '-')) ++at;
    const size_t exponent = at;
    at = skip_digits(token, exponent);
    if (at == exponent) return Verdict::kMalformed;
  }
  if (at != token.size()) return Verdict::kMalformed;
  double value = 0;
  const auto parsed = std::from_chars(token.data(), token.data() + token.size(), value);
  const bool is_huge = parsed.ec == std::errc::result_out_of_range || std::isinf(value);
  return is_huge ? Verdict::kTooLarge : Verdict::kFits;
}

}  // namespace

bool first_bad_number_is_too_large(std::string_view json) {
  size_t at = 0;
  while (at < json.size()) {
    if (json[at] == '"') {
      at = skip_string(json, at);
      continue;
    }
    if (!is_digit(json[at]) && json[at] != '-') {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < json.size() && !ends_token(json[end])) ++end;
    const Verdict verdict = judge(json.substr(at, end - at));
    if (verdict != Verdict::kFits) return verdict == Verdict::kTooLarge;
    at = end;
  }
  return false;
}

}  // namespace row_store
