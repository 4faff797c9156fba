// Words of a file, whatever the byte order and alignment of the host.
#ifndef ROW_STORE_FORMAT_LITTLE_ENDIAN_H
#define ROW_STORE_FORMAT_LITTLE_ENDIAN_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace row_store {

// The caller has checked that the span holds at + 8 bytes.
constexpr uint64_t load_le64(std::span<const uint8_t> bytes, size_t at) {
  uint64_t value = 0;
  for (size_t i = 8; i > 0; --i) value = value << 8 | bytes[at + i - 1];
  return value;
}

constexpr void store_le64(std::span<uint8_t> bytes, size_t at, uint64_t value) {
  for (size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_LITTLE_ENDIAN_H
