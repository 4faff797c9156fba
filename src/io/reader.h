// The seam between lookups and files: requests go in, completions come out, on the caller's thread.
//
// A Reader belongs to one lookup at a time (see context.h) and outlives it; requests carry their
// own descriptor, so one Reader serves any number of files. A completion gives the bytes that
// arrived or
// a negative errno; fewer bytes than asked is not an error here, the lookup knows what it needs. A
// buffer belongs to the Reader from prepare() until its completion was reaped.
#ifndef ROW_STORE_IO_READER_H
#define ROW_STORE_IO_READER_H

#include <cstdint>
#include <span>

namespace row_store {

enum class Engine : uint32_t { kUring = 0, kAio = 1, kPool = 2 };
inline constexpr uint32_t kEngineCount = 3;
const char* engine_name(Engine engine);

struct ReadRequest {
  int fd = -1;
  uint32_t length = 0;
  uint64_t offset = 0;
  uint8_t* buffer = nullptr;
  uint32_t token = 0;       // comes back with the completion
  bool drop_pages = false;  // buffered file: give the page cache its pages back
};

struct ReadCompletion {
  uint32_t token = 0;
  int32_t result = 0;  // bytes, or -errno
};

class Reader {
 public:
  virtual ~Reader() = default;

  // Queues a request; at most `depth` (given at creation) may be prepared or in flight.
  virtual void prepare(const ReadRequest& request) = 0;
  // Hands what was prepared to the kernel or the threads. 0 or -errno when the engine itself
  // failed; nothing is lost then, a later call may try again.
  virtual int submit() = 0;
  // Waits until `least` completions are there (0 never waits) or timeout_ms passed, and returns how
  // many were written to `out`. -errno when the engine itself failed.
  virtual int reap(std::span<ReadCompletion> out, uint32_t least, int timeout_ms) = 0;
};

}  // namespace row_store

#endif  // ROW_STORE_IO_READER_H
