// Buffered reads leave nothing in the page cache, whatever the size of the kernel's pages.
#include "io/drop_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/scoped_env.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

using row_store::Extent;
using row_store::whole_pages;

namespace {

constexpr uint64_t kRows = 20'000;  // 5 MB: more than read-ahead brings for one read

// How much of a file the page cache holds.
uint64_t cached_pages(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  REQUIRE(fd >= 0);
  const auto bytes = static_cast<uint64_t>(::lseek(fd, 0, SEEK_END));
  void* map = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  REQUIRE(map != MAP_FAILED);
  // A byte for each of the kernel's pages; those are never smaller than 4096 bytes.
  std::vector<unsigned char> states(bytes / 4096 + 1);
  REQUIRE(::mincore(map, bytes, states.data()) == 0);
  ::munmap(map, bytes);
  ::close(fd);
  return static_cast<uint64_t>(
      std::count_if(states.begin(), states.end(), [](unsigned char state) { return state & 1; }));
}

void write_back(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  REQUIRE(::fsync(fd) == 0);  // dirty pages cannot be dropped
  REQUIRE(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
  ::close(fd);
}

}  // namespace

TEST_CASE("a range is widened to the kernel's pages", "[io]") {
  const auto check = [](Extent extent, uint64_t page_bytes, uint64_t begin, uint64_t end) {
    INFO(extent.offset << " + " << extent.bytes << " in pages of " << page_bytes);
    const Extent pages = whole_pages(extent, page_bytes);
    CHECK(pages.offset == begin);
    CHECK(pages.offset + pages.bytes == end);
  };
  for (const uint64_t page : {uint64_t{4096}, uint64_t{16384}, uint64_t{65536}}) {
    check({0, 4096}, page, 0, page);
    check({page - 4096, 4096}, page, 0, page);
    check({page, page}, page, page, 2 * page);
    check({page - 4096, 8192}, page, 0, 2 * page);
    check({10 * page + 1, 0}, page, 10 * page, 11 * page);
  }
}

TEST_CASE("buffered lookups of rows all over a file leave no page of it in memory", "[io]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  const ScopedEnv engine("DSV41_IO_ENGINE", "buffered");
  row_store_t* store = table.open(0);
  REQUIRE(store != nullptr);
  write_back(table.path);
  if (cached_pages(table.path) != 0) {
    WARN("not tested here: this file system does not drop its pages");
    row_store_close(store);
    return;
  }
  std::mt19937_64 random(4);
  std::vector<int64_t> ids(900);
  for (int64_t& id : ids) id = static_cast<int64_t>(random() % kRows);
  LookupBuffers buffers(ids.size());
  buffers.look_up(store, ids);
  CHECK(buffers.first_wrong(table, ids, 0, kRows) == -1);
  row_store_close(store);
  const uint64_t left = cached_pages(table.path);
  // What the same rows leave when nobody drops them is measured here: it depends on the kernel's
  // page size and file system. A few pages may stay beside those that were asked for.
  write_back(table.path);
  const int fd = ::open(table.path.c_str(), O_RDONLY);
  REQUIRE(::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0);
  for (const int64_t id : ids) {
    char row[256];
    const auto offset = static_cast<off_t>(table.weight_offset + static_cast<uint64_t>(id) * 256);
    REQUIRE(::pread(fd, row, sizeof row, offset) == 256);
  }
  ::close(fd);
  const uint64_t kept = cached_pages(table.path);
  INFO(left << " pages left of " << kept);
  CHECK(kept > 0);
  CHECK(left <= kept / 4);
}
