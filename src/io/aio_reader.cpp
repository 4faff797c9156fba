#include "io/aio_reader.h"

#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/clock.h"

namespace row_store {
namespace {

constexpr timespec kPollInterval{0, 50'000};

class AioReader final : public Reader {
 public:
  explicit AioReader(uint32_t depth) : blocks_(depth), events_(depth) {}
  ~AioReader() override {
    if (context_ != 0) syscall(SYS_io_destroy, context_);
  }

  int open() {
    pending_.reserve(blocks_.size());
    failed_.reserve(blocks_.size());
    return syscall(SYS_io_setup, blocks_.size(), &context_) == 0 ? 0 : -errno;
  }
  void prepare(const ReadRequest& request) override;
  int submit() override;
  int reap(std::span<ReadCompletion> out, uint32_t least, int timeout_ms) override;

 private:
  uint32_t collect_failed(std::span<ReadCompletion> out);
  int wait_events(std::span<ReadCompletion> out, uint32_t least, const Deadline& end);

  aio_context_t context_ = 0;
  std::vector<iocb> blocks_;  // by token; the kernel copies them at submission
  std::vector<io_event> events_;
  std::vector<iocb*> pending_;          // prepared, not yet taken by the kernel
  std::vector<ReadCompletion> failed_;  // refused at submission
  uint32_t in_flight_ = 0;
};

void AioReader::prepare(const ReadRequest& request) {
  iocb& block = blocks_[request.token];
  block = iocb{};
  block.aio_data = request.token;
  block.aio_lio_opcode = IOCB_CMD_PREAD;
  block.aio_fildes = static_cast<uint32_t>(request.fd);
  block.aio_buf = reinterpret_cast<uint64_t>(request.buffer);
  block.aio_nbytes = request.length;
  block.aio_offset = static_cast<int64_t>(request.offset);
  pending_.push_back(&block);
}

int AioReader::submit() {
  size_t done = 0;
  while (done < pending_.size()) {
    const long result =
        syscall(SYS_io_submit, context_, pending_.size() - done, pending_.data() + done);
    if (result > 0) {
      done += static_cast<size_t>(result);
      in_flight_ += static_cast<uint32_t>(result);
    } else if (result < 0 && errno == EINTR) {
      continue;
    } else if (result == 0 || errno == EAGAIN) {
      break;  // no room in the kernel: reaping makes some
    } else {
      // The error is that of the first block; the others may be fine.
      failed_.push_back({static_cast<uint32_t>(pending_[done]->aio_data), -errno});
      ++done;
    }
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(done));
  return 0;
}

uint32_t AioReader::collect_failed(std::span<ReadCompletion> out) {
  uint32_t count = 0;
  while (count < out.size() && !failed_.empty()) {
    out[count++] = failed_.back();
    failed_.pop_back();
  }
  return count;
}

int AioReader::wait_events(std::span<ReadCompletion> out, uint32_t least, const Deadline& end) {
  const size_t most = std::min(out.size(), events_.size());
  long result;
  for (;;) {
    const uint64_t left = least != 0 ? end.left_ns() : 0;
    timespec timeout{static_cast<time_t>(left / 1'000'000'000u),
                     static_cast<long>(left % 1'000'000'000u)};
    result = syscall(SYS_io_getevents, context_, static_cast<long>(least), static_cast<long>(most),
                     events_.data(), least != 0 ? &timeout : nullptr);
    if (result >= 0) break;
    if (errno != EINTR) return -errno;
    if (left == 0) return 0;
  }
  for (long i = 0; i < result; ++i)
    out[static_cast<size_t>(i)] = {static_cast<uint32_t>(events_[static_cast<size_t>(i)].data),
                                   static_cast<int32_t>(events_[static_cast<size_t>(i)].res)};
  in_flight_ -= static_cast<uint32_t>(result);
  return static_cast<int>(result);
}

int AioReader::reap(std::span<ReadCompletion> out, uint32_t least, int timeout_ms) {
  least = std::min<uint32_t>(least, static_cast<uint32_t>(out.size()));
  const Deadline end(timeout_ms);
  uint32_t count = collect_failed(out);
  for (;;) {
    if (!pending_.empty()) submit();
    count += collect_failed(out.subspan(count));
    const uint32_t want = count < least ? std::min(least - count, in_flight_) : 0;
    if (in_flight_ != 0 && count < out.size()) {
      const int result = wait_events(out.subspan(count), want, end);
      // What was collected before must reach the caller; a lasting error comes back next time.
      if (result < 0) return count != 0 ? static_cast<int>(count) : result;
      count += static_cast<uint32_t>(result);
      if (want != 0 && static_cast<uint32_t>(result) < want && end.passed()) break;
    }
    if (count >= least) break;
    if (in_flight_ != 0) continue;
    // Nothing can come, or the kernel has no room for anybody: try again.
    if (end.passed()) break;
    nanosleep(&kPollInterval, nullptr);
  }
  return static_cast<int>(count);
}

}  // namespace

Result<std::unique_ptr<Reader>> make_aio_reader(uint32_t depth) {
  auto reader = std::make_unique<AioReader>(depth);
  const int error = reader->open();
  if (error != 0) {
    return Status(ErrorCode::kUnsupported, -error,
                  std::string("Linux AIO is refused: ") + strerror(-error));
  }
  return std::unique_ptr<Reader>(std::move(reader));
}

}  // namespace row_store
