#include "checkpoint/locate.h"

#include <simdjson.h>

#include <cstring>
#include <fstream>
#include <vector>

#include "base/checked.h"
#include "format/row_layout.h"

namespace row_store::checkpoint {
namespace {

using simdjson::dom::element;

constexpr uint64_t kHeaderBytesMax = 100'000'000;  // the format's own cap

struct TensorPlace {
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t begin = 0;  // in the data section
  std::string_view dtype;
};

Status json_error(const std::string& path, simdjson::error_code error, const std::string& key) {
  return Status::error(ErrorCode::kSchema,
                       path + ": " + key + ": " + simdjson::error_message(error));
}

Result<std::vector<char>> read_header(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  uint64_t bytes = 0;
  file.read(reinterpret_cast<char*>(&bytes), sizeof bytes);
  if (!file) return Status::error(ErrorCode::kShort, "cannot read the first 8 bytes of " + path);
  if (bytes > kHeaderBytesMax) {
    return Status::error(ErrorCode::kHeaderLength,
                         path + ": header of " + std::to_string(bytes) + " bytes");
  }
  std::vector<char> header(bytes);
  file.read(header.data(), static_cast<std::streamsize>(bytes));
  if (!file) return Status::error(ErrorCode::kShort, path + " ends inside its header");
  return header;
}

simdjson::error_code read_tensor(element root, const std::string& name, TensorPlace& out) {
  element tensor;
  if (auto error = root[name].get(tensor)) return error;
  if (auto error = tensor["dtype"].get(out.dtype)) return error;
  if (auto error = tensor["shape"].at(0).get(out.rows)) return error;
  if (auto error = tensor["shape"].at(1).get(out.columns)) return error;
  return tensor["data_offsets"].at(0).get(out.begin);
}

Result<TableLocation> locate_in_shard(const std::string& path, const std::string& prefix) {
  const Result<std::vector<char>> header = read_header(path);
  if (!header.ok()) return header.status();
  simdjson::dom::parser parser;
  element root;
  if (auto error = parser.parse(header.value().data(), header.value().size()).get(root)) {
    return json_error(path, error, "header");
  }
  TensorPlace weight, scale;
  if (auto error = read_tensor(root, prefix + "weight", weight)) {
    return json_error(path, error, prefix + "weight");
  }
  if (auto error = read_tensor(root, prefix + "scale", scale)) {
    return json_error(path, error, prefix + "scale");
  }
  const bool weight_fits = weight.dtype == "F8_E4M3" && weight.columns == kWeightBytes;
  const bool scale_fits = scale.dtype == "F8_E8M0" && scale.columns == kScaleBytes;
  if (!weight_fits || !scale_fits || weight.rows != scale.rows) {
    return Status::error(
        ErrorCode::kShape,
        path + ": " + prefix + "* are not [rows,256] F8_E4M3 and [rows,8] F8_E8M0");
  }
  const uint64_t data = sizeof(uint64_t) + header.value().size();
  const auto weight_offset = checked_add(data, weight.begin);
  const auto scale_offset = checked_add(data, scale.begin);
  if (!weight_offset || !scale_offset) {
    return Status::error(ErrorCode::kOverflow, path + ": data offsets wrap");
  }
  return TableLocation{path, weight.rows, *weight_offset, *scale_offset};
}

}  // namespace

Result<TableLocation> locate_table(const std::string& model_dir, uint64_t layer) {
  const std::string index_path = model_dir + "/model.safetensors.index.json";
  const std::string prefix = "layers." + std::to_string(layer) + ".engram.embed.";
  simdjson::dom::parser parser;
  element root;
  if (auto error = parser.load(index_path).get(root)) return json_error(index_path, error, "file");
  std::string_view weight_file, scale_file;
  if (auto error = root["weight_map"][prefix + "weight"].get(weight_file)) {
    return json_error(index_path, error, prefix + "weight");
  }
  if (auto error = root["weight_map"][prefix + "scale"].get(scale_file)) {
    return json_error(index_path, error, prefix + "scale");
  }
  if (weight_file != scale_file) {
    return Status::error(ErrorCode::kLayout,
                         index_path + ": weight and scale of one table lie in different files");
  }
  return locate_in_shard(model_dir + "/" + std::string(weight_file), prefix);
}

Result<ModelConfig> read_model_config(const std::string& model_dir) {
  const std::string path = model_dir + "/config.json";
  simdjson::dom::parser parser;
  element root;
  if (auto error = parser.load(path).get(root)) return json_error(path, error, "file");
  element text = root;
  if (root["text_config"].get(text)) text = root;
  ModelConfig config;
  if (auto error = text["engram_vocab_size"].get(config.vocab_base)) {
    return json_error(path, error, "engram_vocab_size");
  }
  if (root["synthetic_seed"].get(config.synthetic_seed)) config.synthetic_seed = 0;
  return config;
}

}  // namespace row_store::checkpoint
