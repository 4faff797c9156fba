#include "base/memory_map.h"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

namespace row_store {

Result<MemoryMap> MemoryMap::create(uint64_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    const int error = errno;
    return Status(ErrorCode::kMemory, error,
                  "cannot reserve " + std::to_string(bytes) +
                      " bytes of memory; lower DSV41_CACHE_GIB or raise the process's limit "
                      "(ulimit -v, cgroup)");
  }
  ::madvise(data, bytes, MADV_DONTFORK);
  MemoryMap map;
  map.data_ = static_cast<uint8_t*>(data);
  map.bytes_ = bytes;
  return map;
}

MemoryMap::~MemoryMap() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

MemoryMap::MemoryMap(MemoryMap&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

MemoryMap& MemoryMap::operator=(MemoryMap&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace row_store
