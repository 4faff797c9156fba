// inspect of a checkpoint's folder: its layers, their files, and what a rank's adapter would open.
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/bytes.h"
#include "base/number_text.h"
#include "cli/inspect/report.h"
#include "format/packed_shard.h"
#include "format/text.h"
#include "store/checkpoint_folder.h"

namespace row_store::cli {
namespace {

struct Rank {
  uint64_t rank = 0;
  uint64_t tp = 0;
};

// The files that the index names, and which are not there: a node may hold only those it serves.
void add_files(Console& console, Json& report, const std::string& folder, const WeightMap& map) {
  std::set<std::string> names;
  for (const auto& [tensor, file] : map.file_of) names.insert(file);
  Json files = Json::array();
  uint64_t bytes = 0, missing = 0;
  for (const std::string& name : names) {
    struct stat found {};
    const bool is_there = ::stat(join_path(folder, name).c_str(), &found) == 0;
    if (is_there) bytes += static_cast<uint64_t>(found.st_size);
    missing += is_there ? 0 : 1;
    files.push_back({{"name", name}, {"bytes", nullptr}});
    if (is_there) files.back()["bytes"] = static_cast<uint64_t>(found.st_size);
  }
  report["tensors"] = map.file_of.size();
  report["files"] = files;
  console.text("tensors     %s in %s files", grouped(map.file_of.size()).c_str(),
               grouped(names.size()).c_str());
  console.text(", %s (%s of them missing here)\n", bytes_text(bytes).c_str(),
               grouped(missing).c_str());
}

// What attach_packed would say of the file.
Status check_shard(const std::string& path, const PackedExpectation& expected) {
  const Result<PlainFile> file = PlainFile::open(path);
  if (!file.ok()) return file.status();
  const Result<std::string> head = file.value().read(0, kPackedHeaderBytes);
  if (!head.ok()) return head.status();
  const auto header = match_packed_header(as_bytes(head.value()), file.value().bytes(), expected);
  return header.ok() ? Status() : with_path(path, header.status());
}

// False when a shard is there and would be refused.
bool add_rank(Console& console, Json& layer_report, const std::string& packed_dir, Rank view,
              uint64_t layer, const LocatedTable& table) {
  const RowRange rows = rank_rows(table.table.rows, view.rank, view.tp).value();
  Json opens = {{"rank", view.rank}, {"tp", view.tp}, {"range", {rows.begin, rows.end}}};
  console.text("  rank      %llu of %llu: rows %s\n", static_cast<unsigned long long>(view.rank),
               static_cast<unsigned long long>(view.tp), rows_text(rows).c_str());
  bool is_right = true;
  const std::string name = packed_shard_name(layer, view.rank, view.tp);
  std::string served = "the checkpoint; no folder for packed shards is set (DSV41_PACKED_DIR)";
  opens["shard"] = nullptr;
  if (!packed_dir.empty()) {
    const std::string path = join_path(packed_dir, name);
    opens["shard"] = path;
    const Status status = check_shard(path, {layer, rows, table.table.rows});
    const bool is_absent = status.code() == ErrorCode::kIo && status.sys_errno() == ENOENT;
    opens["state"] = status.ok() ? "fits" : is_absent ? "absent" : "refused";
    if (!status.ok()) opens["text"] = status.text();
    is_right = status.ok() || is_absent;
    served = status.ok() ? "the packed shard " + path
             : is_absent ? "the checkpoint; there is no " + path
                         : "the checkpoint; the shard is refused: " + status.text();
  }
  console.text("  served by %s\n", served.c_str());
  layer_report["opens"] = opens;
  return is_right;
}

ExitCode add_layer(Console& console, Json& report, const std::string& folder,
                   const std::string& packed_dir, const std::optional<Rank>& view, uint64_t layer) {
  const Result<LocatedTable> table = locate_engram_table(folder, layer);
  if (!table.ok()) return console.fail(table.status());
  const SourceIdentity& source = table.value().source;
  Json layer_report = {{"layer", layer},
                       {"file", table.value().path},
                       {"rows", table.value().table.rows},
                       {"source", source_document(source)}};
  console.text("layer %llu\n", static_cast<unsigned long long>(layer));
  console.text("  file      %s\n", table.value().path.c_str());
  console.text("  rows      %s\n", grouped(table.value().table.rows).c_str());
  console.text("  weights   at byte %s\n", grouped(table.value().table.weight_offset).c_str());
  console.text("  scales    at byte %s\n", grouped(table.value().table.scale_offset).c_str());
  console.text("  identity  %s\n", source_text(source).c_str());
  const bool is_right =
      !view || add_rank(console, layer_report, packed_dir, *view, layer, table.value());
  report["layers"].push_back(layer_report);
  return is_right ? ExitCode::kOk : ExitCode::kFoundWrong;
}

Result<std::optional<Rank>> chosen_rank(const RankView& view) {
  if (!view.tp) {
    if (!view.rank || *view.rank == 0) return std::optional<Rank>();
    return Status::error(ErrorCode::kArgument, "--rank without --tp: of how many ranks?");
  }
  const Rank rank{view.rank.value_or(0), *view.tp};
  if (const auto rows = rank_rows(1, rank.rank, rank.tp); !rows.ok()) return rows.status();
  return std::optional<Rank>(rank);
}

}  // namespace

ExitCode inspect_folder(const std::string& path, const RankView& view, Console& console) {
  const Result<std::optional<Rank>> rank = chosen_rank(view);
  if (!rank.ok()) return console.fail(rank.status());
  const Result<WeightMap> map = read_weight_map(path);
  if (!map.ok()) return console.fail(map.status());
  Json report = {{"path", path}, {"kind", "checkpoint"}};
  console.text("what        checkpoint\n");
  add_files(console, report, path, map.value());
  report["layers"] = Json::array();
  ExitCode code = ExitCode::kOk;
  for (const uint64_t layer : map.value().engram_layers()) {
    // A failure has written the document already.
    const size_t before = report["layers"].size();
    const ExitCode found = add_layer(console, report, path, view.packed_dir, rank.value(), layer);
    if (report["layers"].size() == before) return found;
    if (found != ExitCode::kOk) code = found;
  }
  if (report["layers"].empty()) console.text("No layer has an Engram table.\n");
  console.document(report);
  return code;
}

}  // namespace row_store::cli
