// What a checkpoint says about its Engram tables, in the words of its config.json.
//
// Only what the row addresses depend on; no tensor sizes, no file names. The parser takes hostile
// text: it is strict about types and ranges, bounded in size, and says which key is wrong. Pure
// functions, safe from any thread.
#ifndef ROW_STORE_FORMAT_ENGRAM_CONFIG_H
#define ROW_STORE_FORMAT_ENGRAM_CONFIG_H

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace row_store {

inline constexpr size_t kEngramConfigBytesMax = size_t{16} << 20;
inline constexpr uint64_t kEngramLayersMax = 64;
inline constexpr uint64_t kEngramNgramMax = 8;
inline constexpr uint64_t kEngramHeadsMax = 64;
inline constexpr uint64_t kEngramColumnsMax = (kEngramNgramMax - 1) * kEngramHeadsMax;
inline constexpr uint64_t kEngramBaseMax = uint64_t{1} << 31;
inline constexpr uint64_t kEngramClassesMax = uint64_t{1} << 24;
inline constexpr uint64_t kEngramLayerIdMax = uint64_t{1} << 20;
inline constexpr uint64_t kEngramSeedMax = uint64_t{1} << 62;

struct EngramConfig {
  std::vector<uint32_t> layer_ids;  // engram_layer_ids, in the order in which primes are dealt
  uint32_t max_ngram = 0;           // engram_max_ngram_size: orders are 2..max_ngram
  uint32_t heads = 0;               // engram_n_heads, of each order
  std::vector<uint32_t> bases;      // engram_vocab_size: one for all orders, or one an order
  uint32_t pad_class = 0;           // engram_pad_id
  uint32_t classes = 0;             // engram_compressed_vocab_size
  uint64_t seed = 0;                // engram_seed, where listed; a layer's is this + 10007 * layer
  std::vector<std::vector<uint64_t>> multipliers;  // engram_multipliers, where listed, by layer
  std::vector<uint64_t> rows;  // engram_num_embeddings, where listed: what the rule must add up to
};

// DeepSeek-V4.1-Flash, for a shard that has no config.json beside it.
EngramConfig published_engram_config();

// Everything in range: what derive_rules asks of a config, whoever made it.
Status check_engram_config(const EngramConfig& config);

// The Engram keys of a config.json, from its top level or from its "text_config". kMissing when the
// text is a config without Engram layers.
Result<EngramConfig> parse_engram_config(std::string_view json);

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_ENGRAM_CONFIG_H
