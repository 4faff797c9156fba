// Reads rows of one store into its staging area, before a lookup asks for them.
//
// What is cached, staged or being read is passed over. Owns nothing but its reader context, which
// lookups do not share: a lookup never waits for a free context because of it. A row that cannot be
// read is left to the lookup, which says why. One thread at a time; the caller holds the store's
// gate, shared.
#ifndef ROW_STORE_STORE_READ_AHEAD_H
#define ROW_STORE_STORE_READ_AHEAD_H

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "io/context.h"
#include "store/lookup.h"
#include "store/miss_reads.h"
#include "store/staging.h"

namespace row_store {

class ReadAhead final : private RowSink {
 public:
  // The context needs lookup_scratch_bytes() of scratch.
  explicit ReadAhead(Context& context) : context_(context) {}

  struct Outcome {
    uint64_t looked_at = 0;  // of the ids, from the first on
    uint64_t read = 0;       // rows that are staged now
    bool full = false;       // the staging area had no room for the rest
  };
  // Looks at the first Staging::kRowsMax ids. Ends with nothing in flight: when that is done, when
  // the area is full, or soon after go_on() said no. go_on is asked between reads, and always after
  // a lookup has begun.
  Outcome read(const RowSources& sources, Staging& staging, uint32_t job,
               std::span<const int64_t> ids, const std::function<bool()>& go_on,
               BatchCounts& counts);

 private:
  void row_arrived(uint32_t slot) override;
  void row_failed(uint32_t slot) override;
  void flush();

  Context& context_;
  Staging* staging_ = nullptr;
  Outcome outcome_;
  std::array<uint32_t, 64> arrived_;
  uint32_t arrived_count_ = 0;
};

}  // namespace row_store

#endif  // ROW_STORE_STORE_READ_AHEAD_H
