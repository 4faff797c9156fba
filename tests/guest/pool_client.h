// What the files of pool_client share.
#ifndef ROW_STORE_GUEST_POOL_CLIENT_H
#define ROW_STORE_GUEST_POOL_CLIENT_H

#include <cstdint>

#include "row_store.h"

inline constexpr uint64_t kMiB = uint64_t{1} << 20;

uint64_t available_mib();
// Prints `what` when it is not right; returns right.
bool check(bool right, const char* what);
row_store_statistics statistics(row_store_t* store);
bool on_pool(row_store_t* store);
// The budget that the adapter gives a cache whose rows are in a pool: made for 272 bytes a slot.
uint64_t adapter_budget(uint64_t pool_bytes);

#endif  // ROW_STORE_GUEST_POOL_CLIENT_H
