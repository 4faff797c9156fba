// The .egtrace file: an Engram access trace on disk. Little-endian, no padding:
//
//   0    "EGTRACE1"
//   8    u32 layer, u32 orders (3), u32 heads (8), u32 kind of file (0)
//   24   u64 calls, u64 tokens
//   40   u64 primes[24]     in column order: all heads of the 2-grams, then of the 3-, the 4-grams
//   232  u32 a call         tokens in the low 24 bits, kind in the high 8 (0 prefill, 1 decode)
//   ...  u64 rolls[3] a token
//
// decode_trace is a pure function over bytes and trusts none of them: every count is checked
// against the file's size before anything is allocated for it.
#ifndef ROW_STORE_TRACE_TRACE_FILE_H
#define ROW_STORE_TRACE_TRACE_FILE_H

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "trace/trace.h"

namespace row_store::trace {

inline constexpr uint64_t kTraceHeaderBytes = 232;
inline constexpr uint32_t kCallTokensMax = (uint32_t{1} << 24) - 1;

// kShort, kMismatch (magic, geometry), kArgument (layer, primes, a call), kOverflow, kSize.
Result<Trace> decode_trace(std::span<const uint8_t> bytes);

Result<Trace> load_trace(const std::string& path);
Status save_trace(const Trace& trace, const std::string& path);

}  // namespace row_store::trace

#endif  // ROW_STORE_TRACE_TRACE_FILE_H
