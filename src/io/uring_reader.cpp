#include "io/uring_reader.h"

#include <liburing.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/clock.h"

namespace row_store {
namespace {

constexpr unsigned kEntriesLeast = 32;

class UringReader final : public Reader {
 public:
  explicit UringReader(uint32_t depth) : tokens_(depth) {}
  ~UringReader() override {
    if (open_) io_uring_queue_exit(&ring_);
  }

  int open();
  void prepare(const ReadRequest& request) override;
  int submit() override;
  int reap(std::span<ReadCompletion> out, uint32_t least, int timeout_ms) override;

 private:
  uint32_t collect(std::span<ReadCompletion> out);
  void break_down(int error);
  void flush_for_room();

  io_uring ring_{};
  bool open_ = false;
  int broken_ =
      0;  // -errno since io_uring_enter was refused; then only what is in flight is reaped
  // Tokens in the order of preparation (a ring): the last io_uring_sq_ready() are not submitted
  // yet.
  std::vector<uint32_t> tokens_;
  uint64_t prepared_ = 0;
  // Tokens that failed without reaching the kernel.
  std::vector<uint32_t> failed_;
};

int UringReader::open() {
  failed_.reserve(tokens_.size());
  // The kernel charges a ring to RLIMIT_MEMLOCK, so a smaller one may fit where this depth does
  // not. A ring smaller than the depth only means more submissions.
  unsigned entries = static_cast<unsigned>(tokens_.size());
  unsigned flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE;
  for (;;) {
    io_uring_params params{};
    params.flags = flags;
    params.cq_entries = 2 * std::max<unsigned>(static_cast<unsigned>(tokens_.size()), entries);
    const int error = io_uring_queue_init_params(entries, &ring_, &params);
    if (error == 0) break;
    if (error == -EINVAL && flags != IORING_SETUP_CQSIZE) {
      flags = IORING_SETUP_CQSIZE;  // kernels before 5.19
    } else if (error == -ENOMEM && entries > kEntriesLeast) {
      entries = std::max(kEntriesLeast, entries / 2);
    } else {
      return error;
    }
  }
  open_ = true;
  // A child that used the parent's ring would steal its completions.
  return io_uring_ring_dontfork(&ring_);
}

void UringReader::flush_for_room() {
  while (io_uring_sq_space_left(&ring_) == 0 && broken_ == 0)
    if (submit() == 0 && io_uring_sq_space_left(&ring_) == 0) sched_yield();
}

void UringReader::prepare(const ReadRequest& request) {
  flush_for_room();
  if (broken_ != 0) {
    failed_.push_back(request.token);
    return;
  }
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  io_uring_prep_read(sqe, request.fd, request.buffer, request.length, request.offset);
  io_uring_sqe_set_data64(sqe, request.token);
  tokens_[prepared_++ % tokens_.size()] = request.token;
}

// The kernel refused io_uring_enter for good, so what was not submitted fails here. What was can
// still be reaped: completions arrive in shared memory.
void UringReader::break_down(int error) {
  if (broken_ != 0) return;
  broken_ = error;
  const unsigned unsubmitted = io_uring_sq_ready(&ring_);
  for (unsigned back = unsubmitted; back != 0; --back)
    failed_.push_back(tokens_[(prepared_ - back) % tokens_.size()]);
}

int UringReader::submit() {
  if (broken_ != 0) return 0;
  const int result = io_uring_submit(&ring_);
  // Busy: completions must be reaped first; the requests stay queued.
  if (result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY) return 0;
  break_down(result);
  return 0;
}

uint32_t UringReader::collect(std::span<ReadCompletion> out) {
  uint32_t count = 0;
  while (count < out.size() && !failed_.empty()) {
    out[count++] = {failed_.back(), broken_};
    failed_.pop_back();
  }
  io_uring_cqe* cqe = nullptr;
  while (count < out.size() && io_uring_peek_cqe(&ring_, &cqe) == 0) {
    out[count++] = {static_cast<uint32_t>(io_uring_cqe_get_data64(cqe)), cqe->res};
    io_uring_cqe_seen(&ring_, cqe);
  }
  return count;
}

int UringReader::reap(std::span<ReadCompletion> out, uint32_t least, int timeout_ms) {
  constexpr timespec kPollInterval{0, 50'000};
  least = std::min<uint32_t>(least, static_cast<uint32_t>(out.size()));
  uint32_t count = collect(out);
  if (count >= least) return static_cast<int>(count);
  const Deadline end(timeout_ms);
  while (count < least) {
    const uint64_t left = end.left_ns();
    if (broken_ != 0) {
      if (left == 0) break;
      nanosleep(&kPollInterval, nullptr);
    } else {
      __kernel_timespec timeout{static_cast<int64_t>(left / 1'000'000'000u),
                                static_cast<int64_t>(left % 1'000'000'000u)};
      io_uring_cqe* cqe = nullptr;
      const int result =
          io_uring_submit_and_wait_timeout(&ring_, &cqe, least - count, &timeout, nullptr);
      const bool is_short = result == -EAGAIN || result == -EBUSY;  // of something, for now
      if (result == -ETIME || (left == 0 && (is_short || result == -EINTR))) {
        count += collect(out.subspan(count));
        break;
      }
      if (is_short) {
        // Asking at once again would only burn a core.
        nanosleep(&kPollInterval, nullptr);
      } else if (result < 0 && result != -EINTR) {
        break_down(result);
      }
    }
    count += collect(out.subspan(count));
  }
  return static_cast<int>(count);
}

}  // namespace

Result<std::unique_ptr<Reader>> make_uring_reader(uint32_t depth) {
  auto reader = std::make_unique<UringReader>(depth);
  const int error = reader->open();
  if (error != 0) {
    return Status(ErrorCode::kUnsupported, -error,
                  std::string("io_uring is refused: ") + strerror(-error));
  }
  return std::unique_ptr<Reader>(std::move(reader));
}

}  // namespace row_store
