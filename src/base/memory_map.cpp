#include "base/memory_map.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/checked.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; absent from older C libraries
#endif

namespace row_store {

namespace {

// A mapping whose start is a multiple of `alignment`: the surplus at both ends is given back.
void* map_aligned(uint64_t bytes, uint64_t alignment) {
  const auto reserved = checked_add(bytes, alignment);
  if (!reserved) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void* base = ::mmap(nullptr, *reserved, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return base;
  auto* first = static_cast<uint8_t*>(base);
  const uint64_t skip =
      align_up(reinterpret_cast<uint64_t>(first), alignment) - reinterpret_cast<uint64_t>(first);
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t used = align_up(bytes, page);
  if (skip != 0) ::munmap(first, skip);
  if (*reserved > skip + used) ::munmap(first + skip + used, *reserved - skip - used);
  return first + skip;
}

}  // namespace

Result<MemoryMap> MemoryMap::create(uint64_t bytes) {
  void* data = bytes >= kHugePageBytes ? map_aligned(bytes, kHugePageBytes)
                                       : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
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

void MemoryMap::prefer_huge_pages() const {
  if (bytes_ >= kHugePageBytes) ::madvise(data_, bytes_, MADV_HUGEPAGE);
}

void MemoryMap::keep_in_children() const { ::madvise(data_, bytes_, MADV_DOFORK); }

bool MemoryMap::collapse(uint64_t offset, uint64_t bytes) const {
  return ::madvise(data_ + offset, bytes, MADV_COLLAPSE) == 0;
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
