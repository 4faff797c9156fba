// Makes an access trace out of documents, as a serving engine would ask for their rows.
//
// Documents are cut into requests of 512 to 8,192 tokens (log-uniform) and shuffled. A request is
// BOS, the user mark, a prompt (a third to four fifths of it), the assistant mark, an answer.
//   prefill  every request whole, packed into calls of `chunk_tokens`
//   decode   only the answers; each call holds one verify block of every live request
//   mixed    both: a request's prompt is prefilled when it takes a place, then it decodes
// A verify block is the last sampled token and block_tokens - 1 drafts. Drafts follow the real text
// until the first miss; from there they follow the text of an earlier place with the same last two
// (else one) tokens, so that wrong drafts are plausible n-grams. The next step starts after the
// last right draft. The same documents, options and seed give the same trace on every machine; the
// layer changes only the hashes.
#ifndef ROW_STORE_TRACE_TRACE_MAKER_H
#define ROW_STORE_TRACE_TRACE_MAKER_H

#include <cstdint>

#include "base/status.h"
#include "trace/documents.h"
#include "trace/trace.h"

namespace row_store::trace {

enum class Mode { kPrefill, kDecode, kMixed };

struct MakeOptions {
  Mode mode = Mode::kMixed;
  uint32_t layer = 1;
  uint64_t base = kModelBase;
  uint64_t seed = 1;
  uint64_t token_limit = 0;      // stop once the trace has this many; 0 for all of the text
  uint32_t batch = 4;            // requests that decode at once
  uint32_t block_tokens = 6;     // tokens that a verify step checks
  uint32_t chunk_tokens = 2048;  // tokens of a prefill call
  double accept = 0.75;          // chance that a draft is right, when those before it were
  double echo = 0;  // part of an answer that repeats its own prompt, in spans of 32 to 256

  Status validate() const;
};

struct MadeTrace {
  Trace trace;
  uint64_t requests = 0;
  uint64_t blocks = 0;           // verify blocks
  uint64_t accepted_tokens = 0;  // of all blocks
};

// kArgument for options out of range, or documents too short to make one request.
Result<MadeTrace> make_trace(const Documents& documents, const MakeOptions& options);

}  // namespace row_store::trace

#endif  // ROW_STORE_TRACE_TRACE_MAKER_H
