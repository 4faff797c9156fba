// Whole files in and out, for the tools: a regular file's bytes, or the reason why not.
//
// Not for tables: everything is held in memory. Reading never blocks on a FIFO.
#ifndef ROW_STORE_TRACE_FILES_H
#define ROW_STORE_TRACE_FILES_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace row_store::trace {

Result<std::vector<uint8_t>> read_file(const std::string& path);

// Writes the parts one after the other. On failure the file may be left short; the Status says so.
Status write_file(const std::string& path, std::span<const std::span<const uint8_t>> parts);

template <typename T>
std::span<const uint8_t> bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace row_store::trace

#endif  // ROW_STORE_TRACE_FILES_H
