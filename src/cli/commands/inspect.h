// row-store inspect: what a file is, from its first bytes and its size.
#ifndef ROW_STORE_CLI_COMMANDS_INSPECT_H
#define ROW_STORE_CLI_COMMANDS_INSPECT_H

#include "cli/command.h"

namespace row_store::cli {

CommandBody declare_inspect(CLI::App& app);

}  // namespace row_store::cli

#endif  // ROW_STORE_CLI_COMMANDS_INSPECT_H
