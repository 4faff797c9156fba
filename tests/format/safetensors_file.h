// Safetensors files for tests, as the bytes of their head and the size that the file would have.
//
// Nothing is written to disk: the parser never looks at data, so a 6 GiB file costs a few bytes.
#ifndef ROW_STORE_FORMAT_SAFETENSORS_FILE_H
#define ROW_STORE_FORMAT_SAFETENSORS_FILE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/safetensors_header.h"

namespace row_store::testing {

struct SafetensorsFile {
  std::vector<uint8_t> head;
  uint64_t file_bytes = 0;
};

// A good table of 4 rows: weight in data bytes 0..1023, scale in 1024..1055.
inline constexpr uint64_t kGoodRows = 4;
inline constexpr uint64_t kGoodDataBytes = kGoodRows * kRowBytes;

inline std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

// "name":{...}, for lists of them between braces.
inline std::string tensor_json(const std::string& name, const std::string& dtype,
                               const std::string& shape, uint64_t begin, uint64_t end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
}

inline std::string weight_json() {
  return tensor_json("layers.1.engram.embed.weight", "F8_E4M3", "[4,256]", 0, 1024);
}
inline std::string scale_json() {
  return tensor_json("layers.1.engram.embed.scale", "F8_E8M0", "[4,8]", 1024, 1056);
}
inline std::string good_json() { return "{" + weight_json() + "," + scale_json() + "}"; }

inline SafetensorsFile file_with_length(uint64_t length, const std::string& behind,
                                        uint64_t file_bytes) {
  SafetensorsFile file;
  for (size_t i = 0; i < 8; ++i) file.head.push_back(static_cast<uint8_t>(length >> (8 * i)));
  file.head.insert(file.head.end(), behind.begin(), behind.end());
  file.file_bytes = file_bytes;
  return file;
}

inline SafetensorsFile file_of(const std::string& json, uint64_t data_bytes = kGoodDataBytes) {
  return file_with_length(json.size(), json, 8 + json.size() + data_bytes);
}

// Files that are no safetensors file at all: all their bytes.
inline SafetensorsFile file_of_text(const std::string& text) {
  return {bytes_of(text), text.size()};
}

// What a caller does: the length from the first 16 bytes, then the whole header.
inline Result<SafetensorsHeader> parse_file(const SafetensorsFile& file) {
  const std::span<const uint8_t> head(file.head);
  const auto length =
      safetensors_header_bytes(head.first(std::min<size_t>(16, head.size())), file.file_bytes);
  if (!length.ok()) return length.status();
  return parse_safetensors_header(head.first(std::min<size_t>(head.size(), 8 + length.value())),
                                  file.file_bytes);
}

}  // namespace row_store::testing

#endif  // ROW_STORE_FORMAT_SAFETENSORS_FILE_H
