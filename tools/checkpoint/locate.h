// Finds the Engram tables of a checkpoint folder, the way the adapter does: the index names the
// shard, the shard's header gives the tensors' place. Reads config.json for the addressing rule's
// constants.
//
// Not the library's parser: checks only what it uses. Any thread.
#ifndef ROW_STORE_CHECKPOINT_LOCATE_H
#define ROW_STORE_CHECKPOINT_LOCATE_H

#include <cstdint>
#include <string>

#include "base/status.h"

namespace row_store::checkpoint {

// What row_store_open takes.
struct TableLocation {
  std::string path;
  uint64_t rows = 0;
  uint64_t weight_offset = 0;
  uint64_t scale_offset = 0;
};

Result<TableLocation> locate_table(const std::string& model_dir, uint64_t layer);

struct ModelConfig {
  uint64_t vocab_base = 0;      // engram_vocab_size
  uint64_t synthetic_seed = 0;  // 0 for a checkpoint that table_builder.h did not make
};

// Looks in text_config first, where multimodal checkpoints keep the keys.
Result<ModelConfig> read_model_config(const std::string& model_dir);

}  // namespace row_store::checkpoint

#endif  // ROW_STORE_CHECKPOINT_LOCATE_H
