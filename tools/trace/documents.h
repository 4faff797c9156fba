// The .egtok file: documents as compressed token ids, made by tokenise.py. Little-endian:
//
//   "EGTOK001", u32 documents, u32 kinds, then per kind: u16 length, UTF-8 name
//   documents x { u32 kind, u32 tokens }
//   u32 a token: compressed id, all documents in order
//
// Decoding trusts no byte: counts are checked against the size before anything is allocated, ids
// against the vocabulary.
#ifndef ROW_STORE_TRACE_DOCUMENTS_H
#define ROW_STORE_TRACE_DOCUMENTS_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace row_store::trace {

struct Documents {
  std::vector<uint32_t> tokens;
  std::vector<uint64_t> starts;  // documents + 1; the last is tokens.size()
};

Result<Documents> decode_documents(std::span<const uint8_t> bytes);
Result<Documents> load_documents(const std::string& path);

}  // namespace row_store::trace

#endif  // ROW_STORE_TRACE_DOCUMENTS_H
