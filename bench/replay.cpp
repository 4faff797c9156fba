// replay: what do these builds of librow_store.so cost on a real access trace, side by side?
//
// Plays .egtrace files against any number of libraries given by path, call by call in turn in one
// process, on a table that it makes itself (or finds in --dir), and compares every byte. The first
// library is what the others are measured against.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/table_builder.h"
#include "replay/player.h"
#include "replay/summary.h"
#include "trace/trace_file.h"

namespace row_store::bench {
namespace {

constexpr uint64_t kSeed = 7;
constexpr double kMiB = 1 << 20;

enum class Packed { kNone, kDense, kPage15 };

struct Options {
  std::vector<std::string> libraries;
  std::vector<std::string> traces;
  std::string dir;
  uint64_t base = 160000;
  double budget_mib = 128;
  Packed packed = Packed::kNone;
  PlayOptions play;
};

// Each argument is PATH or NAME=PATH.
std::vector<NamedLibrary> load_libraries(const std::vector<std::string>& arguments) {
  std::vector<NamedLibrary> libraries;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    const bool named = equals != std::string::npos;
    const std::string path = named ? argument.substr(equals + 1) : argument;
    const std::string number = std::to_string(libraries.size() + 1);
    libraries.push_back({Library::load(path), named ? argument.substr(0, equals) : number});
    std::printf("%-12s %s\n", libraries.back().name.c_str(), path.c_str());
  }
  return libraries;
}

// The table of one layer, made unless a finished one of the same base lies there.
Result<checkpoint::TableLocation> table_in(const std::string& dir, const trace::Trace& trace,
                                           uint64_t base) {
  const Result<checkpoint::ModelConfig> found = checkpoint::read_model_config(dir);
  const bool finished =
      found.ok() && found.value().vocab_base == base && found.value().synthetic_seed == kSeed;
  if (!finished) {
    std::error_code error;
    std::filesystem::create_directories(dir, error);
    const checkpoint::CheckpointSpec spec = {{{trace.rule.layer, trace.rule.rows}}, kSeed, base};
    if (Status status = checkpoint::write_checkpoint(spec, dir); !status.ok()) return status;
  }
  return checkpoint::locate_table(dir, trace.rule.layer);
}

Result<std::string> shard_in(const std::string& dir, const trace::Trace& trace, Packed packed) {
  if (packed == Packed::kNone) return std::string();
  const bool dense = packed == Packed::kDense;
  const std::string path = dir + (dense ? "/dense.bin" : "/page15.bin");
  if (std::filesystem::exists(path)) return path;
  const checkpoint::PackedSpec spec = {dense ? PackedLayout::kDense : PackedLayout::kPage15,
                                       {trace.rule.layer, trace.rule.rows},
                                       {0, trace.rule.rows},
                                       kSeed};
  // Under another name until it is whole, so that a later run does not take up half a shard.
  if (Status status = checkpoint::write_packed_shard(spec, path + ".partial"); !status.ok()) {
    return status;
  }
  std::error_code error;
  std::filesystem::rename(path + ".partial", path, error);
  if (error) return Status::error(ErrorCode::kIo, "cannot rename " + path + ".partial");
  return path;
}

Status play_file(const std::vector<NamedLibrary>& libraries, const std::string& path,
                 const Options& options, uint64_t& wrong_rows) {
  Result<trace::Trace> loaded = trace::load_trace(path);
  if (!loaded.ok()) return loaded.status();
  trace::Trace& trace = loaded.value();
  if (Status status = trace.rescale(options.base); !status.ok()) return status;
  const std::string dir = options.dir + "/base-" + std::to_string(options.base) + "-layer-" +
                          std::to_string(trace.rule.layer);
  Result<checkpoint::TableLocation> table = table_in(dir, trace, options.base);
  if (!table.ok()) return table.status();
  const Result<std::string> shard = shard_in(dir, trace, options.packed);
  if (!shard.ok()) return shard.status();

  PlayOptions play_options = options.play;
  play_options.table = table.take();
  play_options.rows = {kSeed, trace.rule.layer};
  play_options.packed_path = shard.value();
  play_options.budget_bytes = static_cast<uint64_t>(options.budget_mib * kMiB);
  std::printf("\n%s: %zu calls, %llu ids, a table of %llu rows, %.0f MiB of cache, %s\n",
              path.c_str(), trace.calls.size(), static_cast<unsigned long long>(trace.ids()),
              static_cast<unsigned long long>(trace.rule.rows), options.budget_mib,
              shard.value().empty() ? "checkpoint" : shard.value().c_str());
  std::fflush(stdout);
  const Result<std::vector<Played>> played = play(libraries, trace, play_options);
  if (!played.ok()) return played.status();
  print_summary(libraries, played.value());
  for (size_t i = 0; i < libraries.size(); ++i) {
    wrong_rows += played.value()[i].wrong_rows;
    std::printf("%s: %llu slots, %llu wrong rows%s\n", libraries[i].name.c_str(),
                static_cast<unsigned long long>(played.value()[i].cache_slots),
                static_cast<unsigned long long>(played.value()[i].wrong_rows),
                play_options.check ? "" : " (not checked)");
  }
  return {};
}

Status run(Options options, uint64_t& wrong_rows) {
  const std::vector<NamedLibrary> libraries = load_libraries(options.libraries);
  std::string made_dir;
  if (options.dir.empty()) {
    made_dir = "/var/tmp/row-store-replay.XXXXXX";
    if (mkdtemp(made_dir.data()) == nullptr) {
      return Status::error(ErrorCode::kIo, "cannot make a folder in /var/tmp; give --dir");
    }
    options.dir = made_dir;
  }
  Status status;
  for (const std::string& path : options.traces) {
    status = play_file(libraries, path, options, wrong_rows);
    if (!status.ok()) break;
  }
  std::error_code ignored;
  if (!made_dir.empty()) std::filesystem::remove_all(made_dir, ignored);
  return status;
}

}  // namespace
}  // namespace row_store::bench

int main(int argc, char** argv) {
  using namespace row_store;
  bench::Options options;
  bool no_check = false;
  const std::map<std::string, bench::Packed> packed = {{"none", bench::Packed::kNone},
                                                       {"dense", bench::Packed::kDense},
                                                       {"page15", bench::Packed::kPage15}};
  const std::map<std::string, bench::Again> again = {
      {"no", bench::Again::kNo}, {"call", bench::Again::kCall}, {"trace", bench::Again::kTrace}};
  CLI::App app("Plays access traces against librow_store.so builds, side by side.", "replay");
  app.add_option("LIBRARY", options.libraries,
                 "[NAME=]PATH of each build; the first is the measure")
      ->required();
  app.add_option("--trace", options.traces, "An .egtrace file; may be repeated")->required();
  app.add_option("--base", options.base, "Size of the table: 24 times this, in rows")
      ->capture_default_str();
  app.add_option("--budget-mib", options.budget_mib, "Cache of each store")
      ->check(CLI::Range(0.0, 1e7))
      ->capture_default_str();
  app.add_option("--packed", options.packed, "Serve from a packed shard: none, dense or page15")
      ->transform(CLI::CheckedTransformer(packed));
  app.add_option("--dir", options.dir, "Keep tables here and use those that are there");
  app.add_option("--split", options.play.split_ids, "Cut calls to this many ids");
  app.add_option("--calls", options.play.calls_max, "Play only the first calls");
  app.add_option("--again", options.play.again,
                 "Play once more: each call at once (call) or all after the end (trace)")
      ->transform(CLI::CheckedTransformer(again));
  app.add_flag("--no-check", no_check, "Do not compare bytes");
  CLI11_PARSE(app, argc, argv);
  options.play.check = !no_check;
  uint64_t wrong_rows = 0;
  const Status status = bench::run(options, wrong_rows);
  if (!status.ok()) std::fprintf(stderr, "replay: %s\n", status.text().c_str());
  return status.ok() && wrong_rows == 0 ? 0 : 1;
}
