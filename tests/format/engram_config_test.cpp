#include "format/engram_config.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"

namespace row_store {
namespace {

using Keys = std::map<std::string, std::string>;

Keys published_keys() {
  return {{"engram_layer_ids", "[1, 14]"}, {"engram_num_embeddings", "[384006168, 384016682]"},
          {"engram_max_ngram_size", "4"},  {"engram_n_heads", "8"},
          {"engram_head_dim", "256"},      {"engram_vocab_size", "16000000"},
          {"engram_pad_id", "2"},          {"engram_compressed_vocab_size", "99092"}};
}

std::string json_of(const Keys& keys) {
  std::string text = "{\"model_type\": \"any\"";
  for (const auto& [key, value] : keys) text += ", \"" + key + "\": " + value;
  return text + "}";
}

ErrorCode error_of(const std::string& json) { return parse_engram_config(json).status().code(); }

ErrorCode error_with(const std::string& key, const std::string& value) {
  Keys keys = published_keys();
  keys[key] = value;
  return error_of(json_of(keys));
}

void check_published(const Result<EngramConfig>& config) {
  REQUIRE(config.ok());
  const EngramConfig expected = published_engram_config();
  CHECK(config.value().layer_ids == expected.layer_ids);
  CHECK(config.value().max_ngram == expected.max_ngram);
  CHECK(config.value().heads == expected.heads);
  CHECK(config.value().bases == expected.bases);
  CHECK(config.value().pad_class == expected.pad_class);
  CHECK(config.value().classes == expected.classes);
  CHECK(config.value().seed == expected.seed);
  CHECK(config.value().multipliers == expected.multipliers);
  CHECK(config.value().rows == expected.rows);
}

TEST_CASE("a config with the published keys is the published config") {
  check_published(parse_engram_config(json_of(published_keys())));
}

TEST_CASE("keys under text_config count, but not before the top level's own") {
  const std::string text = json_of(published_keys());
  check_published(parse_engram_config("{\"vision\": {}, \"text_config\": " + text + "}"));
  Keys keys = published_keys();
  keys["text_config"] = "{\"engram_layer_ids\": [5]}";
  check_published(parse_engram_config(json_of(keys)));
}

TEST_CASE("sizes may be left out; one base an order, a seed and multipliers may be listed") {
  Keys keys = published_keys();
  keys.erase("engram_num_embeddings");
  keys["engram_vocab_size"] = "[1000, 2000, 3000]";
  keys["engram_seed"] = "7";
  keys["engram_multipliers"] = "[[1, 3, 5, 7], [9, 11, 13, 15]]";
  const Result<EngramConfig> config = parse_engram_config(json_of(keys));
  REQUIRE(config.ok());
  CHECK(config.value().rows.empty());
  CHECK(config.value().bases == std::vector<uint32_t>{1000, 2000, 3000});
  CHECK(config.value().seed == 7);
  CHECK(config.value().multipliers[1] == std::vector<uint64_t>{9, 11, 13, 15});
}

TEST_CASE("a key of the wrong type or out of range is refused by name") {
  const std::pair<const char*, const char*> wrong[] = {
      {"engram_layer_ids", "[]"},
      {"engram_layer_ids", "1"},
      {"engram_layer_ids", "[1, 1]"},
      {"engram_layer_ids", "[-1, 14]"},
      {"engram_layer_ids", "[1, 14.0]"},
      {"engram_layer_ids", "[1, [14]]"},
      {"engram_layer_ids", "[1, 18446744073709551615]"},
      {"engram_max_ngram_size", "1"},
      {"engram_max_ngram_size", "9"},
      {"engram_max_ngram_size", "\"4\""},
      {"engram_n_heads", "0"},
      {"engram_n_heads", "65"},
      {"engram_n_heads", "true"},
      {"engram_vocab_size", "1"},
      {"engram_vocab_size", "2147483649"},
      {"engram_vocab_size", "[1000, 2000]"},
      {"engram_vocab_size", "{}"},
      {"engram_pad_id", "99092"},
      {"engram_pad_id", "-1"},
      {"engram_compressed_vocab_size", "1"},
      {"engram_compressed_vocab_size", "16777217"},
      {"engram_compressed_vocab_size", "null"},
      {"engram_num_embeddings", "[384006168]"},
      {"engram_num_embeddings", "[0, 1]"},
      {"engram_multipliers", "[[1, 3, 5, 7]]"},
      {"engram_multipliers", "[[1, 3, 5], [1, 3, 5]]"},
      {"engram_multipliers", "7"},
      {"engram_multipliers", "[7, 8]"},
      {"engram_seed", "9223372036854775807"},
  };
  for (const auto& [key, value] : wrong) {
    INFO(key << " = " << value);
    CHECK(error_with(key, value) == ErrorCode::kSchema);
    Keys keys = published_keys();
    keys[key] = value;
    CHECK(parse_engram_config(json_of(keys)).status().text().find(key) != std::string::npos);
  }
}

TEST_CASE("each required key is missed") {
  for (const char* key : {"engram_max_ngram_size", "engram_n_heads", "engram_vocab_size",
                          "engram_pad_id", "engram_compressed_vocab_size"}) {
    Keys keys = published_keys();
    keys.erase(key);
    INFO(key);
    CHECK(error_of(json_of(keys)) == ErrorCode::kSchema);
  }
}

TEST_CASE("a config without Engram layers is told from a broken one") {
  CHECK(error_of("{}") == ErrorCode::kMissing);
  CHECK(error_of("{\"text_config\": {\"engram_n_heads\": 8}}") == ErrorCode::kMissing);
  CHECK(error_of("{\"text_config\": 1}") == ErrorCode::kMissing);
}

TEST_CASE("text that is not one JSON object is refused") {
  const std::string whole = json_of(published_keys());
  for (const char* text : {"", "[]", "1", "null", "{", "{} {}", "{\"a\": 01}", "{'a': 1}"}) {
    INFO(text);
    CHECK(error_of(text) == ErrorCode::kJson);
  }
  CHECK(error_of(std::string(5000, '[')) == ErrorCode::kJson);
  CHECK(error_of("{\"a\": \"\xff\"}") == ErrorCode::kUtf8);
  CHECK(error_of(std::string(kEngramConfigBytesMax + 1, ' ')) == ErrorCode::kJson);
  for (size_t size = 0; size < whole.size(); ++size) {
    CHECK(!parse_engram_config(whole.substr(0, size)).ok());
  }
}

TEST_CASE("a key that stands twice is refused") {
  CHECK(error_of("{\"engram_layer_ids\": [1], \"engram_layer_ids\": [2]}") ==
        ErrorCode::kDuplicate);
  CHECK(error_of("{\"text_config\": {}, \"text_config\": {}}") == ErrorCode::kDuplicate);
}

}  // namespace
}  // namespace row_store
