#include "store/miss_reads.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/checked.h"
#include "base/clock.h"
#include "base/fatal.h"

namespace row_store {
namespace {

// Reads prepared between two submissions: the drive starts early, and a system call is shared.
constexpr uint32_t kSubmitEvery = 16;
// Completions waited for at a time: fewer wake-ups, and room is made before the drive runs dry.
constexpr uint32_t kReapLeast = 16;
constexpr uint32_t kReapMost = 64;
constexpr int kSlowMs = 5000;
constexpr uint32_t kCheckpoint = 0;
constexpr uint32_t kPacked = 1;

constexpr uint32_t kTableEntries = 4 * kWindowRows;

uint32_t hash_key(uint64_t key) { return static_cast<uint32_t>(mix_id(key) >> 32); }

}  // namespace

MissReads::Scratch MissReads::carve(uint8_t* base) {
  Scratch scratch;
  const auto take = [&]<typename T>(T** array, uint64_t count) {
    if (base != nullptr) *array = reinterpret_cast<T*>(base + scratch.bytes);
    scratch.bytes += align_up(count * sizeof(T), kPageBytes);
  };
  take(&scratch.generation, 1);
  take(&scratch.miss_table, kTableEntries);
  take(&scratch.read_table, kTableEntries);
  take(&scratch.misses, kWindowRows);
  take(&scratch.reads, kReadsMax);
  take(&scratch.next_repeat, kWindowRows);
  take(&scratch.next_in_chain, 4 * kWindowRows);
  take(&scratch.read_of_buffer, kDepthMax);
  take(&scratch.free_buffers, kDepthMax);
  return scratch;
}

uint64_t MissReads::scratch_bytes() { return carve(nullptr).bytes; }

MissReads::MissReads(const RowSources& sources, Context& context, BatchCounts& counts,
                     RowSink* sink)
    : sources_(sources),
      context_(context),
      counts_(counts),
      sink_(sink),
      scratch_(carve(context.scratch())) {
  files_[kCheckpoint].file = sources.checkpoint;
  files_[kPacked].file = sources.packed;
  // Buffers taken last are used first: a small batch touches few of them.
  free_count_ = context.depth();
  for (uint32_t i = 0; i < free_count_; ++i) scratch_.free_buffers[i] = free_count_ - 1 - i;
}

void MissReads::begin(uint8_t* weights, uint8_t* scales, uint32_t row_count) {
  weights_ = weights;
  scales_ = scales;
  miss_count_ = read_count_ = next_read_ = reads_done_ = 0;
  // At most half full: a miss an id, up to two reads a miss.
  miss_mask_ = std::bit_ceil(2 * row_count) - 1;
  read_mask_ = std::bit_ceil(4 * row_count) - 1;
  if (++*scratch_.generation == 0) {
    std::memset(scratch_.miss_table, 0, kTableEntries * sizeof(HashEntry));
    std::memset(scratch_.read_table, 0, kTableEntries * sizeof(HashEntry));
    *scratch_.generation = 1;
  }
}

MissReads::HashEntry* MissReads::find_miss(uint64_t id, bool* found) {
  for (uint32_t at = hash_key(id) & miss_mask_;; at = (at + 1) & miss_mask_) {
    HashEntry& entry = scratch_.miss_table[at];
    const bool used = entry.generation == *scratch_.generation;
    *found = used && scratch_.misses[entry.index].id == id;
    if (!used || *found) return &entry;
  }
}

MissReads::HashEntry* MissReads::find_read(uint32_t file, uint64_t page, bool* found) {
  for (uint32_t at = hash_key(page ^ file) & read_mask_;; at = (at + 1) & read_mask_) {
    HashEntry& entry = scratch_.read_table[at];
    const bool used = entry.generation == *scratch_.generation;
    *found = used && scratch_.reads[entry.index].offset == page &&
             scratch_.reads[entry.index].file == file;
    if (!used || *found) return &entry;
  }
}

void MissReads::add_repeat(uint32_t index, uint32_t place) {
  Miss& miss = scratch_.misses[index];
  ++counts_.hits;
  ++counts_.repeats;
  if (miss.slot != kNoSlot) sources_.cache->touch(miss.slot, miss.id);
  if (miss.parts_waiting == 0) {
    std::memcpy(weights_ + place * kWeightBytes, weights_ + miss.first * kWeightBytes,
                kWeightBytes);
    std::memcpy(scales_ + place * kScaleBytes, scales_ + miss.first * kScaleBytes, kScaleBytes);
    return;
  }
  scratch_.next_repeat[place] = miss.repeats;
  miss.repeats = place;
}

void MissReads::add(uint32_t place, uint64_t id) {
  bool found = false;
  HashEntry* entry = find_miss(id, &found);
  if (found) {
    add_repeat(entry->index, place);
    return;
  }
  const uint32_t index = miss_count_++;
  *entry = {*scratch_.generation, index};
  Miss& miss = scratch_.misses[index];
  miss = {id, kNoSlot, place, kNone, 0};
  ++counts_.misses;
  if (sources_.cache != nullptr) {
    bool evicted = false;
    miss.slot = sources_.cache->reserve(id, &evicted);
    counts_.evictions += evicted;
  }
  want_row(index, sources_.packed != nullptr && !sources_.packed->given_up());
  if (read_count_ - next_read_ >= kSubmitEvery) submit();
}

void MissReads::want_row(uint32_t index, bool from_packed) {
  Miss& miss = scratch_.misses[index];
  if (from_packed) {
    miss.parts_waiting = 1;
    want(index, kWhole, kPacked);
    return;
  }
  const uint8_t* scale =
      sources_.resident_scales != nullptr ? sources_.resident_scales->find(miss.id) : nullptr;
  miss.parts_waiting = scale != nullptr ? 1 : 2;
  if (scale != nullptr) {
    std::memcpy(scales_ + miss.first * kScaleBytes, scale, kScaleBytes);
  } else {
    want(index, kScale, kCheckpoint);
  }
  want(index, kWeights, kCheckpoint);
}

Extent MissReads::extent_of(uint32_t file, Part part, uint64_t id) const {
  if (file == kPacked) return {sources_.packed_header.row_offset(id), kRowBytes};
  if (part == kScale) return {sources_.scale_offset + id * kScaleBytes, kScaleBytes};
  return {sources_.weight_offset + id * kWeightBytes, kWeightBytes};
}

void MissReads::want(uint32_t miss, Part part, uint32_t file) {
  const Extent extent = extent_of(file, part, scratch_.misses[miss].id);
  const uint64_t page = align_down(extent.offset, kPageBytes);
  const auto pages =
      static_cast<uint8_t>((extent.offset + extent.bytes - page + kPageBytes - 1) / kPageBytes);
  bool found = false;
  HashEntry* entry = find_read(file, page, &found);
  Read* read = found ? &scratch_.reads[entry->index] : nullptr;
  if (read != nullptr && read->state == ReadState::kQueued) {
    read->pages = std::max(read->pages, pages);
  } else if (read == nullptr || read->state == ReadState::kDone || read->pages < pages) {
    *entry = {*scratch_.generation, read_count_};
    read = &scratch_.reads[read_count_++];
    *read = {page, kNone, pages, static_cast<uint8_t>(file), ReadState::kQueued};
  }
  const uint32_t node = miss * 4 + part;
  scratch_.next_in_chain[node] = read->chain;
  read->chain = node;
}

bool MissReads::prepare_next() {
  Read& read = scratch_.reads[next_read_];
  FileReads& reads = files_[read.file];
  if (free_count_ == 0) return false;
  if (reads.reader == nullptr) {
    reads.depth = std::min(reads.file->depth(), context_.depth());
    Result<Reader*> reader = context_.reader(reads.file->engine());
    // Another lookup's ring took the last of the locked memory, say: this one reads with threads.
    if (!reader.ok()) reader = context_.reader(Engine::kPool);
    if (!reader.ok()) fatal(reader.status().sys_errno(), "%s", reader.status().text().c_str());
    reads.reader = reader.value();
  }
  if (reads.in_flight == reads.depth) return false;
  const uint32_t buffer = scratch_.free_buffers[--free_count_];
  scratch_.read_of_buffer[buffer] = next_read_++;
  const auto length = static_cast<uint32_t>(read.pages * kPageBytes);
  reads.reader->prepare({reads.file->fd(), length, read.offset, context_.buffer(buffer), buffer,
                         !reads.file->direct()});
  read.state = ReadState::kInFlight;
  ++reads.in_flight;
  reads.prepared = true;
  ++counts_.reads;
  counts_.read_bytes += length;
  return true;
}

void MissReads::submit() {
  while (next_read_ != read_count_ && prepare_next()) {
  }
  for (FileReads& reads : files_) {
    if (!reads.prepared) continue;
    reads.prepared = false;
    const int error = reads.reader->submit();
    if (error < 0) fatal(-error, "%s: cannot submit reads", reads.file->path().c_str());
  }
}

void MissReads::poll() {
  for (FileReads& reads : files_)
    if (reads.in_flight != 0) reap(reads, 0, 0);
  submit();
}

void MissReads::wait() {
  for (FileReads& reads : files_) {
    if (reads.in_flight == 0) continue;
    const uint64_t from = now_ns();
    const uint32_t arrived = reap(reads, std::min(reads.in_flight, kReapLeast), kSlowMs);
    counts_.wait_ns += now_ns() - from;
    if (arrived == 0) report_slow(reads);
  }
  submit();
}

void MissReads::drain() {
  submit();
  while (reads_done_ != read_count_) wait();
}

uint32_t MissReads::reap(FileReads& reads, uint32_t least, int timeout_ms) {
  ReadCompletion completions[kReapMost];
  const int count = reads.reader->reap(completions, least, timeout_ms);
  if (count < 0) fatal(-count, "%s: cannot reap reads", reads.file->path().c_str());
  for (int i = 0; i < count; ++i) complete(completions[i]);
  return static_cast<uint32_t>(count);
}

void MissReads::report_slow(FileReads& reads) {
  if (slow_reported_) return;
  slow_reported_ = true;
  log_line("%s: %u reads have not come back for %d s; waiting (a stalled drive or network mount?)",
           reads.file->path().c_str(), reads.in_flight, kSlowMs / 1000);
}

uint64_t MissReads::needed_bytes(const Read& read) const {
  uint64_t needed = 0;
  for (uint32_t node = read.chain; node != kNone; node = scratch_.next_in_chain[node]) {
    const Extent extent = extent_of(read.file, Part(node % 4), scratch_.misses[node / 4].id);
    needed = std::max(needed, extent.offset + extent.bytes - read.offset);
  }
  return needed;
}

void MissReads::complete(const ReadCompletion& completion) {
  const uint32_t buffer = completion.token;
  Read& read = scratch_.reads[scratch_.read_of_buffer[buffer]];
  // Both files may share a reader, so what was reaped for one may be the other's.
  --files_[read.file].in_flight;
  const bool is_good = check(read, context_.buffer(buffer), completion.result);
  if (is_good) deliver(read, context_.buffer(buffer));
  scratch_.free_buffers[free_count_++] = buffer;
  read.state = ReadState::kDone;
  ++reads_done_;
  if (is_good) return;
  if (read.file == kCheckpoint) {
    fail(read);
  } else {
    reroute(read);
  }
}

// Whether the buffer has all that waits for this read, and the bytes that were packed; reads again
// where it came short. No byte leaves a buffer before.
bool MissReads::check(const Read& read, uint8_t* buffer, int32_t result) {
  const PackedSums* sums = read.file == kPacked ? sources_.packed_sums : nullptr;
  // A whole read covers every part by construction; only a short one is looked at more closely.
  const int64_t whole = read.pages * static_cast<int64_t>(kPageBytes);
  if (result != whole) {
    const uint64_t needed = sums != nullptr ? static_cast<uint64_t>(whole) : needed_bytes(read);
    read_errno_ = result < 0 ? -result : EIO;
    if ((result < 0 || static_cast<uint64_t>(result) < needed) &&
        retry(read, buffer, needed, result) < needed)
      return false;
  }
  read_errno_ = 0;
  return sums == nullptr || sums->match(read.offset, read.pages, buffer);
}

// A short or failed asynchronous read is done again synchronously, with bounded attempts.
uint64_t MissReads::retry(const Read& read, uint8_t* buffer, uint64_t needed, int32_t result) {
  TableFile& file = *files_[read.file].file;
  ++counts_.retries;
  if (result < 0 && file.demote(-result)) ++counts_.demotions;
  uint32_t tries = 1;
  const int64_t got = file.read(buffer, read.pages * kPageBytes, read.offset, &tries);
  if (got >= 0 && static_cast<uint64_t>(got) >= needed) return static_cast<uint64_t>(got);
  if (read.file == kCheckpoint && sink_ == nullptr) give_up(read, got, tries);
  if (got < 0) read_errno_ = static_cast<int>(-got);
  return 0;
}

void MissReads::deliver(const Read& read, const uint8_t* buffer) {
  uint32_t next = kNone;
  for (uint32_t node = read.chain; node != kNone; node = next) {
    next = scratch_.next_in_chain[node];
    const Part part = Part(node % 4);
    Miss& miss = scratch_.misses[node / 4];
    if (miss.parts_waiting == kFailed) continue;
    const uint8_t* bytes = buffer + (extent_of(read.file, part, miss.id).offset - read.offset);
    if (part != kScale) std::memcpy(weights_ + miss.first * kWeightBytes, bytes, kWeightBytes);
    if (part == kWhole) bytes += kWeightBytes;
    if (part != kWeights) std::memcpy(scales_ + miss.first * kScaleBytes, bytes, kScaleBytes);
    if (--miss.parts_waiting == 0) finish(miss);
  }
}

void MissReads::finish(Miss& miss) {
  const uint8_t* weights = weights_ + miss.first * kWeightBytes;
  const uint8_t* scales = scales_ + miss.first * kScaleBytes;
  for (uint32_t place = miss.repeats; place != kNone; place = scratch_.next_repeat[place]) {
    std::memcpy(weights_ + place * kWeightBytes, weights, kWeightBytes);
    std::memcpy(scales_ + place * kScaleBytes, scales, kScaleBytes);
  }
  if (miss.slot != kNoSlot) sources_.cache->fill(miss.slot, miss.id, weights, scales);
  if (sink_ != nullptr) sink_->row_arrived(miss.first);
}

// The checkpoint did not give these rows, and nobody waits for them as for a lookup's.
void MissReads::fail(const Read& read) {
  for (uint32_t node = read.chain; node != kNone; node = scratch_.next_in_chain[node]) {
    Miss& miss = scratch_.misses[node / 4];
    if (miss.parts_waiting == kFailed) continue;
    miss.parts_waiting = kFailed;
    sink_->row_failed(miss.first);
  }
}

void MissReads::say_failure(const Read& read) const {
  TableFile& file = *sources_.packed;
  const char* path = file.path().c_str();
  const char* checkpoint = sources_.checkpoint->path().c_str();
  const uint32_t failures = file.count_failure();
  if (failures == 1 && read_errno_ == 0) {
    log_line("%s: damaged: of %u bytes at %llu a sum is wrong; serving such rows from %s", path,
             read.pages * static_cast<uint32_t>(kPageBytes),
             static_cast<unsigned long long>(read.offset), checkpoint);
  } else if (failures == 1) {
    log_line("%s: cannot read %u bytes at %llu: %s; serving such rows from %s", path,
             read.pages * static_cast<uint32_t>(kPageBytes),
             static_cast<unsigned long long>(read.offset), strerror(read_errno_), checkpoint);
  } else if (failures == TableFile::kFailuresBeforeGivingUp) {
    log_line("%s: failed %u times; not reading it any more, its rows come from %s (pack again)",
             path, failures, checkpoint);
  }
}

// The shard did not give these rows; the checkpoint holds the same bytes.
void MissReads::reroute(const Read& read) {
  say_failure(read);
  uint32_t next = kNone;
  for (uint32_t node = read.chain; node != kNone; node = next) {
    next = scratch_.next_in_chain[node];
    ++counts_.packed_failures;
    counts_.sum_failures += read_errno_ == 0;
    want_row(node / 4, false);
  }
}

void MissReads::give_up(const Read& read, int64_t result, uint32_t tries) const {
  const Miss& miss = scratch_.misses[read.chain / 4];
  const Extent extent = extent_of(read.file, Part(read.chain % 4), miss.id);
  const int error = result < 0 ? static_cast<int>(-result) : EIO;
  fatal(error, "%s: cannot read row %llu at byte %llu: %s; %lld of %u bytes at %llu, %u attempts",
        files_[read.file].file->path().c_str(), static_cast<unsigned long long>(miss.id),
        static_cast<unsigned long long>(extent.offset),
        result < 0 ? strerror(error) : "the file ends before it",
        static_cast<long long>(std::max<int64_t>(result, 0)),
        read.pages * static_cast<uint32_t>(kPageBytes),
        static_cast<unsigned long long>(read.offset), tries);
}

}  // namespace row_store
