// Rows of the parser table: a file that is good but for one change, and the verdict on it. The ids
// (S01 ...) stay with a row for ever, so that a report can name it.
#ifndef ROW_STORE_FORMAT_PARSER_TABLE_H
#define ROW_STORE_FORMAT_PARSER_TABLE_H

#include <cstdint>
#include <string>
#include <vector>

#include "format/safetensors_file.h"
#include "support/catch.h"

namespace row_store::testing {

struct Row {
  const char* id;
  const char* construct;
  SafetensorsFile file;
  ErrorCode verdict;
  const char* told = "";  // The message contains it.
};

inline void check_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    DYNAMIC_SECTION(row.id << " " << row.construct << ": " << error_code_name(row.verdict)) {
      const auto header = parse_file(row.file);
      INFO(header.status().text());
      CHECK(std::string(error_code_name(header.status().code())) == error_code_name(row.verdict));
      CHECK(header.ok() == (row.verdict == ErrorCode::kOk));
      CHECK(header.status().text().find(row.told) != std::string::npos);
      CHECK(header.ok() == header.status().text().empty());
    }
  }
}

inline SafetensorsFile two_tensors(const std::string& first, const std::string& second,
                                   uint64_t data_bytes = kGoodDataBytes) {
  return file_of("{" + first + "," + second + "}", data_bytes);
}

// One tensor of 8 bytes whose description is `info`, and nothing else.
inline SafetensorsFile one_tensor(const std::string& info) {
  return file_of("{\"t\":" + info + "}", 8);
}

inline SafetensorsFile with_offsets(const std::string& offsets) {
  return one_tensor("{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":" + offsets + "}");
}

inline uint64_t file_bytes_of(const std::string& json) { return 8 + json.size() + kGoodDataBytes; }

}  // namespace row_store::testing

#endif  // ROW_STORE_FORMAT_PARSER_TABLE_H
