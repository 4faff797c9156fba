// A librow_store.so given by path, loaded beside others like it.
//
// Each library binds to its own symbols first (RTLD_DEEPBIND) and shows them to nobody
// (RTLD_LOCAL), so any number of builds, also of other origin, run in one process. The same file
// twice is loaded twice, from a copy: comparing a build with itself shows the noise. Stays loaded
// until exit.
#ifndef ROW_STORE_BENCH_REPLAY_LIBRARY_H
#define ROW_STORE_BENCH_REPLAY_LIBRARY_H

#include <string>
#include <vector>

#include "base/status.h"
#include "row_store.h"

namespace row_store::bench {

struct Library {
  std::string name;  // shown in tables
  decltype(&row_store_open) open = nullptr;
  decltype(&row_store_range) range = nullptr;
  decltype(&row_store_attach_packed) attach_packed = nullptr;
  decltype(&row_store_lookup) lookup = nullptr;
  decltype(&row_store_stats) stats = nullptr;
  decltype(&row_store_close) close = nullptr;
};

// Each argument is PATH or NAME=PATH.
Result<std::vector<Library>> load_libraries(const std::vector<std::string>& arguments);

}  // namespace row_store::bench

#endif  // ROW_STORE_BENCH_REPLAY_LIBRARY_H
