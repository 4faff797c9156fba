// A librow_store.so loaded by path, so that any build, ours or another, can be measured beside
// others in one process.
#ifndef ROW_STORE_BENCH_LIBRARY_H
#define ROW_STORE_BENCH_LIBRARY_H

#include <cstdint>
#include <string>

#include "row_store.h"

namespace row_store::bench {

struct Library {
  std::string path;
  decltype(&row_store_open) open = nullptr;
  decltype(&row_store_range) range = nullptr;
  decltype(&row_store_attach_packed) attach = nullptr;
  decltype(&row_store_lookup) lookup = nullptr;
  decltype(&row_store_stats) stats = nullptr;
  decltype(&row_store_close) close = nullptr;

  // Each library keeps its own globals; the same file again is loaded again, from a copy, so that
  // comparing a build with itself shows the noise. Exits with a message when the file cannot be
  // used.
  static Library load(const std::string& path);
};

}  // namespace row_store::bench

#endif  // ROW_STORE_BENCH_LIBRARY_H
