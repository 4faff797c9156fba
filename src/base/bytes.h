// Bytes that were read into a string, as those take them who parse them.
#ifndef ROW_STORE_BASE_BYTES_H
#define ROW_STORE_BASE_BYTES_H

#include <cstdint>
#include <span>
#include <string>

namespace row_store {

// Valid as long as the string is, and unchanged.
inline std::span<const uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace row_store

#endif  // ROW_STORE_BASE_BYTES_H
