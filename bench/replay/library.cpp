#include "replay/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <set>

namespace row_store::bench {
namespace {

Status dl_error(const std::string& path) {
  const char* why = dlerror();
  return Status::error(ErrorCode::kArgument,
                       path + " cannot be used: " + (why != nullptr ? why : "unknown cause"));
}

// The loader takes an inode that it knows for the library it has, hence the copy, which may go once
// it is mapped.
Result<void*> load_copy(const std::string& path) {
  std::string folder = "/tmp/row-store-replay.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    return Status::error(ErrorCode::kIo, "cannot make a folder in /tmp");
  }
  std::error_code error;
  const std::string copy = folder + "/librow_store.so";
  std::filesystem::copy_file(path, copy, error);
  void* handle = error ? nullptr : dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  std::filesystem::remove_all(folder, error);
  if (handle == nullptr) return dl_error(path);
  return handle;
}

template <typename F>
bool find(void* handle, const char* symbol, F& function) {
  function = reinterpret_cast<F>(dlsym(handle, symbol));
  return function != nullptr;
}

Result<Library> bind(void* handle, const std::string& name, const std::string& path) {
  Library library;
  library.name = name;
  const bool complete = find(handle, "row_store_open", library.open) &&
                        find(handle, "row_store_range", library.range) &&
                        find(handle, "row_store_attach_packed", library.attach_packed) &&
                        find(handle, "row_store_lookup", library.lookup) &&
                        find(handle, "row_store_stats", library.stats) &&
                        find(handle, "row_store_close", library.close);
  if (!complete) return dl_error(path);
  return library;
}

}  // namespace

Result<std::vector<Library>> load_libraries(const std::vector<std::string>& arguments) {
  std::vector<Library> libraries;
  std::set<void*> handles;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    const bool named = equals != std::string::npos;
    const std::string name =
        named ? argument.substr(0, equals) : "library " + std::to_string(libraries.size() + 1);
    std::error_code error;
    const auto path =
        std::filesystem::absolute(named ? argument.substr(equals + 1) : argument, error).string();
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (handle == nullptr) return dl_error(path);
    if (!handles.insert(handle).second) {
      Result<void*> copy = load_copy(path);
      if (!copy.ok()) return copy.status();
      handle = copy.value();
    }
    Result<Library> library = bind(handle, name, path);
    if (!library.ok()) return library.status();
    std::printf("%-12s %s\n", name.c_str(), path.c_str());
    libraries.push_back(library.take());
  }
  return libraries;
}

}  // namespace row_store::bench
