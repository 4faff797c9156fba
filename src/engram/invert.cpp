#include "engram/invert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>
#include <string>

namespace row_store {
namespace {

// How many bits the ids must hold beyond those of the classes, so that what fits the ids is the
// token: one wrong inversion in a thousand tokens at worst.
constexpr double kSpareBits = 10;

double id_bits(const Rule& rule) {
  double bits = 0;
  for (uint32_t prime : rule.primes) bits += std::log2(prime);
  return bits;
}

// All ones, as wide as the widest product of a class and a multiplier; XOR never exceeds it.
uint64_t hash_mask(const Rule& rule) {
  uint64_t mask = 0;
  for (uint64_t multiplier : rule.multipliers) mask |= multiplier * (rule.classes - 1);
  return UINT64_MAX >> std::countl_zero(mask);
}

}  // namespace

Result<std::unique_ptr<Inverter>> Inverter::create(const Rule& source,
                                                   const InverterOptions& options) {
  const double needed = std::log2(source.classes) * source.max_ngram + kSpareBits;
  if (id_bits(source) < needed) {
    return Status::error(
        ErrorCode::kUnsupported,
        "Engram layer " + std::to_string(source.layer_id) +
            ": the row ids of a token hold fewer bits than its classes: expected at least " +
            std::to_string(std::llround(needed)) + ", found " +
            std::to_string(std::llround(id_bits(source))) + "; layers are not prefetched");
  }
  return std::unique_ptr<Inverter>(new Inverter(source, options));
}

Inverter::Inverter(const Rule& source, const InverterOptions& options)
    : max_ngram_(source.max_ngram),
      heads_(source.heads),
      columns_(source.columns()),
      classes_(source.classes),
      pad_class_(source.pad_class),
      trials_max_(options.trials_max),
      primes_(source.primes),
      offsets_(source.offsets),
      pair_search_(source.multipliers[0], source.multipliers[1], source.classes),
      scan_(source, decoders_),
      places_(columns_),
      new_places_(columns_),
      memory_(std::clamp(options.memory_set_bits, 1U, 24U)) {
  for (uint64_t multiplier : source.multipliers) inverses_.push_back(inverse_mod_word(multiplier));
  const std::span<const uint32_t> primes(primes_);
  for (uint32_t order = 0; order < source.orders(); ++order) {
    decoders_.emplace_back(primes.subspan(size_t{order} * heads_, heads_), hash_mask(source));
    hashes_come_out_ = hashes_come_out_ && decoders_.back().decodes();
  }
  std::iota(places_.begin(), places_.end(), 0U);
}

InvertCounts Inverter::invert(const int64_t* ids, size_t tokens, uint32_t* classes,
                              TokenState* states) {
  return run(ids, tokens, states, [&](size_t token, const Lookback* lookback) {
    uint32_t* out = classes + token * max_ngram_;
    if (lookback != nullptr) {
      std::copy_n(lookback->begin(), max_ngram_, out);
    } else {
      std::fill_n(out, max_ngram_, pad_class_);
    }
  });
}

InvertCounts Inverter::translate(const int64_t* ids, size_t tokens, const RowHasher& target,
                                 int64_t* out, TokenState* states) {
  return run(ids, tokens, states, [&](size_t token, const Lookback* lookback) {
    int64_t* token_out = out + token * target.columns();
    if (lookback != nullptr) {
      target.row_ids(lookback->data(), token_out);
    } else {
      std::fill_n(token_out, target.columns(), 0);
    }
  });
}

// Reads one token ahead, since the next token often tells what this one cannot.
template <typename Sink>
InvertCounts Inverter::run(const int64_t* ids, size_t tokens, TokenState* states,
                           const Sink& sink) {
  InvertCounts counts;
  Reading readings[2];
  Lookback before;
  bool before_is_known = false;
  trials_left_ = trials_max_;
  if (tokens != 0) read(ids, readings[0]);
  for (size_t token = 0; token < tokens; ++token) {
    Reading& reading = readings[token % 2];
    Reading& next = readings[(token + 1) % 2];
    const bool has_next = token + 1 < tokens;
    if (has_next) read(ids + (token + 1) * columns_, next);
    if (reading.state == TokenState::kKnown &&
        !solve(reading, has_next ? &next : nullptr, before_is_known ? &before : nullptr, counts)) {
      reading.state = TokenState::kUnknown;
    }
    states[token] = reading.state;
    before_is_known = reading.state == TokenState::kKnown;
    if (before_is_known) before = reading.lookback;
    sink(token, before_is_known ? &reading.lookback : nullptr);
    counts.known += reading.state == TokenState::kKnown;
    counts.idle += reading.state == TokenState::kIdle;
    counts.unknown += reading.state == TokenState::kUnknown;
  }
  return counts;
}

void Inverter::read(const int64_t* ids, Reading& reading) {
  reading.state = TokenState::kUnknown;
  if (!read_residues(ids, reading)) {
    if (std::all_of(ids, ids + columns_, [](int64_t id) { return id == 0; })) {
      reading.state = TokenState::kIdle;
      return;
    }
    if (!learn_column_order(ids) || !read_residues(ids, reading)) return;
  }
  if (!hashes_come_out_ || read_hashes(reading)) reading.state = TokenState::kKnown;
}

bool Inverter::read_residues(const int64_t* ids, Reading& reading) const {
  bool in_range = true;
  for (uint32_t column = 0; column < columns_; ++column) {
    const uint64_t residue = static_cast<uint64_t>(ids[places_[column]]) - offsets_[column];
    in_range &= residue < primes_[column];
    reading.residues[column] = static_cast<uint32_t>(residue);
  }
  return in_range;
}

bool Inverter::read_hashes(Reading& reading) const {
  uint64_t shorter = 0;
  for (uint32_t place = 1; place < max_ngram_; ++place) {
    uint64_t hash;
    if (!decoders_[place - 1].decode(&reading.residues[(place - 1) * heads_], hash)) return false;
    if (place == 1) {
      reading.pair_hash = hash;
    } else {
      const uint64_t older = (hash ^ shorter) * inverses_[place];
      if (older >= classes_) return false;
      reading.lookback[place] = static_cast<uint32_t>(older);
    }
    shorter = hash;
  }
  return true;
}

// The columns' row ranges do not overlap, so ids tell which column each of them belongs to.
bool Inverter::learn_column_order(const int64_t* ids) {
  constexpr uint32_t kNoPlace = UINT32_MAX;
  std::fill(new_places_.begin(), new_places_.end(), kNoPlace);
  for (uint32_t place = 0; place < columns_; ++place) {
    if (ids[place] < 0) return false;
    const auto id = static_cast<uint64_t>(ids[place]);
    const auto above = std::upper_bound(offsets_.begin(), offsets_.end(), id);
    uint32_t& column_place = new_places_[static_cast<size_t>(above - offsets_.begin()) - 1];
    if (column_place != kNoPlace) return false;
    column_place = place;
  }
  places_.swap(new_places_);
  return true;
}

bool Inverter::solve(Reading& reading, const Reading* next, const Lookback* before,
                     InvertCounts& counts) {
  if (!hashes_come_out_) return solve_by_scan(reading, before, counts);
  if (!solve_by_hash(reading, next, before, counts)) return false;
  // What follows this token will see, from its place 2 on, this token's classes from place 1 on.
  if (max_ngram_ > 2) {
    memory_.learn(std::span(reading.lookback).subspan(1, max_ngram_ - 2), reading.lookback[0]);
  }
  return true;
}

bool Inverter::accept(Reading& reading, uint32_t before) const {
  const std::optional<uint32_t> newest = pair_search_.newest(reading.pair_hash, before);
  if (!newest) return false;
  reading.lookback[0] = *newest;
  reading.lookback[1] = before;
  return true;
}

bool Inverter::solve_by_hash(Reading& reading, const Reading* next, const Lookback* before,
                             InvertCounts& counts) {
  if (before != nullptr && accept(reading, (*before)[0])) return true;
  if (max_ngram_ > 2 && next != nullptr && next->state == TokenState::kKnown &&
      accept(reading, next->lookback[2])) {
    return true;
  }
  if (accept(reading, pad_class_)) return true;
  if (max_ngram_ > 2) {
    const auto context = std::span(reading.lookback).subspan(2, max_ngram_ - 2);
    for (uint32_t guess : memory_.recall(context)) {
      if (accept(reading, guess)) return true;
    }
  }
  if (trials_left_ < classes_) return false;
  trials_left_ -= classes_;
  ++counts.searches;
  const std::optional<uint32_t> found = pair_search_.before(reading.pair_hash);
  if (!found || !accept(reading, *found)) return false;
  // Asked for again, the same token needs no second search.
  if (max_ngram_ > 2) {
    memory_.learn(std::span(reading.lookback).subspan(2, max_ngram_ - 2), *found);
  }
  return true;
}

bool Inverter::solve_by_scan(Reading& reading, const Lookback* before, InvertCounts& counts) {
  ++counts.searches;
  if (before != nullptr) {
    std::copy_n(before->begin(), max_ngram_ - 1, reading.lookback.begin() + 1);
    if (scan_.find_newest(reading.residues.data(), reading.lookback.data(), trials_left_)) {
      return true;
    }
  }
  std::fill_n(reading.lookback.begin() + 1, max_ngram_ - 1, pad_class_);
  return scan_.find_newest(reading.residues.data(), reading.lookback.data(), trials_left_) ||
         scan_.find_all(reading.residues.data(), reading.lookback.data(), trials_left_);
}

}  // namespace row_store
