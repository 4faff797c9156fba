#include "cli/commands/inspect.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/inspect/report.h"

namespace row_store::cli {
namespace {

struct Options {
  std::string path;
  RankView view;
};

ExitCode inspect(const Options& options, Console& console) {
  struct stat found {};
  const bool is_folder = ::stat(options.path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
  return is_folder ? inspect_folder(options.path, options.view, console)
                   : inspect_file(options.path, console);
}

}  // namespace

CommandBody declare_inspect(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("PATH", options->path, "A checkpoint's folder, a file of it, or a packed shard")
      ->required();
  app.add_option("--rank", options->view.rank, "Of a folder: what the adapter opens on this rank")
      ->envname("NODE_RANK");
  app.add_option("--tp", options->view.tp, "Number of ranks")->envname("TP_SIZE");
  app.add_option("--packed-dir", options->view.packed_dir, "Where the rank's packed shards are")
      ->envname("DSV41_PACKED_DIR");
  return [options](Console& console) { return inspect(*options, console); };
}

}  // namespace row_store::cli
