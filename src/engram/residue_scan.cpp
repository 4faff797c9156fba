#include "engram/residue_scan.h"

namespace row_store {
namespace {

constexpr uint64_t kPairsMax = uint64_t{1} << 20;

}  // namespace

ResidueScan::ResidueScan(const Rule& rule, const std::vector<ResidueDecoder>& decoders)
    : decoders_(&decoders),
      multipliers_(rule.multipliers),
      heads_(rule.heads),
      classes_(rule.classes) {}

bool ResidueScan::find_newest(const uint32_t* residues, uint32_t* lookback,
                              uint64_t& budget) const {
  if (budget < classes_) return false;
  for (uint32_t newest = 0; newest < classes_; ++newest) {
    uint64_t hash = newest * multipliers_[0];
    bool fit = true;
    for (uint32_t place = 1; fit && place < multipliers_.size(); ++place) {
      hash ^= lookback[place] * multipliers_[place];
      fit = fits(residues, place, hash);
    }
    if (!fit) continue;
    budget -= newest + 1;
    lookback[0] = newest;
    return true;
  }
  budget -= classes_;
  return false;
}

bool ResidueScan::find_all(const uint32_t* residues, uint32_t* lookback, uint64_t& budget) const {
  if (uint64_t{classes_} * classes_ > kPairsMax) return false;
  for (uint32_t newest = 0; newest < classes_; ++newest) {
    lookback[0] = newest;
    if (find_older(residues, 1, newest * multipliers_[0], lookback, budget)) return true;
  }
  return false;
}

bool ResidueScan::find_older(const uint32_t* residues, uint32_t place, uint64_t hash,
                             uint32_t* lookback, uint64_t& budget) const {
  if (place == multipliers_.size()) return true;
  if (budget < classes_) return false;
  budget -= classes_;
  for (uint32_t older = 0; older < classes_; ++older) {
    const uint64_t longer = hash ^ (older * multipliers_[place]);
    if (!fits(residues, place, longer)) continue;
    lookback[place] = older;
    if (find_older(residues, place + 1, longer, lookback, budget)) return true;
  }
  return false;
}

}  // namespace row_store
