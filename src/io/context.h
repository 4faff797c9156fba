// What one running lookup owns: read buffers, readers, and the scratch of its plan.
//
// A process has a few contexts; each is made when that many lookups first run at once, and stays.
// Memory appears as it is touched: about 1 MiB of buffers, and scratch in proportion to the largest
// batch seen, at most kWindowRows rows of it.
#ifndef ROW_STORE_IO_CONTEXT_H
#define ROW_STORE_IO_CONTEXT_H

#include <array>
#include <cstdint>
#include <memory>

#include "base/memory_map.h"
#include "base/status.h"
#include "format/row_layout.h"
#include "io/reader.h"

namespace row_store {

inline constexpr uint32_t kContextMax = 8;      // lookups that run at once; more wait their turn
inline constexpr uint32_t kDepthMax = 512;      // reads in flight of one lookup
inline constexpr uint32_t kWindowRows = 65536;  // rows planned at a time
inline constexpr uint64_t kBufferBytes = 2 * kPageBytes;

class Context {
 public:
  static Result<std::unique_ptr<Context>> create(uint32_t depth, uint64_t scratch_bytes);
  ~Context();

  uint32_t depth() const { return depth_; }
  uint8_t* buffer(uint32_t index) const { return buffers_.data() + index * kBufferBytes; }
  uint8_t* scratch() const { return scratch_.data(); }
  // Makes the reader when it is first asked for; the pool's always works.
  Result<Reader*> reader(Engine engine);
  // Puts a reader in the engine's place, between lookups: benchmarks bring drives of their own.
  void set_reader(Engine engine, std::unique_ptr<Reader> reader);

 private:
  Context() = default;

  uint32_t depth_ = 0;
  MemoryMap buffers_;
  MemoryMap scratch_;
  std::array<std::unique_ptr<Reader>, kEngineCount> readers_;
};

// Makes the reader of an engine on its own, for a probe.
Result<std::unique_ptr<Reader>> make_reader(Engine engine, uint32_t depth);

// The process's contexts. acquire() waits when all are taken; a failure to make a further one is no
// failure while others exist.
class ContextPool {
 public:
  static ContextPool& instance();
  static void reset_in_child();

  Result<Context*> acquire(uint32_t depth, uint64_t scratch_bytes);
  void release(Context* context);

 private:
  struct State;
  ContextPool();
  std::unique_ptr<State> state_;
};

}  // namespace row_store

#endif  // ROW_STORE_IO_CONTEXT_H
