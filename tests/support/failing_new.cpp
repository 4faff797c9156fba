#include "support/failing_new.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

struct Injection {
  bool is_armed = false;
  bool has_fired = false;
  uint64_t allocations_left = 0;
};
thread_local Injection injection;

void* allocate(std::size_t size) noexcept {
  if (injection.is_armed) {
    if (injection.allocations_left == 0) {
      injection.has_fired = true;
      return nullptr;
    }
    --injection.allocations_left;
  }
  return std::malloc(size == 0 ? 1 : size);
}

void* allocate_or_throw(std::size_t size) {
  void* memory = allocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// All forms are replaced, since a sanitizer's run time brings its own for those that are not. The
// aligned forms stay as they are: the code under test does not use them.
void* operator new(std::size_t size) { return allocate_or_throw(size); }
void* operator new[](std::size_t size) { return allocate_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace row_store::testing {

FailingNew::FailingNew(uint64_t nth) { injection = {true, false, nth}; }
FailingNew::~FailingNew() { injection.is_armed = false; }
bool FailingNew::has_fired() const { return injection.has_fired; }

}  // namespace row_store::testing
