// What a file is, from its first bytes, and what to tell a user who meant another one.
//
// A guess for messages and for `inspect`: no file is accepted or refused because of it. Pure
// functions over bytes.
#ifndef ROW_STORE_FORMAT_FILE_KIND_H
#define ROW_STORE_FORMAT_FILE_KIND_H

#include <cstdint>
#include <span>
#include <string>

namespace row_store {

// What a file's first bytes (16 are enough) say it is.
enum class FileKind {
  kUnknown,
  kSafetensors,  // plausible length, then a JSON object
  kPackedShard,  // ours or the original packer's
  kPage15Shard,
  kLfsPointer,
  kHtml,
  kGguf,
  kZip,  // also a .pt file
  kJson,
  kZeroFilled,
};
FileKind classify_file(std::span<const uint8_t> head);
const char* file_kind_name(FileKind kind);

// "this is a Git LFS pointer, 135 bytes; run 'git lfs pull' ...": cause and cure, without a full
// stop. Empty for kUnknown.
std::string file_kind_advice(FileKind kind, uint64_t file_bytes);

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_FILE_KIND_H
