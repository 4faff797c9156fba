#include "format/strict_json.h"

#include <simdjson.h>

#include <algorithm>
#include <cerrno>

#include "format/json_number.h"
#include "format/text.h"

namespace row_store {
namespace {

// simdjson refuses to allocate for less.
constexpr size_t kCapacityMin = 64;

// Later versions of simdjson have a code of their own for large integers, which 3.0 does not name:
// so everything that is surely something else is ruled out.
bool may_be_number_error(simdjson::error_code error) {
  switch (error) {
    case simdjson::TAPE_ERROR:
    case simdjson::STRING_ERROR:
    case simdjson::T_ATOM_ERROR:
    case simdjson::F_ATOM_ERROR:
    case simdjson::N_ATOM_ERROR:
    case simdjson::EMPTY:
    case simdjson::UNESCAPED_CHARS:
    case simdjson::UNCLOSED_STRING:
      return false;
    default:
      return true;
  }
}

Status json_status(simdjson::error_code error, std::string_view json, const std::string& what,
                   size_t nesting_max) {
  switch (error) {
    case simdjson::SUCCESS:
      return {};
    case simdjson::MEMALLOC:
    case simdjson::CAPACITY:
      return Status(ErrorCode::kMemory, ENOMEM, "out of memory");
    case simdjson::UTF8_ERROR:
      return Status::error(ErrorCode::kUtf8, what + " is not UTF-8");
    default:
      break;
  }
  if (error == simdjson::DEPTH_ERROR) {
    return Status::error(ErrorCode::kJson, what + " is nested deeper than " +
                                               std::to_string(nesting_max) + " levels");
  }
  if (may_be_number_error(error) && first_bad_number_is_too_large(json)) {
    return Status::error(ErrorCode::kSchema, what + " holds a number that does not fit 64 bits");
  }
  std::string text = what + " is not JSON: ";
  text += simdjson::error_message(error);
  text += "; it begins with " + quote(json.substr(0, 32));
  if (json.find('\0') != std::string_view::npos) {
    text += "; it holds NUL bytes, perhaps as padding, where the format wants spaces";
  }
  return Status::error(ErrorCode::kJson, text);
}

}  // namespace

Status parse_strict_json(std::string_view json, const std::string& what, size_t nesting_max,
                         simdjson::dom::document& document) {
  if (!simdjson::validate_utf8(json.data(), json.size())) {
    return json_status(simdjson::UTF8_ERROR, json, what, nesting_max);
  }
  // Some versions of simdjson skip a byte order mark, which JSON forbids here.
  if (json.starts_with("\xEF\xBB\xBF")) {
    return Status::error(ErrorCode::kJson,
                         what + " begins with a UTF-8 byte order mark, expected '{'");
  }
  // simdjson reads beyond the end, so the text needs readable bytes there. This copy and the parser
  // are gone before the caller builds anything: a header may have 100 MB.
  std::string padded;
  padded.reserve(json.size() + simdjson::SIMDJSON_PADDING);
  padded.append(json);
  padded.append(simdjson::SIMDJSON_PADDING, ' ');
  simdjson::dom::parser parser;
  auto error = parser.allocate(std::max(json.size(), kCapacityMin), nesting_max);
  if (error != simdjson::SUCCESS) return json_status(error, json, what, nesting_max);
  error = parser.parse_into_document(document, padded.data(), json.size(), false).error();
  return json_status(error, json, what, nesting_max);
}

}  // namespace row_store
