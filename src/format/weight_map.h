// model.safetensors.index.json: which file of a checkpoint holds which tensor.
//
// A pure function over bytes. The index is a stranger's data: file names are checked to stay inside
// the checkpoint's folder before anything is opened by them.
#ifndef ROW_STORE_FORMAT_WEIGHT_MAP_H
#define ROW_STORE_FORMAT_WEIGHT_MAP_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace row_store {

inline constexpr char kWeightMapFile[] = "model.safetensors.index.json";
inline constexpr uint64_t kWeightMapBytesMax = 64'000'000;  // ours have a few MB

struct WeightMap {
  std::map<std::string, std::string, std::less<>> file_of;  // by tensor

  // The file of both tensors of layers.N.engram.embed; kMissing, or kSchema when they lie in two.
  Result<std::string> engram_file(uint64_t layer) const;
  // Those that have an Engram table, ascending.
  std::vector<uint64_t> engram_layers() const;
};

// kSchema for another shape and for a name that leaves the folder, kDuplicate for a tensor that
// stands twice, and the codes of parse_strict_json.
Result<WeightMap> parse_weight_map(std::string_view json);

// A relative path without "..", empty parts, NUL or control bytes: joined to a folder it names
// something in it, symbolic links aside.
bool stays_in_folder(std::string_view name);

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_WEIGHT_MAP_H
