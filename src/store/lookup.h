// One batch: check every id, find what is cached, read the rest, copy rows out.
//
// Runs on the caller's thread with a Context of its own; helper threads join for thousands of rows.
// Allocates nothing. Returns only when every byte of the outputs is written and no read is in
// flight; a row that cannot be had stops the process.
#ifndef ROW_STORE_STORE_LOOKUP_H
#define ROW_STORE_STORE_LOOKUP_H

#include <cstdint>

#include "cache/row_cache.h"
#include "format/packed_shard.h"
#include "format/row_layout.h"
#include "io/context.h"
#include "io/table_file.h"
#include "store/counters.h"
#include "store/packed_sums.h"
#include "store/resident_rows.h"
#include "store/resident_scales.h"

namespace row_store {

class Staging;

// Where a store's rows may come from; what a pointer is null for is not there. Valid for one batch.
struct RowSources {
  uint64_t table_rows = 0;
  RowRange range;
  bool zero_negative_ids = false;
  RowCache* cache = nullptr;
  Staging* staging = nullptr;  // rows that prefetch brings
  const ResidentRows* resident_rows = nullptr;
  const ResidentScales* resident_scales = nullptr;
  TableFile* packed = nullptr;
  PackedHeader packed_header;
  const PackedSums* packed_sums = nullptr;
  TableFile* checkpoint = nullptr;
  uint64_t weight_offset = 0;
  uint64_t scale_offset = 0;
};

struct Batch {
  const int64_t* ids = nullptr;
  uint8_t* weights = nullptr;
  uint8_t* scales = nullptr;
  uint64_t count = 0;
};

// Scratch that a Context must have for look_up.
uint64_t lookup_scratch_bytes();

// Stops the process for an id outside the table; writes nothing.
void check_ids(const RowSources& sources, const Batch& batch);

BatchCounts look_up(const RowSources& sources, const Batch& batch, Context& context);

}  // namespace row_store

#endif  // ROW_STORE_STORE_LOOKUP_H
