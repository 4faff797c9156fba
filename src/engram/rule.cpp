#include "engram/rule.h"

#include <string>
#include <utility>

#include "base/checked.h"
#include "engram/numpy_draw.h"
#include "engram/primes.h"

namespace row_store {
namespace {

constexpr uint64_t kSeedPerLayer = 10007;

// Bounded so that the largest class times the multiplier stays within 63 bits.
std::vector<uint64_t> draw_multipliers(const EngramConfig& config, uint32_t layer_id) {
  std::vector<uint64_t> values(config.max_ngram);
  const uint64_t high = static_cast<uint64_t>(INT64_MAX) / config.classes / 2;
  numpy_integers(config.seed + kSeedPerLayer * layer_id, high, values);
  for (uint64_t& value : values) value = 2 * value + 1;
  return values;
}

Status check_multipliers(const Rule& rule) {
  for (uint64_t multiplier : rule.multipliers) {
    const auto product = checked_mul(multiplier, rule.classes - 1);
    if (multiplier % 2 == 1 && product && *product <= static_cast<uint64_t>(INT64_MAX)) continue;
    return Status::error(ErrorCode::kOverflow,
                         "config.json: key \"engram_multipliers\": layer " +
                             std::to_string(rule.layer_id) +
                             ": expected odd numbers whose product with the largest class fits 63 "
                             "bits, found " +
                             std::to_string(multiplier));
  }
  return {};
}

Status deal_primes(const EngramConfig& config, PrimeDealer& dealer, Rule& rule) {
  for (uint32_t order = 0; order < rule.orders(); ++order) {
    dealer.restart(config.bases.size() == 1 ? config.bases[0] : config.bases[order]);
    for (uint32_t head = 0; head < rule.heads; ++head) {
      const std::optional<uint32_t> prime = dealer.take();
      if (!prime) {
        return Status::error(ErrorCode::kOverflow,
                             "config.json: key \"engram_vocab_size\": expected a base with enough "
                             "primes below 2^32 above it");
      }
      rule.primes.push_back(*prime);
      rule.offsets.push_back(rule.rows);
      rule.rows += *prime;  // at most 448 columns of 32 bits
    }
  }
  return {};
}

Status check_rows(const Rule& rule, uint64_t listed) {
  if (rule.rows == listed) return {};
  return Status::error(
      ErrorCode::kMismatch,
      "config.json: key \"engram_num_embeddings\": layer " + std::to_string(rule.layer_id) +
          ": expected " + std::to_string(rule.rows) + " rows by the addressing rule, found " +
          std::to_string(listed) + "; this checkpoint addresses its rows in another way");
}

}  // namespace

Result<std::vector<Rule>> derive_rules(const EngramConfig& config) {
  if (Status status = check_engram_config(config); !status.ok()) return status;
  PrimeDealer dealer;
  std::vector<Rule> rules;
  for (size_t i = 0; i < config.layer_ids.size(); ++i) {
    Rule rule;
    rule.layer_id = config.layer_ids[i];
    rule.max_ngram = config.max_ngram;
    rule.heads = config.heads;
    rule.classes = config.classes;
    rule.pad_class = config.pad_class;
    rule.multipliers = config.multipliers.empty() ? draw_multipliers(config, rule.layer_id)
                                                  : config.multipliers[i];
    if (Status status = check_multipliers(rule); !status.ok()) return status;
    if (Status status = deal_primes(config, dealer, rule); !status.ok()) return status;
    if (!config.rows.empty()) {
      if (Status status = check_rows(rule, config.rows[i]); !status.ok()) return status;
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

const Rule* find_rule(std::span<const Rule> rules, uint64_t rows) {
  for (const Rule& rule : rules) {
    if (rule.rows == rows) return &rule;
  }
  return nullptr;
}

RowHasher::RowHasher(const Rule& rule)
    : heads_(rule.heads), multipliers_(rule.multipliers), offsets_(rule.offsets) {
  for (uint32_t prime : rule.primes) moduli_.emplace_back(prime);
}

void RowHasher::row_ids(const uint32_t* lookback, int64_t* ids) const {
  uint64_t hash = lookback[0] * multipliers_[0];
  size_t column = 0;
  for (size_t k = 1; k < multipliers_.size(); ++k) {
    hash ^= lookback[k] * multipliers_[k];
    for (uint32_t head = 0; head < heads_; ++head, ++column) {
      ids[column] = static_cast<int64_t>(offsets_[column] + moduli_[column].reduce(hash));
    }
  }
}

}  // namespace row_store
