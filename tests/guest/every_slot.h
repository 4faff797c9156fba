// Fills a pool to its last slot through lookups, twice, and reads each slot back.
#ifndef ROW_STORE_GUEST_EVERY_SLOT_H
#define ROW_STORE_GUEST_EVERY_SLOT_H

#include <cstdint>

bool every_slot(const char* node, uint64_t mib);

#endif  // ROW_STORE_GUEST_EVERY_SLOT_H
