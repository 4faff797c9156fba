#include "trace/addressing.h"

#include <algorithm>
#include <string>

#include "base/checked.h"

namespace row_store::trace {
namespace {

// numpy.random.default_rng(10007 * layer).integers(0, (2^63 - 1) / 99092 / 2) * 2 + 1, four times.
constexpr std::array<std::array<uint64_t, kLookback>, 2> kMultipliers = {{
    {76632096046245, 4839876093313, 35959672319349, 73987337458391},
    {67716810739261, 51510806800915, 30921347202721, 82619226485591},
}};

bool is_prime(uint64_t n) {
  if (n < 4) return n > 1;
  if (n % 2 == 0) return false;
  for (uint64_t divisor = 3; divisor * divisor <= n; divisor += 2) {
    if (n % divisor == 0) return false;
  }
  return true;
}

}  // namespace

std::array<uint64_t, kOrders> Addressing::roll(std::span<const uint32_t, kLookback> back) const {
  std::array<uint64_t, kOrders> rolling;
  uint64_t hash = back[0] * multipliers[0];
  for (int k = 1; k < kLookback; ++k) {
    hash ^= back[k] * multipliers[k];
    rolling[k - 1] = hash;
  }
  return rolling;
}

Status set_primes(Addressing& rule, std::span<const uint64_t, kColumns> primes) {
  uint64_t rows = 0;
  std::array<uint64_t, kColumns> offsets;
  for (int column = 0; column < kColumns; ++column) {
    const std::string place = "column " + std::to_string(column);
    if (primes[column] == 0) return Status::error(ErrorCode::kArgument, place + " has no rows");
    offsets[column] = rows;
    const auto sum = checked_add(rows, primes[column]);
    if (!sum || *sum > INT64_MAX) {
      return Status::error(ErrorCode::kOverflow, place + " takes the row ids past 2^63 - 1");
    }
    rows = *sum;
  }
  std::copy(primes.begin(), primes.end(), rule.primes.begin());
  rule.offsets = offsets;
  rule.rows = rows;
  return {};
}

Result<Addressing> make_addressing(uint32_t layer, uint64_t base) {
  const auto found = std::find(kLayers.begin(), kLayers.end(), layer);
  if (found == kLayers.end()) {
    return Status::error(ErrorCode::kArgument, "layer " + std::to_string(layer) +
                                                   " has no Engram table; layers 1 and 14 have");
  }
  if (base < 2 || base > kBaseMax) {
    return Status::error(ErrorCode::kArgument, "base " + std::to_string(base) +
                                                   " is outside 2 .. " + std::to_string(kBaseMax));
  }
  // One rising run of primes serves all layers in turn; none is used twice.
  const auto layer_index = static_cast<size_t>(found - kLayers.begin());
  std::array<uint64_t, kColumns> primes;
  uint64_t candidate = base - 1;
  for (size_t table = 0; table <= layer_index; ++table) {
    for (uint64_t& prime : primes) {
      do {
        ++candidate;
      } while (!is_prime(candidate));
      prime = candidate;
    }
  }
  Addressing rule;
  rule.layer = layer;
  rule.multipliers = kMultipliers[layer_index];
  if (Status status = set_primes(rule, primes); !status.ok()) return status;
  return rule;
}

}  // namespace row_store::trace
