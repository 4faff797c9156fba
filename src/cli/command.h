// A subcommand of row-store: a name, a line for --help, and a function that declares its options
// and gives back what runs it.
#ifndef ROW_STORE_CLI_COMMAND_H
#define ROW_STORE_CLI_COMMAND_H

#include <functional>
#include <span>

#include "cli/console.h"
#include "cli/exit_code.h"

namespace CLI {
class App;
}

namespace row_store::cli {

// Runs once, after the command line was found right.
using CommandBody = std::function<ExitCode(Console& console)>;

struct Command {
  const char* name;
  const char* summary;  // a sentence without its full stop, below 70 columns
  // Adds options to `app` that write to where the body reads (a shared struct that both own); the
  // frame adds --json and --help.
  CommandBody (*declare)(CLI::App& app);
};

// All of them, in the order of --help.
std::span<const Command> commands();

}  // namespace row_store::cli

#endif  // ROW_STORE_CLI_COMMAND_H
