// Tells a number that JSON allows but 64 bits do not hold from text that is no number at all.
//
// simdjson reports both with one code, and a user needs to know which.
#ifndef ROW_STORE_FORMAT_JSON_NUMBER_H
#define ROW_STORE_FORMAT_JSON_NUMBER_H

#include <string_view>

namespace row_store {

// Whether the first number of the JSON text that a 64-bit parser refuses is well formed and merely
// too large. The text's strings are known to be closed.
bool first_bad_number_is_too_large(std::string_view json);

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_JSON_NUMBER_H
