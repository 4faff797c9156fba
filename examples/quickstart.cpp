// quickstart: the whole way of an Engram row, on real text, in one command.
//
// Makes a checkpoint as the model's publisher lays it out and a packed shard of each layer, opens
// both layers' stores as the serving adapter does, replays the lookups that an engine would make
// for a real text, compares every byte, and prints what it cost. With --model it does the same on a
// checkpoint that is already there. Exits with 1 for one wrong byte.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/table_builder.h"
#include "quickstart/engram_table.h"
#include "quickstart/report.h"
#include "quickstart/row_check.h"
#include "trace/trace_maker.h"

namespace row_store::examples {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kSeed = 20260101;         // of the checkpoint that is made here
constexpr uint64_t kSampledRows = 20000;     // a layer, of a checkpoint that is not ours
constexpr uint64_t kSpareBytes = 64 * kMiB;  // left free on the disk beside what is written

struct Options {
  std::string text = ROW_STORE_EXAMPLE_DATA "/two-dictionaries.egtok";
  std::string work_dir = "/var/tmp";
  uint64_t base = 16000;
  bool pack = true;
  double cache_mib = 32;
  uint64_t token_limit = 40000;  // 960,000 rows a layer: some ten seconds on a small drive
  OpenOptions open;

  bool make_checkpoint = true;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A folder that goes away with its object.
class WorkDir {
 public:
  static Result<WorkDir> make(const std::string& parent) {
    WorkDir dir;
    std::string name = parent + "/row-store-quickstart.XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
      return Status::error(ErrorCode::kIo,
                           "cannot make a folder in " + parent + "; name another with --work-dir");
    }
    dir.path_ = name;
    return dir;
  }
  WorkDir(WorkDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  WorkDir& operator=(WorkDir&&) = delete;
  ~WorkDir() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  WorkDir() = default;
  std::string path_;
};

Status write_tables(const Options& options, const std::string& dir) {
  const Result<checkpoint::CheckpointSpec> spec =
      checkpoint::checkpoint_of_base(options.base, kSeed);
  if (!spec.ok()) return spec.status();
  const uint64_t needed = spec.value().bytes() * (options.pack ? 2 : 1) + kSpareBytes;
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(dir, error);
  if (!error && space.available < needed) {
    return Status::error(ErrorCode::kIo, dir + " has " + grouped(space.available / kMiB) +
                                             " MiB free and " + grouped(needed / kMiB) +
                                             " are needed; name another with --work-dir");
  }
  const auto start = Clock::now();
  if (Status status = checkpoint::write_checkpoint(spec.value(), dir); !status.ok()) return status;
  for (const checkpoint::TableSpec& table : spec.value().tables) {
    if (!options.pack) break;
    const RowRange range = checkpoint::rank_range(table.rows, options.open.rank, options.open.tp);
    const std::string name =
        checkpoint::packed_shard_name(table.layer, options.open.rank, options.open.tp);
    Status status = checkpoint::write_packed_shard({PackedLayout::kDense, table, range, kSeed},
                                                   dir + "/" + name);
    if (!status.ok()) return status;
  }
  std::printf("checkpoint   %s, %s MiB of rows%s, written in %.1f s\n", dir.c_str(),
              grouped(spec.value().bytes() / kMiB).c_str(),
              options.pack ? " and their packed shards" : "", seconds_since(start));
  return {};
}

// One layer's table with the trace that is played against it.
struct Layer {
  EngramTable table;
  trace::Trace trace;
  RowCheck check;
  LayerReport report;
};

Result<trace::Trace> make_trace(const trace::Documents& text, uint32_t layer, uint64_t base,
                                uint64_t token_limit) {
  trace::MakeOptions options;  // mixed: prompts prefilled, answers decoded, four requests at once
  options.layer = layer;
  options.base = base;
  options.token_limit = token_limit;
  Result<trace::MadeTrace> made = trace::make_trace(text, options);
  if (!made.ok()) return made.status();
  return std::move(made.value().trace);
}

Result<Layer> open_layer(const Options& options, const trace::Documents& text, uint32_t layer,
                         const checkpoint::ModelConfig& config) {
  Result<trace::Trace> trace = make_trace(text, layer, config.vocab_base, options.token_limit);
  if (!trace.ok()) return trace.status();
  Result<EngramTable> table = EngramTable::open(layer, options.open);
  if (!table.ok()) return table.status();
  const uint64_t rows = table.value().location().rows;
  if (rows != trace.value().rule.rows) {
    return Status::error(ErrorCode::kMismatch,
                         "layer " + std::to_string(layer) + " has " + grouped(rows) +
                             " rows, and engram_vocab_size of config.json gives " +
                             grouped(trace.value().rule.rows));
  }
  const uint64_t sample_every = 1 + trace.value().ids() / kSampledRows;
  Result<RowCheck> check = RowCheck::make(layer, config.synthetic_seed, table.value().location(),
                                          table.value().range(), sample_every);
  if (!check.ok()) return check.status();
  return Layer{table.take(), trace.take(), check.take(), {}};
}

// Plays call after call against all layers in turn, as a forward pass of the model would.
void replay(std::vector<Layer>& layers) {
  uint32_t tokens_max = 0;
  const std::vector<trace::Call>& calls = layers[0].trace.calls;
  for (const trace::Call& call : calls) tokens_max = std::max(tokens_max, call.tokens);
  const uint64_t ids_max = uint64_t{tokens_max} * trace::kColumns;
  std::vector<int64_t> ids(ids_max);
  std::vector<uint8_t> weights(ids_max * kWeightBytes);
  std::vector<uint8_t> scales(ids_max * kScaleBytes);
  uint64_t first_token = 0;
  for (const trace::Call& call : calls) {
    const std::span<const int64_t> batch(ids.data(), call.ids());
    for (Layer& layer : layers) {
      layer.trace.expand(first_token, call.tokens, ids.data());
      const auto start = Clock::now();
      layer.table.lookup(batch, weights.data(), scales.data());
      const double us = seconds_since(start) * 1e6;
      const bool decode = call.kind == trace::CallKind::kDecode;
      (decode ? layer.report.decode_us : layer.report.prefill_us).push_back(us);
      layer.check.check(batch, weights.data(), scales.data());
    }
    first_token += call.tokens;
  }
}

void fill_report(Layer& layer) {
  LayerReport& report = layer.report;
  report.layer = layer.table.layer();
  report.calls = layer.trace.calls.size();
  report.rows = layer.trace.ids();
  report.checked = layer.check.checked();
  report.wrong = layer.check.wrong();
  report.table_rows = layer.table.location().rows;
  report.owned_rows = layer.table.range().count();
  report.served_from = layer.table.served_from();
  report.stats = layer.table.statistics();
}

void print_next_steps(const char* program) {
  std::printf(
      "\nThe same with your checkpoint (only reads it; a sample of rows is compared):\n"
      "  %s --model /path/to/DeepSeek-V4.1-Flash\n"
      "  %s --model /path/to/DeepSeek-V4.1-Flash --rank 0 --tp 4 --packed-dir /path/to/shards\n"
      "And in the server, put this build's librow_store.so beside its engram_backend.py:\n"
      "  cp -L librow_store.so /path/to/adapter/\n",
      program, program);
}

int judge(const std::vector<Layer>& layers, double seconds) {
  uint64_t checked = 0;
  uint64_t wrong = 0;
  for (const Layer& layer : layers) {
    checked += layer.check.checked();
    wrong += layer.check.wrong();
    if (layer.check.wrong() != 0) {
      std::printf("\nWRONG BYTES, first at %s\n", layer.check.first_wrong().c_str());
    }
  }
  const bool whole = layers[0].check.whole();
  std::printf("\n%s %s rows%s compared with the checkpoint, %s wrong. Replayed in %.1f s.\n",
              wrong == 0 ? "OK:" : "FAILED:", grouped(checked).c_str(),
              whole ? ", all that were looked up," : ", a sample,", grouped(wrong).c_str(),
              seconds);
  return wrong == 0 ? 0 : 1;
}

Status run(const Options& options, const char* program, int& exit_code) {
  const Result<trace::Documents> text = trace::load_documents(options.text);
  if (!text.ok()) return text.status();
  const Result<checkpoint::ModelConfig> config =
      checkpoint::read_model_config(options.open.model_dir);
  if (!config.ok()) return config.status();

  std::vector<Layer> layers;
  layers.reserve(trace::kLayers.size());
  for (const uint32_t layer : trace::kLayers) {
    Result<Layer> opened = open_layer(options, text.value(), layer, config.value());
    if (!opened.ok()) return opened.status();
    layers.push_back(opened.take());
  }
  const trace::Trace& trace = layers[0].trace;
  std::printf("text         %s tokens of %s\n", grouped(text.value().tokens.size()).c_str(),
              options.text.c_str());
  std::printf("trace        %s calls, %s tokens, %d rows a token and layer\n",
              grouped(trace.calls.size()).c_str(), grouped(trace.tokens()).c_str(),
              trace::kColumns);
  std::fflush(stdout);

  const auto start = Clock::now();
  replay(layers);
  const double seconds = seconds_since(start);
  std::vector<LayerReport> reports;
  for (Layer& layer : layers) {
    fill_report(layer);
    reports.push_back(layer.report);
  }
  print_report(reports);
  exit_code = judge(layers, seconds);
  if (exit_code == 0 && options.make_checkpoint) print_next_steps(program);
  return {};
}

// Makes the checkpoint first when none was named.
Status prepare_and_run(Options options, const char* program, int& exit_code) {
  options.open.cache_bytes = static_cast<uint64_t>(options.cache_mib * static_cast<double>(kMiB));
  if (!options.make_checkpoint) return run(options, program, exit_code);
  Result<WorkDir> dir = WorkDir::make(options.work_dir);
  if (!dir.ok()) return dir.status();
  if (Status status = write_tables(options, dir.value().path()); !status.ok()) return status;
  Options made = options;
  made.open.model_dir = dir.value().path();
  if (options.pack) made.open.packed_dir = dir.value().path();
  return run(made, program, exit_code);
}

}  // namespace
}  // namespace row_store::examples

int main(int argc, char** argv) {
  using namespace row_store;
  examples::Options options;
  bool no_pack = false;
  CLI::App app("Replays a real text's Engram lookups and compares every byte.", "quickstart");
  app.add_option("--model", options.open.model_dir, "Checkpoint folder; one is made when left out");
  app.add_option("--packed-dir", options.open.packed_dir, "Folder with the model's packed shards")
      ->needs("--model");
  app.add_option("--rank", options.open.rank, "This rank of --tp")->capture_default_str();
  app.add_option("--tp", options.open.tp, "Ranks that share the tables")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--cache-mib", options.cache_mib, "Row cache of each table")
      ->check(CLI::Range(0.0, 1e7))
      ->capture_default_str();
  app.add_option("--text", options.text, "Tokenised text, from tools/trace/tokenise.py");
  app.add_option("--limit", options.token_limit, "Tokens to stop at, 0 for the whole text")
      ->capture_default_str();
  app.add_option("--work-dir", options.work_dir,
                 "Where a made checkpoint goes, for as long as it runs")
      ->capture_default_str();
  app.add_option("--base", options.base, "Size of made tables: 24 times this, in rows")
      ->capture_default_str();
  app.add_flag("--no-pack", no_pack, "Serve a made checkpoint without packed shards");
  CLI11_PARSE(app, argc, argv);
  if (options.open.rank >= options.open.tp) {
    std::fprintf(stderr, "quickstart: --rank counts from 0 and must be below --tp\n");
    return 1;
  }
  options.pack = !no_pack;
  options.make_checkpoint = options.open.model_dir.empty();
  int exit_code = 1;
  const Status status = examples::prepare_and_run(options, argv[0], exit_code);
  if (!status.ok()) std::fprintf(stderr, "quickstart: %s\n", status.text().c_str());
  return exit_code;
}
