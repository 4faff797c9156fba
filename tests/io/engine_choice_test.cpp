// Which engine reads where some are forbidden, what is said about it, and that the rows stay right.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>
#include <vector>

#include "io/context.h"
#include "support/catch.h"
#include "support/child.h"
#include "support/scoped_env.h"
#include "support/seccomp.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

namespace {

constexpr uint64_t kRows = 3001;

bool rows_are_right(row_store_t* store, const TestTable& table) {
  std::mt19937_64 random(9);
  std::vector<int64_t> ids(2500);
  for (int64_t& id : ids) id = static_cast<int64_t>(random() % kRows);
  LookupBuffers buffers(ids.size());
  buffers.look_up(store, ids);
  return buffers.first_wrong(table, ids, 0, kRows) == -1;
}

uint64_t engine_of(row_store_t* store) {
  row_store_statistics stats{};
  stats.struct_bytes = sizeof stats;
  row_store_extended_stats(store, &stats);
  return stats.checkpoint_engine;
}

bool uring_works() { return row_store::make_reader(row_store::Engine::kUring, 8).ok(); }
bool aio_works() { return row_store::make_reader(row_store::Engine::kAio, 8).ok(); }

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// Opens, looks up twice and says which engine did it; 90 and more are failures.
int serve(const TestTable& table) {
  row_store_t* store = table.open(0);
  if (store == nullptr) return 91;
  if (!rows_are_right(store, table) || !rows_are_right(store, table)) return 92;
  const auto engine = static_cast<int>(engine_of(store));
  row_store_close(store);
  return engine;
}

}  // namespace

TEST_CASE("where io_uring is forbidden Linux AIO reads, and one line says why", "[engine]") {
  if (!uring_works() || !aio_works()) return;  // a sandbox forbids them to the tests as well
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  for (const int error : {EPERM, ENOSYS}) {
    INFO("errno " << error);
    const ChildResult child = run_in_child([&] {
      if (!refuse_system_calls({SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register},
                               error))
        return 90;
      return serve(table);
    });
    INFO(child.standard_error);
    CHECK(child.exit_code == ROW_STORE_ENGINE_AIO);
    CHECK(line_count(child.standard_error) == 1);
    CHECK(child.standard_error.find(table.path + ": not reading with io_uring: ") !=
          std::string::npos);
    CHECK(child.standard_error.find(error == EPERM
                                        ? "a container's seccomp profile"
                                        : "kernel or sandbox without it") != std::string::npos);
    CHECK(child.standard_error.find("; trying aio\n") != std::string::npos);
  }
}

TEST_CASE("where both are forbidden threads read, and one line each says why", "[engine]") {
  if (!uring_works() || !aio_works()) return;
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  for (const int error : {EPERM, ENOSYS}) {
    const ChildResult child = run_in_child([&] {
      if (!refuse_system_calls({SYS_io_uring_setup, SYS_io_setup}, error)) return 90;
      return serve(table);
    });
    INFO(child.standard_error);
    CHECK(child.exit_code == ROW_STORE_ENGINE_THREADS);
    CHECK(line_count(child.standard_error) == 2);
    CHECK(count(child.standard_error, "not reading with io_uring") == 1);
    CHECK(count(child.standard_error, "not reading with aio") == 1);
    CHECK(count(child.standard_error, "; trying threads\n") == 1);
  }
}

TEST_CASE("an engine that is forbidden after the open hands over to threads", "[engine]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  struct Case {
    const char* engine;
    long call;
    uint64_t number;
  };
  for (const Case& c : {Case{"uring", SYS_io_uring_enter, ROW_STORE_ENGINE_URING},
                        Case{"aio", SYS_io_submit, ROW_STORE_ENGINE_AIO}}) {
    if (c.number == ROW_STORE_ENGINE_URING ? !uring_works() : !aio_works()) continue;
    INFO("engine " << c.engine);
    const ScopedEnv engine("DSV41_IO_ENGINE", c.engine);
    const ChildResult child = run_in_child([&] {
      row_store_t* store = table.open(0);
      if (store == nullptr || engine_of(store) != c.number) return 91;
      if (!rows_are_right(store, table)) return 92;
      if (!refuse_system_calls({c.call}, EPERM)) return 90;
      for (int i = 0; i < 3; ++i)
        if (!rows_are_right(store, table)) return 93;
      if (engine_of(store) != ROW_STORE_ENGINE_THREADS) return 94;
      return 0;
    });
    INFO(child.standard_error);
    CHECK(child.exit_code == 0);
    CHECK(line_count(child.standard_error) == 1);
    CHECK(count(child.standard_error, "stopped working: Operation not permitted") == 1);
  }
}

TEST_CASE("an engine that was asked for by name is tried alone", "[engine]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  const auto engine_for = [&](const char* name) {
    const ScopedEnv engine("DSV41_IO_ENGINE", name);
    return run_in_child([&] { return serve(table); });
  };
  if (uring_works()) CHECK(engine_for("uring").exit_code == ROW_STORE_ENGINE_URING);
  if (aio_works()) CHECK(engine_for("aio").exit_code == ROW_STORE_ENGINE_AIO);
  CHECK(engine_for("pool").exit_code == ROW_STORE_ENGINE_THREADS);
  CHECK(engine_for("buffered").exit_code == ROW_STORE_ENGINE_THREADS);
  const ScopedEnv engine("DSV41_IO_ENGINE", "uring");
  const ChildResult child = run_in_child([&] {
    if (!refuse_system_calls({SYS_io_uring_setup}, EPERM)) return 90;
    return serve(table);
  });
  CHECK(child.exit_code == ROW_STORE_ENGINE_THREADS);
  CHECK(line_count(child.standard_error) == 1);
}

TEST_CASE("where direct reads are refused buffered ones serve checkpoint and shard", "[engine]") {
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  table.write_packed(dir.file("p"), row_store::PackedLayout::kDense, 1, 0, kRows);
  const ChildResult child = run_in_child([&] {
    if (!refuse_direct_opens(EINVAL)) return 90;
    row_store_t* store = table.open(0);
    if (store == nullptr) return 91;
    if (!rows_are_right(store, table)) return 92;
    if (row_store_attach_packed(store, dir.file("p").c_str(), 1) != 1) return 93;
    if (!rows_are_right(store, table)) return 94;
    row_store_statistics stats{};
    stats.struct_bytes = sizeof stats;
    row_store_extended_stats(store, &stats);
    row_store_close(store);
    return stats.checkpoint_access == ROW_STORE_ACCESS_BUFFERED &&
                   stats.packed_access == ROW_STORE_ACCESS_BUFFERED
               ? 0
               : 95;
  });
  INFO(child.standard_error);
  CHECK(child.exit_code == 0);
  CHECK(count(child.standard_error, "O_DIRECT unavailable for " + table.path) == 1);
  CHECK(count(child.standard_error, "O_DIRECT unavailable for " + dir.file("p")) == 1);
  CHECK(count(child.standard_error, "errno was 22, Invalid argument") == 2);
  CHECK(line_count(child.standard_error) == 3);  // the third says where rows come from now
}

TEST_CASE("a user without locked memory is served", "[engine]") {
  if (::getuid() != 0) return;  // root becomes another user; others cannot
  const TempDir dir;
  const TestTable table = TestTable::checkpoint(dir.file("t"), kRows);
  const ChildResult child = run_in_child([&] {
    const int file = ::open(table.path.c_str(), O_RDONLY);
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0 || ::setuid(65534) != 0) return 90;
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // or /proc/self stays root's
    TestTable mine = table;
    mine.path = "/proc/self/fd/" + std::to_string(file);
    return serve(mine);
  });
  INFO(child.standard_error);
  CHECK((child.exit_code >= ROW_STORE_ENGINE_URING && child.exit_code <= ROW_STORE_ENGINE_THREADS));
  // Newer kernels charge rings elsewhere; where they do not, the limit is named.
  if (child.exit_code != ROW_STORE_ENGINE_URING && uring_works())
    CHECK(child.standard_error.find("RLIMIT_MEMLOCK") != std::string::npos);
}
