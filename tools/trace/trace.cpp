#include "trace/trace.h"

namespace row_store::trace {

const char* call_kind_name(CallKind kind) {
  return kind == CallKind::kDecode ? "decode" : "prefill";
}

Status Trace::rescale(uint64_t base) {
  Result<Addressing> scaled = make_addressing(rule.layer, base);
  if (!scaled.ok()) return scaled.status();
  rule = scaled.take();
  return {};
}

void Trace::expand(uint64_t first, uint64_t count, int64_t* ids) const {
  for (uint64_t token = first; token < first + count; ++token) {
    for (int column = 0; column < kColumns; ++column) {
      *ids++ = static_cast<int64_t>(id(token, column));
    }
  }
}

}  // namespace row_store::trace
