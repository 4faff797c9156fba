// row-store: one command around the library. Finds the subcommand, runs it, exits with its code.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/console.h"

namespace row_store::cli {
namespace {

struct Declared {
  CLI::App* app = nullptr;
  CommandBody body;
  bool json = false;
};

int as_int(ExitCode code) { return static_cast<int>(code); }

// Help and version go to stdout and are a success; everything else is the caller's mistake.
ExitCode report_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == as_int(ExitCode::kOk)) {
    app.exit(error);
    return Console("", false).finish(ExitCode::kOk);
  }
  std::string name = app.get_name();
  for (const CLI::App* sub : app.get_subcommands()) name += " " + sub->get_name();
  std::fprintf(stderr, "%s: %s\nTry: %s --help\n", name.c_str(), error.what(), name.c_str());
  return ExitCode::kUsage;
}

ExitCode run_chosen(const std::vector<Declared>& declared) {
  for (const Declared& command : declared) {
    if (!command.app->parsed()) continue;
    Console console(command.app->get_name(), command.json);
    return console.finish(command.body(console));
  }
  return ExitCode::kUsage;  // not reached: a subcommand is required
}

ExitCode run(int argc, char** argv) {
  CLI::App app("Serves, checks and explains packed rows of Engram tables", "row-store");
  app.set_version_flag("--version", "row-store " ROW_STORE_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 right, 1 something looked at is wrong, 2 wrong command line, 3 could not run."
      "\nEach command has its own --help; row-store(1) has them all.");
  std::vector<Declared> declared(commands().size());
  for (size_t i = 0; i < declared.size(); ++i) {
    const Command& command = commands()[i];
    declared[i].app = app.add_subcommand(command.name, command.summary);
    declared[i].body = command.declare(*declared[i].app);
    declared[i].app->add_flag("--json", declared[i].json, "Report as JSON, for scripts");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_parse(app, error);
  }
  return run_chosen(declared);
}

}  // namespace
}  // namespace row_store::cli

int main(int argc, char** argv) {
  using row_store::cli::ExitCode;
  try {
    return static_cast<int>(row_store::cli::run(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fputs("row-store: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "row-store: %s\n", error.what());
  }
  return static_cast<int>(ExitCode::kCannotRun);
}
