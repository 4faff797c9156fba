// The one hash of the library: XXH3-64 with a seed, over bytes of files. Finds damage and mistakes;
// it is no proof against somebody who forges a file together with its sums.
#ifndef ROW_STORE_FORMAT_CHECKSUM_H
#define ROW_STORE_FORMAT_CHECKSUM_H

#include <cstdint>
#include <span>

namespace row_store {

uint64_t checksum(std::span<const uint8_t> bytes, uint64_t seed);

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_CHECKSUM_H
