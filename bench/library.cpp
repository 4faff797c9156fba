#include "library.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace row_store::bench {
namespace {

template <typename Function>
void bind(void* handle, const std::string& path, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (*function != nullptr) return;
  std::fprintf(stderr, "%s: has no %s: not a librow_store.so of this ABI\n", path.c_str(), name);
  std::exit(2);
}

[[noreturn]] void refuse(const std::string& path, const char* why) {
  std::fprintf(stderr, "cannot load %s: %s\n", path.c_str(), why);
  std::exit(2);
}

// A path with a slash is never searched for elsewhere; DEEPBIND keeps two builds apart.
void* load_file(const std::string& path) {
  return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
}

// The loader knows files by inode; the copy may go once it is mapped.
void* load_copy(const std::string& path) {
  std::string folder = "/tmp/row-store-bench.XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) refuse(path, "cannot make a folder in /tmp for a copy");
  const std::string copy = folder + "/librow_store.so";
  std::error_code error;
  std::filesystem::copy_file(path, copy, error);
  void* handle = error ? nullptr : load_file(copy);
  std::filesystem::remove_all(folder, error);
  return handle;
}

}  // namespace

Library Library::load(const std::string& path) {
  static std::set<void*> handles;
  const std::string absolute = std::filesystem::absolute(path).string();
  void* handle = load_file(absolute);
  if (handle != nullptr && !handles.insert(handle).second) handle = load_copy(absolute);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    refuse(path, why != nullptr ? why : "a copy of it cannot be made");
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
