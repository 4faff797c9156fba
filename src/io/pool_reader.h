// Reads by helper threads and the caller: for files and systems without asynchronous direct reads.
#ifndef ROW_STORE_IO_POOL_READER_H
#define ROW_STORE_IO_POOL_READER_H

#include <memory>

#include "base/mutex.h"
#include "io/reader.h"
#include "io/thread_pool.h"

namespace row_store {

class PoolReader final : public Reader, public Helper {
 public:
  explicit PoolReader(uint32_t depth);
  ~PoolReader() override;

  void prepare(const ReadRequest& request) override;
  int submit() override;
  int reap(std::span<ReadCompletion> out, uint32_t least, int timeout_ms) override;
  void help() override;

 private:
  bool take(ReadRequest* request);
  void finish(const ReadCompletion& completion);
  uint32_t collect(std::span<ReadCompletion> out) ROW_STORE_REQUIRES(mutex_);

  const uint32_t depth_;
  ThreadPool* pool_;
  Mutex mutex_;
  Condition done_;
  // Rings of `depth_` entries; the counters only grow.
  std::unique_ptr<ReadRequest[]> requests_ ROW_STORE_GUARDED_BY(mutex_);
  std::unique_ptr<ReadCompletion[]> completions_ ROW_STORE_GUARDED_BY(mutex_);
  uint64_t prepared_ ROW_STORE_GUARDED_BY(mutex_) = 0;
  uint64_t taken_ ROW_STORE_GUARDED_BY(mutex_) = 0;
  uint64_t finished_ ROW_STORE_GUARDED_BY(mutex_) = 0;
  uint64_t reaped_ ROW_STORE_GUARDED_BY(mutex_) = 0;
  uint32_t helpers_ ROW_STORE_GUARDED_BY(mutex_) = 0;  // asked for and not yet gone
};

}  // namespace row_store

#endif  // ROW_STORE_IO_POOL_READER_H
