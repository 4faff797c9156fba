// The one list of subcommands; each is a pair of files in commands/.
#include "cli/command.h"
#include "cli/commands/inspect.h"

namespace row_store::cli {

std::span<const Command> commands() {
  static constexpr Command kCommands[] = {
      {"inspect", "Say what a file or a checkpoint folder is and what serves from it",
       declare_inspect},
  };
  return kCommands;
}

}  // namespace row_store::cli
