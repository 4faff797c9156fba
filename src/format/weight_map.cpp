#include "format/weight_map.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "format/memory_guard.h"
#include "format/strict_json.h"
#include "format/text.h"

namespace row_store {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kNestingMax = 16;  // metadata may hold more than the two levels that we read
constexpr std::string_view kStemBegin = "layers.";
constexpr std::string_view kStemEnd = ".engram.embed.";

Status index_error(ErrorCode code, const std::string& text) {
  return Status::error(code, std::string(kWeightMapFile) + ": " + text);
}

Result<WeightMap> read_entries(dom::object entries) {
  WeightMap map;
  for (const dom::key_value_pair entry : entries) {
    std::string_view file;
    if (entry.value.get(file) != simdjson::SUCCESS) {
      return index_error(ErrorCode::kSchema, "weight_map: tensor " + quote(entry.key) +
                                                 ": expected a file's name, found no string");
    }
    if (!stays_in_folder(file)) {
      return index_error(ErrorCode::kSchema,
                         "weight_map: tensor " + quote(entry.key) + " is said to be in " +
                             quote(file) +
                             ", expected a name inside the checkpoint's folder (relative, without "
                             "'..'); do not use this index, fetch it from the publisher again");
    }
    if (!map.file_of.emplace(entry.key, file).second) {
      return index_error(ErrorCode::kDuplicate,
                         "weight_map: tensor " + quote(entry.key) + " stands twice");
    }
  }
  return map;
}

Result<WeightMap> parse(std::string_view json) {
  dom::document document;
  const Status status = parse_strict_json(json, kWeightMapFile, kNestingMax, document);
  if (!status.ok()) return status;
  dom::object root;
  if (document.root().get(root) != simdjson::SUCCESS)
    return index_error(ErrorCode::kSchema, "expected an object with weight_map");
  bool found = false;
  dom::object entries;
  for (const dom::key_value_pair member : root) {
    if (member.key != "weight_map") continue;
    if (found) return index_error(ErrorCode::kDuplicate, "weight_map stands twice");
    found = true;
    if (member.value.get(entries) != simdjson::SUCCESS)
      return index_error(ErrorCode::kSchema, "weight_map: expected an object");
  }
  if (!found) return index_error(ErrorCode::kSchema, "weight_map is missing");
  return read_entries(entries);
}

}  // namespace

bool stays_in_folder(std::string_view name) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; };
  if (std::any_of(name.begin(), name.end(), is_control)) return false;
  for (;;) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    // An empty part is a leading, a doubled or a last slash, or no name at all.
    if (part.empty() || part == "..") return false;
    if (slash == std::string_view::npos) return part != ".";
    name.remove_prefix(slash + 1);
  }
}

Result<std::string> WeightMap::engram_file(uint64_t layer) const {
  const std::string stem = std::string(kStemBegin) + std::to_string(layer) + std::string(kStemEnd);
  const auto weight = file_of.find(stem + "weight");
  const auto scale = file_of.find(stem + "scale");
  if (weight == file_of.end() || scale == file_of.end()) {
    std::string layers;
    for (const uint64_t known : engram_layers())
      layers += (layers.empty() ? "" : ", ") + std::to_string(known);
    const bool weight_missing = weight == file_of.end();
    return index_error(ErrorCode::kMissing,
                       "no tensor " + quote(stem + (weight_missing ? "weight" : "scale")) +
                           " among " + std::to_string(file_of.size()) + "; layers with a table: " +
                           (layers.empty() ? "none, this is another model" : layers));
  }
  if (weight->second != scale->second) {
    return index_error(ErrorCode::kSchema, "layer " + std::to_string(layer) + ": weight is in " +
                                               quote(weight->second) + " and scale in " +
                                               quote(scale->second) + ", expected one file");
  }
  return weight->second;
}

std::vector<uint64_t> WeightMap::engram_layers() const {
  std::vector<uint64_t> layers;
  for (const auto& [tensor, file] : file_of) {
    const std::string_view name = tensor;
    if (!name.starts_with(kStemBegin) || !name.ends_with("weight")) continue;
    const char* end = name.data() + name.size();
    uint64_t layer = 0;
    const auto [stop, error] = std::from_chars(name.data() + kStemBegin.size(), end, layer);
    if (error != std::errc()) continue;
    const std::string_view rest(stop, static_cast<size_t>(end - stop));
    // "layers.01." is another name than the one that is looked for.
    if (rest == std::string(kStemEnd) + "weight" &&
        name == std::string(kStemBegin) + std::to_string(layer) + std::string(rest))
      layers.push_back(layer);
  }
  std::sort(layers.begin(), layers.end());
  return layers;
}

Result<WeightMap> parse_weight_map(std::string_view json) {
  return guard_memory([&] { return parse(json); });
}

}  // namespace row_store
