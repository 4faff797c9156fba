#include "cli/inspect/report.h"

#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "format/text.h"

namespace row_store::cli {
namespace {

Json tensor_document(const SourceTensor& tensor, uint64_t width) {
  return {{"name", tensor.name},
          {"shape", {tensor.rows, tensor.columns}},
          {"offset", tensor.offset},
          {"bytes", tensor.rows * width}};
}

}  // namespace

std::string rows_text(RowRange rows) {
  return "[" + grouped(rows.begin) + ", " + grouped(rows.end) + ")";
}

Json source_document(const SourceIdentity& source) {
  Json document = {{"file_bytes", source.file_bytes},
                   {"header_bytes", source.header_bytes},
                   {"header_digest", hex_text(source.header_digest)},
                   {"weight", tensor_document(source.weight, kWeightBytes)},
                   {"scale", tensor_document(source.scale, kScaleBytes)}};
  if (source.sha256) {
    std::string digits;
    for (const uint8_t byte : *source.sha256)
      for (const unsigned nibble : {byte / 16U, byte % 16U}) digits += "0123456789abcdef"[nibble];
    document["sha256"] = digits;
  }
  return document;
}

std::string source_text(const SourceIdentity& source) {
  return "header " + hex_text(source.header_digest) + " (" + grouped(source.header_bytes) +
         " bytes) of a file of " + grouped(source.file_bytes) + " bytes";
}

}  // namespace row_store::cli
