// Tokens of made-up requests, hashed for every layer of a checkpoint.
#ifndef ROW_STORE_ENGRAM_TOKEN_BATCH_H
#define ROW_STORE_ENGRAM_TOKEN_BATCH_H

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "engram/rule.h"

namespace row_store::test {

struct TokenBatch {
  explicit TokenBatch(const std::vector<Rule>& layers) : rules(&layers), ids(layers.size()) {
    for (const Rule& rule : layers) hashers.emplace_back(rule);
  }

  size_t tokens() const { return ids[0].size() / hashers[0].columns(); }

  void clear() {
    for (std::vector<int64_t>& layer : ids) layer.clear();
    classes.clear();
  }

  void append(const std::vector<uint32_t>& lookback) {
    for (size_t layer = 0; layer < ids.size(); ++layer) {
      ids[layer].resize(ids[layer].size() + hashers[layer].columns());
      hashers[layer].row_ids(lookback.data(), &*ids[layer].end() - hashers[layer].columns());
    }
    classes.insert(classes.end(), lookback.begin(), lookback.end());
  }

  // Places first.. of a request; what stands before place 0 is the pad.
  void append_run(const std::vector<uint32_t>& text, size_t first, size_t count) {
    const Rule& rule = rules->front();
    for (size_t place = first; place < first + count; ++place) {
      std::vector<uint32_t> lookback(rule.max_ngram, rule.pad_class);
      for (size_t k = 0; k < rule.max_ngram && k <= place; ++k) lookback[k] = text[place - k];
      append(lookback);
    }
  }

  // A place without a token: row 0 in every column.
  void append_idle() {
    for (size_t layer = 0; layer < ids.size(); ++layer) {
      ids[layer].resize(ids[layer].size() + hashers[layer].columns(), 0);
    }
    classes.resize(classes.size() + rules->front().max_ngram, rules->front().pad_class);
  }

  const std::vector<Rule>* rules;
  std::vector<RowHasher> hashers;
  std::vector<std::vector<int64_t>> ids;  // by layer
  std::vector<uint32_t> classes;          // lookbacks, token by token
};

inline std::vector<uint32_t> random_text(std::mt19937_64& random, uint32_t classes, size_t count) {
  std::vector<uint32_t> text(count);
  for (uint32_t& item : text) item = static_cast<uint32_t>(random() % classes);
  return text;
}

}  // namespace row_store::test

#endif  // ROW_STORE_ENGRAM_TOKEN_BATCH_H
