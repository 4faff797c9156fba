#include "io/table_file.h"

#include <fcntl.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "base/fatal.h"
#include "base/memory_map.h"
#include "format/row_layout.h"
#include "io/context.h"
#include "io/drop_pages.h"
#include "io/pread_full.h"

namespace row_store {
namespace {

constexpr uint32_t kProbeReads = 8;
constexpr int kReadTries = 3;
constexpr int kProbeTimeoutMs = 5000;

// Network file systems punt asynchronous direct reads to kernel threads or refuse them.
bool is_remote(int fd) {
  constexpr uint32_t kNfs = 0x6969, kSmb = 0x517B, kCifs = 0xFF534D42, kSmb2 = 0xFE534D42,
                     k9p = 0x01021997, kAfs = 0x5346414F, kCeph = 0x00C36400;
  struct statfs info;
  if (::fstatfs(fd, &info) != 0) return false;
  const auto type = static_cast<uint32_t>(info.f_type);
  return type == kNfs || type == kSmb || type == kCifs || type == kSmb2 || type == k9p ||
         type == kAfs || type == kCeph;
}

// Half of the block queue's tags: beyond that the kernel blocks the submitter or punts to threads.
uint32_t device_depth(dev_t device, uint32_t most) {
  char path[96];
  // A partition's queue is its disk's.
  for (const char* up : {"", "/.."}) {
    std::snprintf(path, sizeof path, "/sys/dev/block/%u:%u%s/queue/nr_requests", major(device),
                  minor(device), up);
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    char text[32] = {};
    const ssize_t got = ::read(fd, text, sizeof text - 1);
    ::close(fd);
    const long tags = got > 0 ? std::strtol(text, nullptr, 10) : 0;
    if (tags >= 2) return std::min(most, static_cast<uint32_t>(tags / 2));
  }
  return most;
}

const char* refusal_hint(int sys_errno) {
  switch (sys_errno) {
    case EPERM:
    case EACCES:
      return " (a container's seccomp profile, or sysctl kernel.io_uring_disabled)";
    case ENOSYS:
      return " (kernel or sandbox without it)";
    case ENOMEM:
      return " (RLIMIT_MEMLOCK: raise ulimit -l)";
    case EAGAIN:
      return " (sysctl fs.aio-max-nr is used up)";
    default:
      return "";
  }
}

// Reads the pages at `offsets` through a reader and compares them with `expected`.
Status probe_reader(Reader& reader, int fd, const std::vector<uint64_t>& offsets, uint8_t* buffers,
                    const std::vector<std::string>& expected) {
  for (uint32_t i = 0; i < offsets.size(); ++i)
    reader.prepare({fd, kPageBytes, offsets[i], buffers + i * kPageBytes, i, false});
  if (const int error = reader.submit(); error < 0)
    return {ErrorCode::kUnsupported, -error, std::string("submit: ") + strerror(-error)};
  uint32_t done = 0;
  Status failed;
  ReadCompletion completions[kProbeReads];
  while (done < offsets.size()) {
    const int count =
        reader.reap(completions, static_cast<uint32_t>(offsets.size()) - done, kProbeTimeoutMs);
    if (count < 0)
      return {ErrorCode::kUnsupported, -count, std::string("reap: ") + strerror(-count)};
    if (count == 0) return {ErrorCode::kUnsupported, ETIMEDOUT, "reads do not come back"};
    for (int i = 0; i < count; ++i) {
      const auto [token, result] = completions[i];
      const std::string& page = expected[token];
      if (result < 0) {
        failed = {ErrorCode::kUnsupported, -result, std::string("read: ") + strerror(-result)};
      } else if (static_cast<uint64_t>(result) < page.size() ||
                 std::memcmp(buffers + token * kPageBytes, page.data(), page.size()) != 0) {
        failed = {ErrorCode::kUnsupported, EIO, "read: other bytes than pread"};
      }
    }
    done += static_cast<uint32_t>(count);
  }
  return failed;
}

}  // namespace

Result<std::unique_ptr<TableFile>> TableFile::open(const std::string& path, EngineChoice choice) {
  const auto failure = [&path](ErrorCode code, int error, const std::string& text) {
    return Status(code, error, path + ": " + text);
  };
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  std::unique_ptr<TableFile> file(new TableFile);
  file->path_ = path;
  int direct_errno = 0;
  if (choice != EngineChoice::kBuffered) {
    file->fd_ = ::open(path.c_str(), kFlags | O_DIRECT);
    file->direct_ = file->fd_ >= 0;
    if (!file->direct_) direct_errno = errno;
  }
  if (file->fd_ < 0) file->fd_ = ::open(path.c_str(), kFlags);
  if (file->fd_ < 0) {
    const int error = errno;
    return failure(ErrorCode::kIo, error,
                   std::string("cannot open: ") + strerror(error) +
                       "; check the path, the mount and the process's permissions");
  }
  if (::fstat(file->fd_, &file->stat_) != 0) {
    const int error = errno;
    return failure(ErrorCode::kIo, error, std::string("cannot stat: ") + strerror(error));
  }
  if (!S_ISREG(file->stat_.st_mode)) {
    const int error = S_ISDIR(file->stat_.st_mode) ? EISDIR : EINVAL;
    return failure(ErrorCode::kNotFile, error,
                   "not a regular file; name the .safetensors or .bin file itself");
  }
  if (file->direct_) {
    // Some file systems refuse at the first read, not at open.
    Result<MemoryMap> page = MemoryMap::create(kPageBytes);
    if (!page.ok()) return page.status();
    const int64_t got = pread_full(file->fd_, page.value().data(), kPageBytes, 0);
    if (got == -EINVAL || got == -EOPNOTSUPP) {
      direct_errno = static_cast<int>(-got);
      ::close(file->fd_);
      file->fd_ = ::open(path.c_str(), kFlags);
      file->direct_ = false;
      if (file->fd_ < 0) {
        const int error = errno;
        return failure(ErrorCode::kIo, error, std::string("cannot open: ") + strerror(error));
      }
    }
  }
  if (direct_errno != 0) {
    log_line(
        "O_DIRECT unavailable for %s, using buffered reads that drop their pages (errno was %d, "
        "%s)",
        path.c_str(), direct_errno, strerror(direct_errno));
  }
  file->read_blocking();
  // Rows are scattered: read-ahead would bring pages that nobody asked for and nobody drops.
  if (!file->direct_) ::posix_fadvise(file->fd_, 0, 0, POSIX_FADV_RANDOM);
  file->remote_ = is_remote(file->fd_);
  file->depth_ = device_depth(file->stat_.st_dev, process_options().io_depth);
  return file;
}

// O_NONBLOCK was for the opening of what might have been a FIFO; some file systems answer reads of
// such a descriptor with EAGAIN.
void TableFile::read_blocking() {
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags >= 0) ::fcntl(fd_, F_SETFL, flags & ~O_NONBLOCK);
}

TableFile::~TableFile() {
  if (fd_ >= 0) ::close(fd_);
}

void TableFile::choose_engine(EngineChoice choice) {
  engine_ = Engine::kPool;
  if (!direct_ || choice == EngineChoice::kPool || choice == EngineChoice::kBuffered) return;
  if (remote_ && choice == EngineChoice::kAuto) {
    log_line("%s: on a network file system, reading with threads", path_.c_str());
    return;
  }
  const uint64_t pages = bytes() / kPageBytes;  // whole ones
  const uint32_t count = static_cast<uint32_t>(std::min<uint64_t>(kProbeReads, pages));
  if (count == 0) return;
  Result<MemoryMap> buffers = MemoryMap::create(kProbeReads * kPageBytes);
  if (!buffers.ok()) return;
  std::vector<uint64_t> offsets;
  std::vector<std::string> expected;
  for (uint32_t i = 0; i < count; ++i) {
    offsets.push_back(pages / count * i * kPageBytes);
    const int64_t got = pread_full(fd_, buffers.value().data(), kPageBytes, offsets.back());
    if (got < 0) return;  // a file that cannot be read says so when it is
    expected.emplace_back(reinterpret_cast<char*>(buffers.value().data()),
                          static_cast<size_t>(got));
  }
  for (const Engine engine : {Engine::kUring, Engine::kAio}) {
    if (engine == Engine::kUring && choice == EngineChoice::kAio) continue;
    if (engine == Engine::kAio && choice == EngineChoice::kUring) continue;
    Result<std::unique_ptr<Reader>> reader = make_reader(engine, kProbeReads);
    const Status status =
        reader.ok() ? probe_reader(*reader.value(), fd_, offsets, buffers.value().data(), expected)
                    : reader.status();
    if (status.ok()) {
      engine_ = engine;
      return;
    }
    log_line("%s: not reading with %s: %s%s; trying %s", path_.c_str(), engine_name(engine),
             status.text().c_str(), refusal_hint(status.sys_errno()),
             engine == Engine::kUring && choice == EngineChoice::kAuto ? "aio" : "threads");
  }
}

bool TableFile::demote(int sys_errno) {
  if (sys_errno != EPERM && sys_errno != EACCES && sys_errno != ENOSYS && sys_errno != EOPNOTSUPP)
    return false;
  const Engine before = engine_.exchange(Engine::kPool, std::memory_order_relaxed);
  if (before == Engine::kPool) return false;
  log_line("%s: %s stopped working: %s%s; reading with threads from now on", path_.c_str(),
           engine_name(before), strerror(sys_errno), refusal_hint(sys_errno));
  return true;
}

int64_t TableFile::read(uint8_t* buffer, uint64_t length, uint64_t offset, uint32_t* tries) const {
  int64_t got = -EIO;
  for (int attempt = 0; attempt < kReadTries; ++attempt) {
    if (tries != nullptr) ++*tries;
    got = pread_full(fd_, buffer, length, offset);
    if (got >= 0) break;
    if (attempt + 1 < kReadTries) ::usleep(1000u << attempt);
  }
  if (!direct_ && got > 0) drop_pages(fd_, {offset, length});
  return got;
}

Result<std::string> read_head(const TableFile& file, uint64_t length) {
  const uint64_t padded = align_up(std::min(length, file.bytes()), kPageBytes);
  if (padded == 0) return std::string();
  Result<MemoryMap> buffer = MemoryMap::create(padded);
  if (!buffer.ok()) return buffer.status();
  const int64_t got = file.read(buffer.value().data(), padded, 0);
  if (got < 0) {
    return Status(ErrorCode::kIo, static_cast<int>(-got),
                  file.path() + ": cannot read its head: " + strerror(static_cast<int>(-got)));
  }
  return std::string(reinterpret_cast<char*>(buffer.value().data()),
                     std::min<uint64_t>(static_cast<uint64_t>(got), length));
}

}  // namespace row_store
