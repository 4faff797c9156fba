#include "format/file_kind.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "format/little_endian.h"
#include "format/packed_shard.h"
#include "format/safetensors_header.h"

namespace row_store {
namespace {

bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view skip_json_space(std::string_view text) {
  while (!text.empty() && is_json_space(text.front())) text.remove_prefix(1);
  return text;
}

// Compares as far as the shorter of the two goes: the caller may have read 16 bytes only.
bool starts_alike(std::string_view text, std::string_view lower_case_prefix) {
  const size_t size = std::min(text.size(), lower_case_prefix.size());
  if (size < 4) return false;
  return std::equal(lower_case_prefix.begin(), lower_case_prefix.begin() + size, text.begin(),
                    [](char expected, char found) {
                      const bool is_upper = found >= 'A' && found <= 'Z';
                      return expected == (is_upper ? static_cast<char>(found - 'A' + 'a') : found);
                    });
}

// A length below 10^8 leaves bytes 4..7 zero, which no text has: safe to ask first, although the
// length 123 itself begins with a '{'.
bool looks_like_safetensors(std::string_view text, uint64_t length) {
  if (length == 0 || length > kSafetensorsHeaderMax) return false;
  if (text.size() <= kSafetensorsLengthBytes) return false;
  const std::string_view json = skip_json_space(text.substr(kSafetensorsLengthBytes));
  return json.empty() || json.front() == '{';
}

bool is_html(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text = skip_json_space(text);
  return starts_alike(text, "<!doctype") || starts_alike(text, "<html") ||
         starts_alike(text, "<?xml") || starts_alike(text, "<head") || starts_alike(text, "<!--");
}

bool is_zero_filled(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c == '\0'; });
}

}  // namespace

FileKind classify_file(std::span<const uint8_t> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (head.size() >= sizeof(uint64_t)) {
    const uint64_t first_word = load_le64(head, 0);
    if (looks_like_safetensors(text, first_word)) return FileKind::kSafetensors;
    if (first_word == kPackedMagic) return FileKind::kPackedShard;
    if (first_word == kPage15Magic) return FileKind::kPage15Shard;
    if (is_zero_filled(text)) return FileKind::kZeroFilled;
  }
  if (starts_alike(text, "version https://git-lfs")) return FileKind::kLfsPointer;
  if (is_html(text)) return FileKind::kHtml;
  if (text.starts_with("GGUF")) return FileKind::kGguf;
  if (text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06")) return FileKind::kZip;
  const std::string_view json = skip_json_space(text);
  if (!json.empty() && (json.front() == '{' || json.front() == '[')) return FileKind::kJson;
  return FileKind::kUnknown;
}

const char* file_kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::kUnknown:
      return "unknown file";
    case FileKind::kSafetensors:
      return "safetensors file";
    case FileKind::kPackedShard:
      return "packed shard";
    case FileKind::kPage15Shard:
      return "page15 packed shard";
    case FileKind::kLfsPointer:
      return "Git LFS pointer";
    case FileKind::kHtml:
      return "HTML page";
    case FileKind::kGguf:
      return "GGUF file";
    case FileKind::kZip:
      return "zip archive";
    case FileKind::kJson:
      return "JSON text";
    case FileKind::kZeroFilled:
      return "file that begins with zeros";
  }
  return "unknown file";
}

std::string file_kind_advice(FileKind kind, uint64_t file_bytes) {
  const char* cure = "";
  switch (kind) {
    case FileKind::kUnknown:
      return "";
    case FileKind::kSafetensors:
      cure = "a checkpoint file, not a packed shard";
      break;
    case FileKind::kPackedShard:
    case FileKind::kPage15Shard:
      cure = "it is attached beside a checkpoint, never opened as one";
      break;
    case FileKind::kLfsPointer:
      cure = "run 'git lfs pull' in the checkpoint's folder to fetch the real file";
      break;
    case FileKind::kHtml:
      cure = "the download saved a web page, such as a login or an error; fetch the file again";
      break;
    case FileKind::kGguf:
      cure = "convert nothing, take the safetensors checkpoint";
      break;
    case FileKind::kZip:
      cure = "perhaps a .pt file; take the safetensors checkpoint";
      break;
    case FileKind::kJson:
      cure = "perhaps config.json or the index; give the .safetensors file it names";
      break;
    case FileKind::kZeroFilled:
      cure = "the download was set up but never written, or the disk lost it; fetch it again";
      break;
  }
  const char* article = kind == FileKind::kHtml ? "an " : "a ";
  return std::string("this is ") + article + file_kind_name(kind) + ", " +
         std::to_string(file_bytes) + " bytes; " + cure;
}

}  // namespace row_store
