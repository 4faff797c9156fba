// Turns the one exception that the standard library throws at us, std::bad_alloc, into kMemory.
//
// For functions that return Status or Result. Not for the lookup path, which allocates nothing.
#ifndef ROW_STORE_FORMAT_MEMORY_GUARD_H
#define ROW_STORE_FORMAT_MEMORY_GUARD_H

#include <cerrno>
#include <new>

#include "base/status.h"

namespace row_store {

template <typename Body>
auto guard_memory(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    // Short enough for std::string's inline buffer, so that the report cannot throw again.
    return Status(ErrorCode::kMemory, ENOMEM, "out of memory");
  }
}

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_MEMORY_GUARD_H
