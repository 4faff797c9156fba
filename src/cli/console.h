// Where a subcommand's words go: reports to stdout as text or as one JSON document, faults to
// stderr.
//
// With --json, stdout holds exactly one document, also after a failure ({"error": ...}); text() is
// silent then. A subcommand that reports over time writes one document a line instead. Text from
// files goes through quote() (format/text.h): a name may hold terminal escapes. One thread at a
// time.
#ifndef ROW_STORE_CLI_CONSOLE_H
#define ROW_STORE_CLI_CONSOLE_H

#include <string>

#include "base/status.h"
#include "cli/exit_code.h"
#include "cli/json.h"

namespace row_store::cli {

class Console {
 public:
  // command: the subcommand's name, for messages.
  Console(std::string command, bool json);

  bool json() const { return json_; }
  // Whether a person watches, on something that can move its cursor: a progress bar or a screen
  // may be drawn. Without it write plain lines.
  bool stdout_is_terminal() const { return stdout_is_terminal_; }
  bool stderr_is_terminal() const { return stderr_is_terminal_; }
  // Of the terminal, as it is now; 80 where there is none.
  unsigned columns() const;

  // To stdout, as it stands; nothing with --json.
  void text(const char* format, ...) __attribute__((format(printf, 2, 3)));
  // To stdout on a line of its own; nothing without --json. Bytes that are not UTF-8 come out as
  // U+FFFD.
  void document(const Json& value);
  // "row-store COMMAND: TEXT" to stderr, and with --json to nowhere else.
  void warn(const char* format, ...) __attribute__((format(printf, 2, 3)));
  // Hands over what was written so far, so that a pipe's reader sees it now.
  void flush();

  // Says what went wrong, here and in the document, and gives the exit code for it.
  ExitCode fail(const Status& status);
  ExitCode fail(const Status& status, ExitCode code);

  // The last call: `code`, or kCannotRun with a message when stdout did not take everything.
  ExitCode finish(ExitCode code);

 private:
  std::string command_;
  bool json_;
  bool stdout_is_terminal_;
  bool stderr_is_terminal_;
};

}  // namespace row_store::cli

#endif  // ROW_STORE_CLI_CONSOLE_H
