#include "cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace row_store::cli {
namespace {

bool is_terminal(int fd) {
  const char* kind = std::getenv("TERM");
  return isatty(fd) != 0 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

}  // namespace

Console::Console(std::string command, bool json)
    : command_(std::move(command)),
      json_(json),
      stdout_is_terminal_(is_terminal(STDOUT_FILENO)),
      stderr_is_terminal_(is_terminal(STDERR_FILENO)) {}

unsigned Console::columns() const {
  constexpr unsigned kColumns = 80;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    winsize size{};
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) return size.ws_col;
  }
  return kColumns;
}

void Console::text(const char* format, ...) {
  if (json_) return;
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
}

void Console::document(const Json& value) {
  if (!json_) return;
  const std::string line =
      value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
}

void Console::warn(const char* format, ...) {
  // What was reported before stands before it where both go to one place.
  std::fflush(stdout);
  std::fprintf(stderr, "row-store %s: ", command_.c_str());
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
}

void Console::flush() { std::fflush(stdout); }

ExitCode Console::fail(const Status& status) { return fail(status, exit_code_of(status)); }

ExitCode Console::fail(const Status& status, ExitCode code) {
  warn("%s", status.text().c_str());
  document({{"error",
             {{"class", error_code_name(status.code())},
              {"errno", status.sys_errno()},
              {"text", status.text()}}}});
  return code;
}

ExitCode Console::finish(ExitCode code) {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return code;
  const int cause = errno;
  std::fprintf(stderr, "row-store %s: the report was cut short, stdout: %s\n", command_.c_str(),
               cause != 0 ? std::strerror(cause) : "an earlier write failed");
  return ExitCode::kCannotRun;
}

}  // namespace row_store::cli
