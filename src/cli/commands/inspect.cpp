#include "cli/commands/inspect.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "format/file_kind.h"
#include "format/packed_shard.h"
#include "io/plain_file.h"

namespace row_store::cli {
namespace {

struct Options {
  std::string path;
};

// Stable words for scripts; file_kind_name() is for people.
const char* kind_word(FileKind kind) {
  switch (kind) {
    case FileKind::kUnknown:
      return "unknown";
    case FileKind::kSafetensors:
      return "safetensors";
    case FileKind::kPackedShard:
      return "packed";
    case FileKind::kPage15Shard:
      return "page15";
    case FileKind::kLfsPointer:
      return "lfs_pointer";
    case FileKind::kHtml:
      return "html";
    case FileKind::kGguf:
      return "gguf";
    case FileKind::kZip:
      return "zip";
    case FileKind::kJson:
      return "json";
    case FileKind::kZeroFilled:
      return "zeros";
  }
  return "unknown";
}

std::span<const uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The rest of a packed shard's report.
Status add_packed(Console& console, Json& report, const std::string& head, uint64_t file_bytes) {
  const Result<PackedHeader> header = decode_packed_header(as_bytes(head), file_bytes);
  if (!header.ok()) return header.status();
  const PackedHeader& found = header.value();
  report["layer"] = found.layer;
  report["range"] = {found.range.begin, found.range.end};
  report["table_rows"] = found.table_rows;
  console.text("layer       %llu\n", static_cast<unsigned long long>(found.layer));
  console.text("rows        [%s, %s) of %s\n", grouped(found.range.begin).c_str(),
               grouped(found.range.end).c_str(), grouped(found.table_rows).c_str());
  return {};
}

ExitCode inspect(const Options& options, Console& console) {
  const Result<PlainFile> file = PlainFile::open(options.path);
  if (!file.ok()) return console.fail(file.status());
  const uint64_t bytes = file.value().bytes();
  const Result<std::string> head = file.value().read(0, kPackedHeaderBytes);
  if (!head.ok()) return console.fail(head.status());
  const FileKind kind = classify_file(as_bytes(head.value()));
  Json report = {{"path", options.path}, {"kind", kind_word(kind)}, {"bytes", bytes}};
  console.text("what        %s\n", file_kind_name(kind));
  console.text("size        %s bytes (%s)\n", grouped(bytes).c_str(), bytes_text(bytes).c_str());
  if (kind == FileKind::kPackedShard || kind == FileKind::kPage15Shard) {
    const Status status = add_packed(console, report, head.value(), bytes);
    if (!status.ok())
      return console.fail({status.code(), status.sys_errno(), options.path + ": " + status.text()});
  }
  console.document(report);
  return ExitCode::kOk;
}

}  // namespace

CommandBody declare_inspect(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("FILE", options->path, "A file of a checkpoint, or a packed shard")->required();
  return [options](Console& console) { return inspect(*options, console); };
}

}  // namespace row_store::cli
