// mktrace: documents of compressed tokens (.egtok) to an Engram access trace (.egtrace).
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "trace/trace_file.h"
#include "trace/trace_maker.h"

using namespace row_store;

namespace {

int fail(const Status& status) {
  std::fprintf(stderr, "mktrace: %s\n", status.text().c_str());
  return 1;
}

int run(const std::string& input, const std::string& output, const trace::MakeOptions& options) {
  const Result<trace::Documents> documents = trace::load_documents(input);
  if (!documents.ok()) return fail(documents.status());
  const Result<trace::MadeTrace> result = trace::make_trace(documents.value(), options);
  if (!result.ok()) return fail(result.status());
  const trace::MadeTrace& made = result.value();
  if (const Status status = trace::save_trace(made.trace, output); !status.ok()) {
    return fail(status);
  }
  uint64_t prefills = 0;
  for (const trace::Call& call : made.trace.calls) {
    prefills += call.kind == trace::CallKind::kPrefill;
  }
  std::printf("%s: layer %u, %zu calls (%llu prefill), %llu tokens, %llu row ids, %llu requests",
              output.c_str(), made.trace.rule.layer, made.trace.calls.size(),
              static_cast<unsigned long long>(prefills),
              static_cast<unsigned long long>(made.trace.tokens()),
              static_cast<unsigned long long>(made.trace.ids()),
              static_cast<unsigned long long>(made.requests));
  if (made.blocks != 0) {
    std::printf(", %.2f tokens accepted a block",
                static_cast<double>(made.accepted_tokens) / static_cast<double>(made.blocks));
  }
  std::printf("\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string input;
  std::string output;
  trace::MakeOptions options;
  const std::map<std::string, trace::Mode> modes = {{"prefill", trace::Mode::kPrefill},
                                                    {"decode", trace::Mode::kDecode},
                                                    {"mixed", trace::Mode::kMixed}};
  CLI::App app("Makes an Engram access trace from tokenised documents.", "mktrace");
  app.add_option("INPUT.egtok", input, "Documents, from tokenise.py")->required();
  app.add_option("OUTPUT.egtrace", output, "Where the trace goes")->required();
  app.add_option("--mode", options.mode, "prefill, decode or mixed")
      ->transform(CLI::CheckedTransformer(modes));
  app.add_option("--layer", options.layer, "1 or 14")->capture_default_str();
  app.add_option("--base", options.base, "Where the primes start")->capture_default_str();
  app.add_option("--seed", options.seed, "Of cuts and drafts")->capture_default_str();
  app.add_option("--limit", options.token_limit, "Tokens to stop at, 0 for all")
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Requests that decode at once")->capture_default_str();
  app.add_option("--block", options.block_tokens, "Tokens of a verify step")->capture_default_str();
  app.add_option("--chunk", options.chunk_tokens, "Tokens of a prefill call")
      ->capture_default_str();
  app.add_option("--accept", options.accept, "Chance that a draft is right")->capture_default_str();
  app.add_option("--echo", options.echo, "Part of an answer that repeats its prompt")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return run(input, output, options);
}
