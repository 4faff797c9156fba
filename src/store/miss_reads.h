// The missing rows of one window: each id once, each page once, reads in flight, rows to the
// outputs and the cache as they arrive.
//
// Owned by the calling thread; helpers never touch it. All state lives in the Context's scratch.
//
// A miss has one part (a packed record, or weights beside a resident scale) or two (weights and
// scale). A part waits in the chain of the read that brings it. Invariants: a read is queued, in
// flight or done; a miss is done when no part waits; outputs[first] of a done miss is whole.
#ifndef ROW_STORE_STORE_MISS_READS_H
#define ROW_STORE_STORE_MISS_READS_H

#include <array>
#include <cstdint>

#include "store/lookup.h"

namespace row_store {

// Is told of every row of reads that nobody has asked for yet: such a row may fail.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // Row `place` stands in the outputs.
  virtual void row_arrived(uint32_t place) = 0;
  // It could not be read, from neither file; its place in the outputs holds anything.
  virtual void row_failed(uint32_t place) = 0;
};

class MissReads {
 public:
  static uint64_t scratch_bytes();

  // sink null: a row that cannot be had stops the process.
  MissReads(const RowSources& sources, Context& context, BatchCounts& counts,
            RowSink* sink = nullptr);

  // Starts a window whose outputs begin at weights and scales: at most row_count rows are added, at
  // places below kWindowRows.
  void begin(uint8_t* weights, uint8_t* scales, uint32_t row_count);
  // Row `place` of the window needs `id`, which is in the range and was not found in the cache.
  void add(uint32_t place, uint64_t id);
  // Sends queued reads as far as the depth allows.
  void submit();
  // Takes what has arrived, without waiting, and sends more.
  void poll();
  // Waits for some of what is in flight, and sends more.
  void wait();
  // Reads that were queued or sent and have not come back.
  uint32_t unfinished() const { return read_count_ - reads_done_; }
  // Returns when every added row is in the outputs. Nothing is in flight then.
  void drain();

 private:
  enum Part : uint32_t { kWhole = 0, kWeights = 1, kScale = 2 };
  enum class ReadState : uint8_t { kQueued, kInFlight, kDone };
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint8_t kFailed = UINT8_MAX;  // as parts_waiting: the sink was told
  static constexpr uint32_t kReadsMax =
      4 * kWindowRows;  // two parts, once more from the checkpoint

  struct Miss {
    uint64_t id;
    Slot slot;
    uint32_t first;    // place in the outputs
    uint32_t repeats;  // head of the list of other places, through next_repeat_
    uint8_t parts_waiting;
  };
  struct Read {
    uint64_t offset;  // page-aligned
    uint32_t chain;   // head of the parts that wait: miss * 4 + part
    uint8_t pages;
    uint8_t file;  // index of files_
    ReadState state;
  };
  struct HashEntry {
    uint32_t generation;
    uint32_t index;
  };
  struct FileReads {
    TableFile* file = nullptr;
    Reader* reader = nullptr;
    uint32_t depth = 0;
    uint32_t in_flight = 0;
    bool prepared = false;  // something waits for submit()
  };

  // The arrays of a plan, in a Context's scratch.
  struct Scratch {
    uint32_t* generation = nullptr;  // of the tables: entries of older windows are empty
    HashEntry* miss_table = nullptr;
    HashEntry* read_table = nullptr;
    Miss* misses = nullptr;
    Read* reads = nullptr;
    uint32_t* next_repeat = nullptr;    // by place
    uint32_t* next_in_chain = nullptr;  // by miss * 4 + part
    uint32_t* read_of_buffer = nullptr;
    uint32_t* free_buffers = nullptr;
    uint64_t bytes = 0;
  };
  // With base null only `bytes` means anything.
  static Scratch carve(uint8_t* base);

  Extent extent_of(uint32_t file, Part part, uint64_t id) const;
  void want(uint32_t miss, Part part, uint32_t file);
  void want_row(uint32_t miss, bool from_packed);
  void add_repeat(uint32_t miss, uint32_t place);
  HashEntry* find_miss(uint64_t id, bool* found);
  HashEntry* find_read(uint32_t file, uint64_t page, bool* found);
  bool prepare_next();
  uint32_t reap(FileReads& reads, uint32_t least, int timeout_ms);
  void complete(const ReadCompletion& completion);
  bool check(const Read& read, uint8_t* buffer, int32_t result);
  uint64_t retry(const Read& read, uint8_t* buffer, uint64_t needed, int32_t result);
  uint64_t needed_bytes(const Read& read) const;
  void deliver(const Read& read, const uint8_t* buffer);
  void say_failure(const Read& read) const;
  void reroute(const Read& read);
  void fail(const Read& read);
  [[noreturn]] void give_up(const Read& read, int64_t result, uint32_t tries) const;
  void finish(Miss& miss);
  void report_slow(FileReads& reads);

  const RowSources& sources_;
  Context& context_;
  BatchCounts& counts_;
  RowSink* const sink_;
  uint8_t* weights_ = nullptr;
  uint8_t* scales_ = nullptr;

  std::array<FileReads, 2> files_;  // checkpoint, packed shard
  const Scratch scratch_;
  uint32_t miss_mask_ = 0;
  uint32_t read_mask_ = 0;
  uint32_t miss_count_ = 0;
  uint32_t read_count_ = 0;
  uint32_t next_read_ = 0;  // first queued
  uint32_t reads_done_ = 0;
  uint32_t free_count_ = 0;
  bool slow_reported_ = false;
  int read_errno_ = 0;  // of the read that failed last; 0: a sum is wrong
};

}  // namespace row_store

#endif  // ROW_STORE_STORE_MISS_READS_H
