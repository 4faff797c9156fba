// An open table file and the way its rows are read: directly where the file system allows it, by
// the best engine that gives the right bytes here.
//
// Immutable but for demotion. No table bytes are mapped: a truncated file is an error, never a
// SIGBUS.
#ifndef ROW_STORE_IO_TABLE_FILE_H
#define ROW_STORE_IO_TABLE_FILE_H

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/options.h"
#include "base/status.h"
#include "io/reader.h"

namespace row_store {

class TableFile {
 public:
  // Never blocks on a FIFO; follows symbolic links. Announces a fall-back from direct reads.
  static Result<std::unique_ptr<TableFile>> open(const std::string& path, EngineChoice choice);
  ~TableFile();
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;

  // Reads real pages through each engine in turn and keeps the first that gives the same bytes as
  // pread; announces each step down with its cause.
  void choose_engine(EngineChoice choice);

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  uint64_t bytes() const { return static_cast<uint64_t>(stat_.st_size); }
  const struct stat& identity() const { return stat_; }
  bool direct() const { return direct_; }
  Engine engine() const { return engine_.load(std::memory_order_relaxed); }
  // Most reads in flight that this file's device takes without blocking the submitter.
  uint32_t depth() const { return depth_; }

  // For good, when a read was refused with EPERM, EACCES, ENOSYS or EOPNOTSUPP: the engine is not
  // allowed after all. Returns whether it changed anything.
  bool demote(int sys_errno);

  // A read that failed after its retries, or gave wrong bytes; which one it was. The first is worth
  // a line, and so is the one that makes the file be given up.
  static constexpr uint32_t kFailuresBeforeGivingUp = 8;
  uint32_t count_failure() { return failures_.fetch_add(1, std::memory_order_relaxed) + 1; }
  // So many that the file should not be asked again: each costs its retries.
  bool given_up() const {
    return failures_.load(std::memory_order_relaxed) >= kFailuresBeforeGivingUp;
  }

  // Reads [offset, offset + length) with bounded retries into `buffer`; offset, length and buffer
  // are page-aligned. Returns bytes (short at the end of the file) or -errno; `tries`, if not null,
  // is raised by the attempts made.
  int64_t read(uint8_t* buffer, uint64_t length, uint64_t offset, uint32_t* tries = nullptr) const;

 private:
  TableFile() = default;
  void read_blocking();

  int fd_ = -1;
  std::string path_;
  struct stat stat_ {};
  bool direct_ = false;
  bool remote_ = false;
  uint32_t depth_ = 0;
  std::atomic<uint32_t> failures_{0};
  std::atomic<Engine> engine_{Engine::kPool};
};

// Page-aligned reads of the head of a file, up to `length` bytes.
Result<std::string> read_head(const TableFile& file, uint64_t length);

}  // namespace row_store

#endif  // ROW_STORE_IO_TABLE_FILE_H
