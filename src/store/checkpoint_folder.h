// A checkpoint's folder: the index names the file of a layer's table, the file's header gives the
// tensors' place; and which rows and shard are a rank's, as the serving adapter decides it.
//
// Links: the index's names are a stranger's and may not leave the folder; symbolic links in the
// folder were laid by whoever keeps it (model hubs lay every file as a link into a store of blobs)
// and are followed, the folder itself included.
#ifndef ROW_STORE_STORE_CHECKPOINT_FOLDER_H
#define ROW_STORE_STORE_CHECKPOINT_FOLDER_H

#include <cstdint>
#include <string>

#include "base/status.h"
#include "format/row_layout.h"
#include "format/safetensors_header.h"
#include "format/source_identity.h"
#include "format/weight_map.h"
#include "io/plain_file.h"

namespace row_store {

// "FOLDER/NAME".
std::string join_path(const std::string& folder, const std::string& name);

Result<WeightMap> read_weight_map(const std::string& folder);

struct SafetensorsHead {
  std::string bytes;  // what `header` was parsed from: the length and the JSON
  SafetensorsHeader header;
};
// Reads and checks the whole header of an open file; errors begin with the file's path.
Result<SafetensorsHead> read_safetensors_head(const PlainFile& file);

struct LocatedTable {
  std::string path;  // of the safetensors file
  EngramTable table;
  SourceIdentity source;
};
Result<LocatedTable> locate_engram_table(const std::string& folder, uint64_t layer);

inline constexpr uint64_t kRanksMax = uint64_t{1} << 20;

// The rows [rows * rank / tp, rows * (rank + 1) / tp) that the adapter gives to a rank. kArgument
// unless rank < tp <= kRanksMax.
Result<RowRange> rank_rows(uint64_t rows, uint64_t rank, uint64_t tp);

// "engram-l1-r0of4.bin", the file in DSV41_PACKED_DIR that the adapter attaches.
std::string packed_shard_name(uint64_t layer, uint64_t rank, uint64_t tp);

}  // namespace row_store

#endif  // ROW_STORE_STORE_CHECKPOINT_FOLDER_H
