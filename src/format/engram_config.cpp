#include "format/engram_config.h"

#include <simdjson.h>

#include <set>
#include <string>
#include <utility>

namespace row_store {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

Status schema_error(std::string_view key, const std::string& expected) {
  return Status::error(ErrorCode::kSchema,
                       "config.json: key \"" + std::string(key) + "\": expected " + expected +
                           "; take the config.json of the checkpoint unchanged");
}

std::string range_text(uint64_t low, uint64_t high) {
  return "an integer in " + std::to_string(low) + ".." + std::to_string(high);
}

bool in_range(uint64_t value, uint64_t low, uint64_t high) { return low <= value && value <= high; }

// Reads the keys of one object; the first thing that is wrong is kept and later reads do nothing.
class Reader {
 public:
  explicit Reader(object keys) : keys_(keys) {}

  const Status& status() const { return status_; }

  bool has(std::string_view key) const {
    element found;
    return keys_.at_key(key).get(found) == simdjson::SUCCESS && !found.is_null();
  }

  uint64_t number(std::string_view key, uint64_t low, uint64_t high) {
    element found;
    if (!find(key, found)) return low;
    return number_of(found, key, low, high);
  }

  // A list of 1..count_max integers.
  std::vector<uint64_t> numbers(std::string_view key, uint64_t count_max, uint64_t low,
                                uint64_t high) {
    element found;
    if (!find(key, found)) return {};
    return numbers_of(found, key, count_max, low, high);
  }

  // One integer, or a list of them.
  std::vector<uint64_t> number_or_numbers(std::string_view key, uint64_t count_max, uint64_t low,
                                          uint64_t high) {
    element found;
    if (!find(key, found)) return {};
    if (found.is_array()) return numbers_of(found, key, count_max, low, high);
    return {number_of(found, key, low, high)};
  }

  std::vector<std::vector<uint64_t>> lists(std::string_view key, uint64_t lists_max,
                                           uint64_t count_max) {
    element found;
    array outer;
    if (!find(key, found)) return {};
    if (found.get(outer) != simdjson::SUCCESS) {
      fail(key, "a list of lists of integers");
      return {};
    }
    std::vector<std::vector<uint64_t>> out;
    for (element inner : outer) {
      if (!status_.ok()) break;
      if (out.size() == lists_max) fail(key, "one list for each layer");
      out.push_back(numbers_of(inner, key, count_max, 1, INT64_MAX));
    }
    return out;
  }

 private:
  bool find(std::string_view key, element& found) {
    if (!status_.ok()) return false;
    if (keys_.at_key(key).get(found) == simdjson::SUCCESS) return true;
    fail(key, "to be there");
    return false;
  }

  uint64_t number_of(element value, std::string_view key, uint64_t low, uint64_t high) {
    uint64_t number = low;
    if (value.get(number) != simdjson::SUCCESS || !in_range(number, low, high)) {
      fail(key, range_text(low, high));
      return low;
    }
    return number;
  }

  std::vector<uint64_t> numbers_of(element value, std::string_view key, uint64_t count_max,
                                   uint64_t low, uint64_t high) {
    array list;
    std::vector<uint64_t> out;
    if (value.get(list) == simdjson::SUCCESS) {
      for (element item : list) {
        if (!status_.ok() || out.size() == count_max) {
          out.clear();
          break;
        }
        out.push_back(number_of(item, key, low, high));
      }
    }
    if (out.empty()) fail(key, "a list of 1.." + std::to_string(count_max) + " integers");
    return out;
  }

  void fail(std::string_view key, const std::string& expected) {
    if (status_.ok()) status_ = schema_error(key, expected);
  }

  object keys_;
  Status status_;
};

// simdjson hands out the first of two equal names; another reader may take the last.
Status refuse_repeated_keys(object keys) {
  std::set<std::string_view> seen;
  for (simdjson::dom::key_value_pair field : keys) {
    if (field.key != "text_config" && field.key.substr(0, 7) != "engram_") continue;
    if (!seen.insert(field.key).second) {
      return Status::error(ErrorCode::kDuplicate, "config.json: key \"" + std::string(field.key) +
                                                      "\": expected once, found twice");
    }
  }
  return {};
}

std::vector<uint32_t> narrow(const std::vector<uint64_t>& values) {
  std::vector<uint32_t> out;
  out.reserve(values.size());
  for (uint64_t value : values) out.push_back(static_cast<uint32_t>(value));
  return out;
}

Result<EngramConfig> read_keys(object keys) {
  if (Status status = refuse_repeated_keys(keys); !status.ok()) return status;
  Reader reader(keys);
  EngramConfig config;
  config.layer_ids =
      narrow(reader.numbers("engram_layer_ids", kEngramLayersMax, 0, kEngramLayerIdMax));
  config.max_ngram =
      static_cast<uint32_t>(reader.number("engram_max_ngram_size", 2, kEngramNgramMax));
  config.heads = static_cast<uint32_t>(reader.number("engram_n_heads", 1, kEngramHeadsMax));
  config.bases =
      narrow(reader.number_or_numbers("engram_vocab_size", kEngramNgramMax - 1, 2, kEngramBaseMax));
  config.classes =
      static_cast<uint32_t>(reader.number("engram_compressed_vocab_size", 2, kEngramClassesMax));
  config.pad_class =
      static_cast<uint32_t>(reader.number("engram_pad_id", 0, kEngramClassesMax - 1));
  if (reader.has("engram_seed")) config.seed = reader.number("engram_seed", 0, kEngramSeedMax);
  if (reader.has("engram_multipliers")) {
    config.multipliers = reader.lists("engram_multipliers", kEngramLayersMax, kEngramNgramMax);
  }
  if (reader.has("engram_num_embeddings")) {
    config.rows = reader.number_or_numbers("engram_num_embeddings", kEngramLayersMax, 1, INT64_MAX);
  }
  if (!reader.status().ok()) return reader.status();
  if (Status status = check_engram_config(config); !status.ok()) return status;
  return config;
}

bool has_engram(object keys) {
  element found;
  return keys.at_key("engram_layer_ids").get(found) == simdjson::SUCCESS;
}

}  // namespace

EngramConfig published_engram_config() {
  EngramConfig config;
  config.layer_ids = {1, 14};
  config.max_ngram = 4;
  config.heads = 8;
  config.bases = {16'000'000};
  config.pad_class = 2;
  config.classes = 99'092;
  config.rows = {384'006'168, 384'016'682};
  return config;
}

Status check_engram_config(const EngramConfig& config) {
  const size_t layers = config.layer_ids.size();
  const std::set<uint32_t> distinct(config.layer_ids.begin(), config.layer_ids.end());
  if (!in_range(layers, 1, kEngramLayersMax) || distinct.size() != layers ||
      *distinct.rbegin() > kEngramLayerIdMax) {
    return schema_error("engram_layer_ids", "1..64 different layer numbers");
  }
  if (!in_range(config.max_ngram, 2, kEngramNgramMax)) {
    return schema_error("engram_max_ngram_size", range_text(2, kEngramNgramMax));
  }
  if (!in_range(config.heads, 1, kEngramHeadsMax)) {
    return schema_error("engram_n_heads", range_text(1, kEngramHeadsMax));
  }
  if (config.bases.size() != 1 && config.bases.size() != config.max_ngram - 1) {
    return schema_error("engram_vocab_size", "one integer, or one for each n-gram size");
  }
  for (uint32_t base : config.bases) {
    if (!in_range(base, 2, kEngramBaseMax)) {
      return schema_error("engram_vocab_size", range_text(2, kEngramBaseMax));
    }
  }
  if (!in_range(config.classes, 2, kEngramClassesMax)) {
    return schema_error("engram_compressed_vocab_size", range_text(2, kEngramClassesMax));
  }
  if (config.pad_class >= config.classes) {
    return schema_error("engram_pad_id", "less than engram_compressed_vocab_size");
  }
  if (config.seed > kEngramSeedMax) {
    return schema_error("engram_seed", range_text(0, kEngramSeedMax));
  }
  if (!config.multipliers.empty() && config.multipliers.size() != layers) {
    return schema_error("engram_multipliers", "one list for each layer");
  }
  for (const std::vector<uint64_t>& list : config.multipliers) {
    if (list.size() != config.max_ngram) {
      return schema_error("engram_multipliers", "engram_max_ngram_size numbers a layer");
    }
  }
  if (!config.rows.empty() && config.rows.size() != layers) {
    return schema_error("engram_num_embeddings", "one number for each layer");
  }
  return {};
}

Result<EngramConfig> parse_engram_config(std::string_view json) {
  if (json.size() > kEngramConfigBytesMax) {
    return Status::error(ErrorCode::kJson, "config.json: expected at most " +
                                               std::to_string(kEngramConfigBytesMax) +
                                               " bytes, found " + std::to_string(json.size()));
  }
  simdjson::dom::parser parser;
  object top;
  const simdjson::error_code error = parser.parse(json.data(), json.size()).get(top);
  if (error != simdjson::SUCCESS) {
    const ErrorCode code = error == simdjson::UTF8_ERROR ? ErrorCode::kUtf8
                           : error == simdjson::MEMALLOC ? ErrorCode::kMemory
                                                         : ErrorCode::kJson;
    return Status::error(code, std::string("config.json: expected a JSON object, found: ") +
                                   simdjson::error_message(error));
  }
  // A config may hold its language model's keys under "text_config". A top level that declares the
  // layers itself comes first.
  if (has_engram(top)) return read_keys(top);
  if (Status status = refuse_repeated_keys(top); !status.ok()) return status;
  object text;
  if (top.at_key("text_config").get(text) == simdjson::SUCCESS && has_engram(text)) {
    return read_keys(text);
  }
  return Status::error(ErrorCode::kMissing,
                       "config.json: expected key \"engram_layer_ids\", found none; a checkpoint "
                       "without Engram layers has no rows to prefetch");
}

}  // namespace row_store
