// inspect of one file, from its first bytes, its size and, of a shard, its sums.
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/number_text.h"
#include "cli/inspect/report.h"
#include "format/file_kind.h"
#include "format/packed_shard.h"
#include "format/shard_sums.h"
#include "format/text.h"
#include "store/checkpoint_folder.h"

namespace row_store::cli {
namespace {

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

Status add_sums(Console& console, Json& report, const PlainFile& file, const PackedHeader& header) {
  const Result<SumsPlace> place = place_sums(header);
  if (!place.ok()) return with_path(file.path(), place.status());
  const Result<std::string> page = file.read(place.value().head_offset, kPageBytes);
  if (!page.ok()) return page.status();
  const auto sums = decode_sums_head(as_bytes(page.value()), header, file.bytes());
  if (!sums.ok()) return with_path(file.path(), sums.status());
  if (!sums.value()) {
    report["sums"] = nullptr;
    console.text("sums        none\n");
    return {};
  }
  const SumsHead& head = *sums.value();
  report["sums"] = {{"blocks", head.place.block_count}, {"source", source_document(head.source)}};
  console.text("sums        of %s blocks\n", grouped(head.place.block_count).c_str());
  console.text("packed from %s\n", source_text(head.source).c_str());
  console.text("            %s at byte %s, %s at %s\n", quote(head.source.weight.name).c_str(),
               grouped(head.source.weight.offset).c_str(), quote(head.source.scale.name).c_str(),
               grouped(head.source.scale.offset).c_str());
  return {};
}

Status add_packed(Console& console, Json& report, const PlainFile& file, const std::string& head) {
  const Result<PackedHeader> header = decode_packed_header(as_bytes(head), file.bytes());
  if (!header.ok()) return with_path(file.path(), header.status());
  const PackedHeader& found = header.value();
  report["layer"] = found.layer;
  report["range"] = {found.range.begin, found.range.end};
  report["table_rows"] = found.table_rows;
  console.text("layer       %llu\n", static_cast<unsigned long long>(found.layer));
  console.text("rows        %s of %s\n", rows_text(found.range).c_str(),
               grouped(found.table_rows).c_str());
  return add_sums(console, report, file, found);
}

Status add_safetensors(Console& console, Json& report, const PlainFile& file) {
  const Result<SafetensorsHead> head = read_safetensors_head(file);
  if (!head.ok()) return head.status();
  const SafetensorsHeader& header = head.value().header;
  report["data_offset"] = header.data_offset;
  report["tensors"] = Json::array();
  console.text("tensors     %s behind a header of %s bytes\n",
               grouped(header.tensors.size()).c_str(), grouped(header.data_offset).c_str());
  for (const Tensor& tensor : header.tensors) {
    report["tensors"].push_back({{"name", tensor.name},
                                 {"dtype", tensor.dtype},
                                 {"shape", tensor.shape},
                                 {"offset", tensor.extent.offset},
                                 {"bytes", tensor.extent.bytes}});
    console.text("  %s %s %s at byte %s, %s bytes\n", quote(tensor.name).c_str(),
                 quote(tensor.dtype).c_str(), shape_text(tensor.shape).c_str(),
                 grouped(tensor.extent.offset).c_str(), grouped(tensor.extent.bytes).c_str());
  }
  return {};
}

}  // namespace

ExitCode inspect_file(const std::string& path, Console& console) {
  const Result<PlainFile> file = PlainFile::open(path);
  if (!file.ok()) return console.fail(file.status());
  const uint64_t bytes = file.value().bytes();
  const Result<std::string> head = file.value().read(0, kPackedHeaderBytes);
  if (!head.ok()) return console.fail(head.status());
  const FileKind kind = classify_file(as_bytes(head.value()));
  Json report = {{"path", path}, {"kind", kind_word(kind)}, {"bytes", bytes}};
  console.text("what        %s\n", file_kind_name(kind));
  console.text("size        %s bytes (%s)\n", grouped(bytes).c_str(), bytes_text(bytes).c_str());
  Status status;
  if (kind == FileKind::kPackedShard || kind == FileKind::kPage15Shard)
    status = add_packed(console, report, file.value(), head.value());
  if (kind == FileKind::kSafetensors) status = add_safetensors(console, report, file.value());
  if (!status.ok()) return console.fail(status);
  console.document(report);
  return ExitCode::kOk;
}

}  // namespace row_store::cli
