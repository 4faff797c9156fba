// egdump: prints an Engram access trace, or converts it to flat files.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "trace/files.h"
#include "trace/trace_file.h"

using namespace row_store;

namespace {

int fail(const Status& status) {
  std::fprintf(stderr, "egdump: %s\n", status.text().c_str());
  return 1;
}

void print_head(const trace::Trace& trace) {
  std::printf("layer %u, %llu rows, %zu calls, %llu tokens, %llu ids\n", trace.rule.layer,
              static_cast<unsigned long long>(trace.rule.rows), trace.calls.size(),
              static_cast<unsigned long long>(trace.tokens()),
              static_cast<unsigned long long>(trace.ids()));
  for (int column = 0; column < trace::kColumns && trace.tokens() != 0; ++column) {
    std::printf("%llu ", static_cast<unsigned long long>(trace.id(0, column)));
  }
  std::printf("\n");
}

Status write_ids(const trace::Trace& trace, const std::string& path) {
  std::vector<int64_t> ids(trace.ids());
  trace.expand(0, trace.tokens(), ids.data());
  const std::span<const uint8_t> parts[] = {trace::bytes_of(ids)};
  return trace::write_file(path, parts);
}

Status write_calls(const trace::Trace& trace, const std::string& path) {
  std::string text;
  for (const trace::Call& call : trace.calls) {
    text += std::string(trace::call_kind_name(call.kind)) + " " + std::to_string(call.tokens) +
            " " + std::to_string(call.ids()) + "\n";
  }
  const std::span<const uint8_t> parts[] = {
      {reinterpret_cast<const uint8_t*>(text.data()), text.size()}};
  return trace::write_file(path, parts);
}

}  // namespace

int main(int argc, char** argv) {
  std::string input;
  std::string ids_path;
  std::string calls_path;
  uint64_t base = 0;
  CLI::App app("Prints an Engram access trace: its head and the first token's row ids.", "egdump");
  app.add_option("TRACE", input, "An .egtrace file")->required();
  app.add_option("--ids", ids_path, "Write every row id here, as little-endian int64");
  app.add_option("--calls", calls_path, "Write a line a call here: kind, tokens, ids");
  app.add_option("--base", base, "Use the smaller table whose primes start here");
  CLI11_PARSE(app, argc, argv);

  Result<trace::Trace> loaded = trace::load_trace(input);
  if (!loaded.ok()) return fail(loaded.status());
  trace::Trace& trace = loaded.value();
  if (base != 0) {
    if (const Status status = trace.rescale(base); !status.ok()) return fail(status);
  }
  if (!ids_path.empty()) {
    if (const Status status = write_ids(trace, ids_path); !status.ok()) return fail(status);
  }
  if (!calls_path.empty()) {
    if (const Status status = write_calls(trace, calls_path); !status.ok()) return fail(status);
  }
  print_head(trace);
  return 0;
}
