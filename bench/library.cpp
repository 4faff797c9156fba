#include "library.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace row_store::bench {
namespace {

template <typename Function>
void bind(void* handle, const std::string& path, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (*function != nullptr) return;
  std::fprintf(stderr, "%s: has no %s: not a librow_store.so of this ABI\n", path.c_str(), name);
  std::exit(2);
}

}  // namespace

Library Library::load(const std::string& path) {
  // A path with a slash is never searched for elsewhere; DEEPBIND keeps two builds apart.
  const std::string absolute = std::filesystem::absolute(path).string();
  void* handle = ::dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (handle == nullptr) {
    std::fprintf(stderr, "cannot load %s: %s\n", path.c_str(), ::dlerror());
    std::exit(2);
  }
  Library library;
  library.path = path;
  bind(handle, path, "row_store_open", &library.open);
  bind(handle, path, "row_store_range", &library.range);
  bind(handle, path, "row_store_attach_packed", &library.attach);
  bind(handle, path, "row_store_lookup", &library.lookup);
  bind(handle, path, "row_store_stats", &library.stats);
  bind(handle, path, "row_store_close", &library.close);
  return library;
}

}  // namespace row_store::bench
