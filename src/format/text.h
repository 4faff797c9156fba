// Pieces of error texts about bytes that a stranger wrote: escaped, and cut to a bearable length.
#ifndef ROW_STORE_FORMAT_TEXT_H
#define ROW_STORE_FORMAT_TEXT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace row_store {

// In single quotes, printable ASCII only, at most 64 bytes of it. A name may hold line breaks,
// terminal escapes or 90 MB.
std::string quote(std::string_view text);

// "[384006168, 256]", at most 8 dimensions of it.
std::string shape_text(const std::vector<uint64_t>& shape);

// "0x31344e4531565344".
std::string hex_text(uint64_t value);

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_TEXT_H
