// What the row-store command tells its caller, the same for each subcommand.
#ifndef ROW_STORE_CLI_EXIT_CODE_H
#define ROW_STORE_CLI_EXIT_CODE_H

#include "base/status.h"

namespace row_store::cli {

// Public: row-store.1 and docs/errors.md list them.
enum class ExitCode : int {
  kOk = 0,
  kFoundWrong = 1,  // it ran, and what it looked at is not as it should be
  kUsage = 2,       // the command line is wrong; nothing was done
  kCannotRun = 3,   // a file, a permission, memory or the platform stood in the way
};

// kUsage for an argument, kCannotRun for I/O, memory and the platform, else kFoundWrong: the
// file's own fault.
ExitCode exit_code_of(const Status& status);

}  // namespace row_store::cli

#endif  // ROW_STORE_CLI_EXIT_CODE_H
