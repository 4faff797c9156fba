// JSON from strangers, with the rules that simdjson's versions differ on settled: UTF-8, no byte
// order mark, bounded nesting.
#ifndef ROW_STORE_FORMAT_STRICT_JSON_H
#define ROW_STORE_FORMAT_STRICT_JSON_H

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace simdjson::dom {
class document;
}

namespace row_store {

// `what` begins the error's text: "safetensors header". kUtf8, kJson, kSchema for a number beyond
// 64 bits, kMemory. May throw std::bad_alloc. Repeated keys are left to the caller, who must walk
// members and never look them up by name.
Status parse_strict_json(std::string_view json, const std::string& what, size_t nesting_max,
                         simdjson::dom::document& document);

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_STRICT_JSON_H
