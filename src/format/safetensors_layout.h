// The rules of a safetensors file that are about bytes and not about JSON: tensors tile the data.
//
// Internal to safetensors_header.cpp; tests go through parse_safetensors_header.
#ifndef ROW_STORE_FORMAT_SAFETENSORS_LAYOUT_H
#define ROW_STORE_FORMAT_SAFETENSORS_LAYOUT_H

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "format/safetensors_header.h"

namespace row_store {

// `data_offsets` of a tensor, relative to the first byte after the header.
struct DataOffsets {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Where that is in the file; kLayout when it ends before it begins, kOverflow beyond 2^63 - 1.
Result<Extent> place_tensor(const std::string& name, DataOffsets offsets, uint64_t data_offset);

// Sorts the tensors into file order and checks them against their types, each other and the file.
Status order_and_check_tensors(std::vector<Tensor>& tensors, uint64_t data_offset,
                               uint64_t file_bytes);

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_SAFETENSORS_LAYOUT_H
