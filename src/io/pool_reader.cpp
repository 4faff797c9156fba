#include "io/pool_reader.h"

#include <algorithm>
#include <chrono>

#include "io/drop_pages.h"
#include "io/pread_full.h"

namespace row_store {
namespace {

ReadCompletion read_now(const ReadRequest& request) {
  const int64_t result = pread_full(request.fd, request.buffer, request.length, request.offset);
  if (request.drop_pages) drop_pages(request.fd, {request.offset, request.length});
  return {request.token, static_cast<int32_t>(result)};
}

}  // namespace

PoolReader::PoolReader(uint32_t depth)
    : depth_(depth),
      pool_(&ThreadPool::instance()),
      requests_(std::make_unique<ReadRequest[]>(depth)),
      completions_(std::make_unique<ReadCompletion[]>(depth)) {}

PoolReader::~PoolReader() { pool_->dismiss(this); }

void PoolReader::prepare(const ReadRequest& request) {
  MutexLock lock(mutex_);
  requests_[prepared_++ % depth_] = request;
}

int PoolReader::submit() {
  uint32_t more = 0;
  {
    MutexLock lock(mutex_);
    const uint64_t waiting = prepared_ - taken_;
    // One read is the caller's own: waking a thread costs more than it saves.
    const auto useful = static_cast<uint32_t>(
        std::min<uint64_t>(waiting > 1 ? waiting - 1 : 0, pool_->thread_limit()));
    if (useful > helpers_) more = useful - helpers_;
    helpers_ += more;
  }
  if (more != 0 && !pool_->ask(this, more)) {
    MutexLock lock(mutex_);
    helpers_ -= std::min(helpers_, more);
  }
  return 0;
}

bool PoolReader::take(ReadRequest* request) {
  MutexLock lock(mutex_);
  if (taken_ == prepared_) return false;
  *request = requests_[taken_++ % depth_];
  return true;
}

void PoolReader::finish(const ReadCompletion& completion) {
  MutexLock lock(mutex_);
  completions_[finished_++ % depth_] = completion;
  done_.notify_one();
}

void PoolReader::help() {
  ReadRequest request;
  while (take(&request)) finish(read_now(request));
  MutexLock lock(mutex_);
  if (helpers_ != 0) --helpers_;
}

uint32_t PoolReader::collect(std::span<ReadCompletion> out) {
  uint32_t count = 0;
  while (count < out.size() && reaped_ != finished_)
    out[count++] = completions_[reaped_++ % depth_];
  return count;
}

int PoolReader::reap(std::span<ReadCompletion> out, uint32_t least, int timeout_ms) {
  least = std::min<uint32_t>(least, static_cast<uint32_t>(out.size()));
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  ReadRequest request;
  // While threads are busy the caller reads too, so progress never depends on a wake-up.
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (finished_ - reaped_ >= std::max<uint64_t>(least, 1) || least == 0)
        return static_cast<int>(collect(out));
    }
    if (!take(&request)) break;
    finish(read_now(request));
  }
  MutexLock lock(mutex_);
  done_.wait_until(mutex_, until,
                   [&]() ROW_STORE_REQUIRES(mutex_) { return finished_ - reaped_ >= least; });
  return static_cast<int>(collect(out));
}

}  // namespace row_store
