#include "format/checksum.h"

// From the header alone: nothing to link, and no symbols that another library in the process could
// have under the same names.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace row_store {

uint64_t checksum(std::span<const uint8_t> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace row_store
