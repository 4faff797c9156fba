#include "store/checkpoint_folder.h"

#include "base/bytes.h"

namespace row_store {

std::string join_path(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

Result<WeightMap> read_weight_map(const std::string& folder) {
  const Result<PlainFile> file = PlainFile::open(join_path(folder, kWeightMapFile));
  if (!file.ok()) return file.status();
  if (file.value().bytes() > kWeightMapBytesMax) {
    return Status::error(ErrorCode::kSize, file.value().path() + ": expected at most " +
                                               std::to_string(kWeightMapBytesMax) +
                                               " bytes, found " +
                                               std::to_string(file.value().bytes()));
  }
  const Result<std::string> text = file.value().read(0, kWeightMapBytesMax);
  if (!text.ok()) return text.status();
  Result<WeightMap> map = parse_weight_map(text.value());
  if (map.ok()) return map;
  const std::string advice =
      file_kind_advice(classify_file(as_bytes(text.value())), file.value().bytes());
  const Status& status = map.status();
  // The text begins with the file's name: the folder goes in front. What a failed download left is
  // told, but a JSON text is what was expected.
  const bool is_json = classify_file(as_bytes(text.value())) == FileKind::kJson;
  return Status(
      status.code(), status.sys_errno(),
      join_path(folder, status.text()) + (advice.empty() || is_json ? "" : "; " + advice));
}

Result<SafetensorsHead> read_safetensors_head(const PlainFile& file) {
  Result<std::string> head = file.read(0, kPageBytes);
  if (!head.ok()) return head.status();
  const Result<uint64_t> length = safetensors_header_bytes(as_bytes(head.value()), file.bytes());
  if (!length.ok()) return with_path(file.path(), length.status());
  head = file.read(0, kSafetensorsLengthBytes + length.value());
  if (!head.ok()) return head.status();
  Result<SafetensorsHeader> header = parse_safetensors_header(as_bytes(head.value()), file.bytes());
  if (!header.ok()) return with_path(file.path(), header.status());
  return SafetensorsHead{head.take(), header.take()};
}

Result<LocatedTable> locate_engram_table(const std::string& folder, uint64_t layer) {
  const Result<WeightMap> map = read_weight_map(folder);
  if (!map.ok()) return map.status();
  const Result<std::string> name = map.value().engram_file(layer);
  if (!name.ok()) {
    return Status(name.status().code(), name.status().sys_errno(),
                  join_path(folder, name.status().text()));
  }
  const Result<PlainFile> file = PlainFile::open(join_path(folder, name.value()));
  if (!file.ok()) return file.status();
  const Result<SafetensorsHead> head = read_safetensors_head(file.value());
  if (!head.ok()) return head.status();
  const SafetensorsHeader& header = head.value().header;
  const Result<EngramTable> table = find_engram_table(header, layer);
  if (!table.ok()) return with_path(file.value().path(), table.status());
  Result<SourceIdentity> source =
      identify_source(header, as_bytes(head.value().bytes), file.value().bytes(),
                      table.value().weight_offset, table.value().scale_offset);
  if (!source.ok()) return with_path(file.value().path(), source.status());
  return LocatedTable{file.value().path(), table.value(), source.take()};
}

Result<RowRange> rank_rows(uint64_t rows, uint64_t rank, uint64_t tp) {
  if (rank >= tp || tp > kRanksMax) {
    return Status::error(ErrorCode::kArgument,
                         "rank " + std::to_string(rank) + " of " + std::to_string(tp) +
                             ": expected 0 <= rank < ranks <= " + std::to_string(kRanksMax));
  }
  // rows * rank may exceed 64 bits; its quotient by tp, taken in two parts, cannot.
  const auto start = [&](uint64_t at) { return rows / tp * at + rows % tp * at / tp; };
  return RowRange{start(rank), start(rank + 1)};
}

std::string packed_shard_name(uint64_t layer, uint64_t rank, uint64_t tp) {
  return "engram-l" + std::to_string(layer) + "-r" + std::to_string(rank) + "of" +
         std::to_string(tp) + ".bin";
}

}  // namespace row_store
