// The bytes of synthetic rows: a function of (seed, layer, id), so that any row of any size of
// table can be checked without keeping a copy of it.
//
// Rows look like the model's: no weight is an E4M3 NaN and scales stay near 1, so decoded values
// are finite. Distinct rows differ (64-bit mixing). Some 40 ns a row; pure, any thread.
#ifndef ROW_STORE_CHECKPOINT_ROW_BYTES_H
#define ROW_STORE_CHECKPOINT_ROW_BYTES_H

#include <cstdint>

#include "format/row_layout.h"

namespace row_store::checkpoint {

// out: kRowBytes bytes, the weights and then the scales.
void fill_row(uint64_t seed, uint64_t layer, uint64_t id, uint8_t* out);

// The rows of one table.
struct RowSource {
  uint64_t seed = 0;
  uint64_t layer = 0;

  void fill(uint64_t id, uint8_t* out) const { fill_row(seed, layer, id, out); }

  // Whether a lookup's outputs for one id hold that row.
  bool matches(uint64_t id, const uint8_t* weights, const uint8_t* scales) const;
};

}  // namespace row_store::checkpoint

#endif  // ROW_STORE_CHECKPOINT_ROW_BYTES_H
