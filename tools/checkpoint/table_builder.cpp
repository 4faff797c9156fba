#include "checkpoint/table_builder.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "checkpoint/output_file.h"
#include "checkpoint/row_bytes.h"
#include "trace/addressing.h"

namespace row_store::checkpoint {
namespace {

constexpr uint64_t kRowsMax = uint64_t{1} << 40;  // keeps every size below 2^63

// One tensor on its way into a shard; exactly one of the sources gives its bytes.
struct PlannedTensor {
  enum class Source { kFiller, kWeights, kScales };
  std::string name;
  const char* dtype;
  std::array<uint64_t, 2> shape;
  uint64_t bytes;
  Source source = Source::kFiller;
  TableSpec table;  // of weights and scales
};

struct PlannedShard {
  std::string file;
  std::vector<PlannedTensor> tensors;
};

PlannedTensor filler(std::string name, uint64_t first, uint64_t second) {
  return {std::move(name), "BF16", {first, second}, first * second * 2, {}, {}};
}

std::string shard_file(size_t number, size_t count) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", number, count);
  return name;
}

// A shard of other tensors, then one shard a table with the layer's other tensors around it.
std::vector<PlannedShard> plan_shards(const CheckpointSpec& spec) {
  using Source = PlannedTensor::Source;
  const size_t count = spec.tables.size() + 1;
  std::vector<PlannedShard> shards;
  shards.push_back(
      {shard_file(1, count), {filler("embed.weight", 67, 32), filler("norm.weight", 1, 32)}});
  for (const TableSpec& table : spec.tables) {
    const std::string layer = "layers." + std::to_string(table.layer) + ".";
    PlannedTensor weight = {
        layer + "engram.embed.weight", "F8_E4M3",        {table.rows, kWeightBytes},
        table.rows * kWeightBytes,     Source::kWeights, table};
    PlannedTensor scale = {layer + "engram.embed.scale", "F8_E8M0",       {table.rows, kScaleBytes},
                           table.rows * kScaleBytes,     Source::kScales, table};
    shards.push_back({shard_file(shards.size() + 1, count),
                      {filler(layer + "attn_norm.weight", 1, 33), std::move(weight),
                       std::move(scale), filler(layer + "engram.gate.weight", 3, 35)}});
  }
  return shards;
}

std::string header_json(const PlannedShard& shard) {
  std::string json = R"({"__metadata__":{"format":"pt"})";
  uint64_t offset = 0;
  for (const PlannedTensor& tensor : shard.tensors) {
    json += ",\"" + tensor.name + R"(":{"dtype":")" + tensor.dtype + R"(","shape":[)" +
            std::to_string(tensor.shape[0]) + "," + std::to_string(tensor.shape[1]) +
            R"(],"data_offsets":[)" + std::to_string(offset) + "," +
            std::to_string(offset + tensor.bytes) + "]}";
    offset += tensor.bytes;
  }
  json += "}";
  // The format allows trailing blanks; most writers use them to align, we to misalign.
  if (json.size() % 2 == 0) json += ' ';
  return json;
}

void append_table_part(OutputFile& out, const PlannedTensor& tensor, uint64_t seed) {
  const bool weights = tensor.source == PlannedTensor::Source::kWeights;
  const uint64_t bytes = weights ? kWeightBytes : kScaleBytes;
  uint8_t row[kRowBytes];
  for (uint64_t id = 0; id < tensor.table.rows; ++id) {
    fill_row(seed, tensor.table.layer, id, row);
    std::memcpy(out.extend(bytes), weights ? row : row + kWeightBytes, bytes);
  }
}

Status write_shard(const PlannedShard& shard, const std::string& dir, uint64_t seed) {
  OutputFile out(dir + "/" + shard.file);
  const std::string header = header_json(shard);
  const uint64_t header_bytes = header.size();
  std::memcpy(out.extend(sizeof header_bytes), &header_bytes, sizeof header_bytes);
  out.append(header);
  for (const PlannedTensor& tensor : shard.tensors) {
    if (tensor.source == PlannedTensor::Source::kFiller) {
      out.append(std::vector<uint8_t>(tensor.bytes, 0x3C));
    } else {
      append_table_part(out, tensor, seed);
    }
  }
  return out.finish();
}

Status write_text(const std::string& path, const std::string& text) {
  OutputFile out(path);
  out.append(text);
  return out.finish();
}

std::string index_json(const std::vector<PlannedShard>& shards) {
  uint64_t total = 0;
  std::string map;
  for (const PlannedShard& shard : shards) {
    for (const PlannedTensor& tensor : shard.tensors) {
      total += tensor.bytes;
      map += (map.empty() ? "\n    \"" : ",\n    \"") + tensor.name + "\": \"" + shard.file + "\"";
    }
  }
  return "{\n  \"metadata\": {\"total_size\": " + std::to_string(total) +
         "},\n  \"weight_map\": {" + map + "\n  }\n}\n";
}

std::string config_json(const CheckpointSpec& spec) {
  std::string layers, rows;
  for (const TableSpec& table : spec.tables) {
    layers += (layers.empty() ? "" : ", ") + std::to_string(table.layer);
    rows += (rows.empty() ? "" : ", ") + std::to_string(table.rows);
  }
  return "{\n  \"engram_layer_ids\": [" + layers + "],\n  \"engram_num_embeddings\": [" + rows +
         "],\n  \"engram_max_ngram_size\": " + std::to_string(trace::kLookback) +
         ",\n  \"engram_n_heads\": " + std::to_string(trace::kHeads) +
         ",\n  \"engram_head_dim\": " + std::to_string(kWeightBytes) +
         ",\n  \"engram_vocab_size\": " + std::to_string(spec.vocab_base) +
         ",\n  \"engram_pad_id\": " + std::to_string(trace::kPadClass) +
         ",\n  \"engram_compressed_vocab_size\": " + std::to_string(trace::kClasses) +
         ",\n  \"synthetic_seed\": " + std::to_string(spec.seed) + "\n}\n";
}

std::array<uint8_t, kPackedHeaderBytes> packed_header(const PackedSpec& spec) {
  const bool page15 = spec.layout == PackedLayout::kPage15;
  const uint64_t words[] = {page15 ? kPage15Magic : kPackedMagic,
                            spec.table.layer,
                            spec.range.begin,
                            spec.range.end,
                            spec.table.rows,
                            kRowBytes,
                            page15 ? kPage15Rows : 0,
                            page15 ? kPageBytes : 0};
  std::array<uint8_t, kPackedHeaderBytes> header{};
  std::memcpy(header.data(), words, sizeof words);
  return header;
}

}  // namespace

uint64_t CheckpointSpec::bytes() const {
  uint64_t rows = 0;
  for (const TableSpec& table : tables) rows += table.rows;
  return rows * kRowBytes;
}

Result<CheckpointSpec> checkpoint_of_base(uint64_t base, uint64_t seed) {
  CheckpointSpec spec{{}, seed, base};
  for (const uint32_t layer : trace::kLayers) {
    const Result<trace::Addressing> rule = trace::make_addressing(layer, base);
    if (!rule.ok()) return rule.status();
    spec.tables.push_back({layer, rule.value().rows});
  }
  return spec;
}

Status write_checkpoint(const CheckpointSpec& spec, const std::string& dir) {
  for (const TableSpec& table : spec.tables) {
    if (table.rows == 0 || table.rows > kRowsMax) {
      return Status::error(ErrorCode::kArgument, "a table needs 1 to 2^40 rows");
    }
  }
  const std::vector<PlannedShard> shards = plan_shards(spec);
  for (const PlannedShard& shard : shards) {
    if (Status status = write_shard(shard, dir, spec.seed); !status.ok()) return status;
  }
  Status status = write_text(dir + "/model.safetensors.index.json", index_json(shards));
  if (!status.ok()) return status;
  // Last, so that a folder with a config.json is a complete one.
  return write_text(dir + "/config.json", config_json(spec));
}

Status write_packed_shard(const PackedSpec& spec, const std::string& path) {
  if (spec.range.begin > spec.range.end || spec.range.end > spec.table.rows ||
      spec.table.rows > kRowsMax) {
    return Status::error(ErrorCode::kArgument, "the shard's rows are not rows of its table");
  }
  OutputFile out(path);
  out.append(packed_header(spec));
  for (uint64_t id = spec.range.begin; id < spec.range.end; ++id) {
    fill_row(spec.seed, spec.table.layer, id, out.extend(kRowBytes));
    const bool page_full = (id - spec.range.begin + 1) % kPage15Rows == 0;
    if (spec.layout == PackedLayout::kPage15 && (page_full || id + 1 == spec.range.end)) {
      const uint64_t rows = page_full ? kPage15Rows : (id - spec.range.begin + 1) % kPage15Rows;
      const uint64_t tail = kPageBytes - rows * kRowBytes;
      std::memset(out.extend(tail), 0, tail);
    }
  }
  return out.finish();
}

RowRange rank_range(uint64_t rows, uint64_t rank, uint64_t tp) {
  // rows * rank / tp without the wide product.
  const auto cut = [&](uint64_t part) { return rows / tp * part + rows % tp * part / tp; };
  return {cut(rank), cut(rank + 1)};
}

std::string packed_shard_name(uint64_t layer, uint64_t rank, uint64_t tp) {
  return "engram-l" + std::to_string(layer) + "-r" + std::to_string(rank) + "of" +
         std::to_string(tp) + ".bin";
}

}  // namespace row_store::checkpoint
