// The compilers' 128-bit integer, named once so that -Wpedantic stays on everywhere else.
#ifndef ROW_STORE_ENGRAM_UINT128_H
#define ROW_STORE_ENGRAM_UINT128_H

namespace row_store {

__extension__ typedef unsigned __int128 Uint128;

}  // namespace row_store

#endif  // ROW_STORE_ENGRAM_UINT128_H
