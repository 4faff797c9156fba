// A lookup allocates nothing once the process is warm: it may run where memory has run out.
//
// This executable's malloc stands before the C library's for the shared library too. It counts the
// calls of threads that asked for it, and makes them fail if told so.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "support/catch.h"
#include "support/child.h"
#include "support/scoped_env.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ROW_STORE_COUNTS_MALLOC 1
#endif

namespace {

std::atomic<bool> g_counting{false};
std::atomic<uint64_t> g_allocations{0};

}  // namespace

#ifdef ROW_STORE_COUNTS_MALLOC
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

static void count_one() {
  if (g_counting.load(std::memory_order_relaxed))
    g_allocations.fetch_add(1, std::memory_order_relaxed);
}
void* malloc(size_t bytes) {
  count_one();
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  count_one();
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  count_one();
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  count_one();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  count_one();
  *out = __libc_memalign(alignment, bytes);
  return *out != nullptr ? 0 : ENOMEM;
}
}
#endif

namespace {

constexpr uint64_t kRows = 12'007;

// Allocations of the whole process, the library's threads included, during lookups of these
// batches.
[[maybe_unused]] uint64_t allocations_of(row_store_t* store, const TestTable& table,
                                         uint64_t salt) {
  std::vector<std::vector<int64_t>> batches;
  for (const uint64_t count : {1, 144, 3000, 20'000, 66'000}) {
    batches.emplace_back(count);
    for (uint64_t i = 0; i < count; ++i)
      batches.back()[i] = static_cast<int64_t>((i * 7919 + salt) % kRows);
  }
  LookupBuffers buffers(66'000);
  uint64_t wrong = 0;
  g_allocations = 0;
  for (const std::vector<int64_t>& ids : batches) {
    g_counting = true;
    buffers.look_up(store, ids);
    g_counting = false;
    wrong += buffers.first_wrong(table, ids, 0, kRows) != -1;
  }
  CHECK(wrong == 0);
  return g_allocations;
}

}  // namespace

TEST_CASE("a warm lookup allocates nothing, whatever engine reads", "[allocation]") {
#ifdef ROW_STORE_COUNTS_MALLOC
  // The counting works, or this test could not fail. A volatile pointer, or the pair is optimised
  // away.
  g_counting = true;
  void* volatile probe = std::malloc(10);
  std::free(probe);
  auto* volatile object = new int(1);
  delete object;
  g_counting = false;
  REQUIRE(g_allocations == 2);
  for (const char* engine : {"uring", "aio", "pool", "buffered"}) {
    for (const bool packed : {false, true}) {
      INFO("engine " << engine << (packed ? ", packed" : ""));
      const ScopedEnv io_engine("DSV41_IO_ENGINE", engine);
      const TempDir dir;
      const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
      row_store_t* store = table.open(kRows / 4 * 264);
      REQUIRE(store != nullptr);
      if (packed) {
        table.write_packed(dir.file("p"), row_store::PackedLayout::kDense, 1, 0, kRows);
        REQUIRE(row_store_attach_packed(store, dir.file("p").c_str(), 1) == 1);
      }
      allocations_of(store, table, 0);  // warms: threads start, readers are made
      CHECK(allocations_of(store, table, 1) == 0);
      row_store_close(store);
    }
  }
#else
  WARN("not tested under a sanitizer, which brings its own malloc");
#endif
}
