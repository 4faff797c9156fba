// Writes a checkpoint with Engram tables as the model's publisher lays it out, and packed shards of
// it.
//
// A checkpoint folder holds config.json, model.safetensors.index.json and safetensors shards; each
// table lies in one shard, weights before scales, between other tensors. Header lengths are odd, so
// rows start at odd offsets and straddle pages in every way. Row bytes are those of row_bytes.h.
// The formats are written here by hand and not by the library's encoders: a mistake that writer and
// reader shared would pass every test.
#ifndef ROW_STORE_CHECKPOINT_TABLE_BUILDER_H
#define ROW_STORE_CHECKPOINT_TABLE_BUILDER_H

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "format/packed_shard.h"
#include "format/row_layout.h"

namespace row_store::checkpoint {

struct TableSpec {
  uint64_t layer = 0;
  uint64_t rows = 0;
};

struct CheckpointSpec {
  std::vector<TableSpec> tables;
  uint64_t seed = 1;
  uint64_t vocab_base = 0;  // config.json's engram_vocab_size: where the primes start

  uint64_t bytes() const;  // disk space of the tables
};

// Both Engram layers with the tables that the addressing rule gives for a base (16000: 385,000 rows
// each; 160000: 3.84 million).
Result<CheckpointSpec> checkpoint_of_base(uint64_t base, uint64_t seed);

// Writes the folder's files; the folder must exist. Files are synced and dropped from the page
// cache.
Status write_checkpoint(const CheckpointSpec& spec, const std::string& dir);

struct PackedSpec {
  PackedLayout layout = PackedLayout::kDense;
  TableSpec table;
  RowRange range;
  uint64_t seed = 1;
};

Status write_packed_shard(const PackedSpec& spec, const std::string& path);

// The rows of one rank out of tp, as the adapter splits them: rows * rank / tp and so on.
RowRange rank_range(uint64_t rows, uint64_t rank, uint64_t tp);

// engram-l<layer>-r<rank>of<tp>.bin, the name that the adapter looks for.
std::string packed_shard_name(uint64_t layer, uint64_t rank, uint64_t tp);

}  // namespace row_store::checkpoint

#endif  // ROW_STORE_CHECKPOINT_TABLE_BUILDER_H
