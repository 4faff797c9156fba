#include "store/read_ahead.h"

#include <algorithm>

namespace row_store {
namespace {

// Ids dealt with between two looks at what lookups have told: few, since what is begun is finished.
constexpr uint32_t kIdsAtOnce = 64;
static_assert(kIdsAtOnce <= kBlockRows);

// The ids of a block that are this rank's and not in the cache, closed up.
uint32_t close_up(const RowSources& sources, std::span<const int64_t> ids, int64_t* wanted) {
  uint32_t count = 0;
  for (const int64_t id : ids)
    if (sources.range.contains(static_cast<uint64_t>(id))) wanted[count++] = id;
  if (sources.cache == nullptr) return count;
  bool cached[kIdsAtOnce];
  sources.cache->find_block(wanted, count, cached);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i)
    if (!cached[i]) wanted[kept++] = wanted[i];
  return kept;
}

}  // namespace

ReadAhead::Outcome ReadAhead::read(const RowSources& sources, Staging& staging, uint32_t job,
                                   std::span<const int64_t> ids, const std::function<bool()>& go_on,
                                   BatchCounts& counts) {
  // What lookups read enters the cache at once; what is read here, when it was asked for.
  RowSources files = sources;
  files.cache = nullptr;
  // go_on() may free slots, so that there could be more rows than slots; a window has as many.
  ids = ids.first(std::min<uint64_t>(ids.size(), Staging::kRowsMax));
  staging_ = &staging;
  outcome_ = {};
  MissReads reads(files, context_, counts, this);
  reads.begin(staging.weights(), staging.scales(), static_cast<uint32_t>(ids.size()));
  while (outcome_.looked_at < ids.size() && !outcome_.full) {
    const uint64_t lookups = staging.lookups_begun();
    if (!go_on()) break;
    const auto block = ids.subspan(outcome_.looked_at,
                                   std::min<uint64_t>(kIdsAtOnce, ids.size() - outcome_.looked_at));
    int64_t wanted[kIdsAtOnce];
    uint32_t slots[kIdsAtOnce];
    const uint32_t count = close_up(sources, block, wanted);
    const Staging::Begun begun = staging.begin(lookups, job, wanted, count, slots);
    if (begun.overtaken) continue;
    for (uint32_t i = 0; i < begun.count; ++i)
      if (slots[i] != Staging::kNone) reads.add(slots[i], static_cast<uint64_t>(wanted[i]));
    outcome_.full = begun.full;
    outcome_.looked_at += block.size();
    reads.submit();
    while (reads.unfinished() > context_.depth()) {
      reads.wait();
      flush();
    }
  }
  while (reads.unfinished() != 0) {
    reads.wait();
    flush();
  }
  return outcome_;
}

void ReadAhead::row_arrived(uint32_t slot) {
  ++outcome_.read;
  arrived_[arrived_count_++] = slot;
  if (arrived_count_ == arrived_.size()) flush();
}

void ReadAhead::row_failed(uint32_t slot) { staging_->failed(slot); }

void ReadAhead::flush() {
  if (arrived_count_ == 0) return;
  staging_->arrived(arrived_.data(), arrived_count_);
  arrived_count_ = 0;
}

}  // namespace row_store
