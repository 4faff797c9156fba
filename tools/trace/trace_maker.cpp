#include "trace/trace_maker.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "trace/trace_file.h"

namespace row_store::trace {
namespace {

// Added token t >= 128000 is a class of its own, 97812 + (t - 128000).
constexpr uint32_t kBos = 0;
constexpr uint32_t kUserMark = 97812 + 803;
constexpr uint32_t kAssistantMark = 97812 + 804;
constexpr uint64_t kRequestTokensMin =
    64;  // what is left of a document's end is dropped below this
constexpr uint64_t kContextTokens = kLookback - 1;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t below(uint64_t end) { return engine_() % end; }
  // 53 random bits: std::uniform_real_distribution may differ between standard libraries.
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

struct Span {
  uint64_t first = 0;
  uint64_t count = 0;
};

std::vector<Span> cut_requests(const Documents& documents, Random& random) {
  std::vector<Span> cuts;
  for (size_t d = 0; d + 1 < documents.starts.size(); ++d) {
    const uint64_t end = documents.starts[d + 1];
    for (uint64_t at = documents.starts[d]; at < end;) {
      const auto wanted = static_cast<uint64_t>(512 * std::exp2(4 * random.uniform()));
      const uint64_t count = std::min(wanted, end - at);
      if (count >= kRequestTokensMin) cuts.push_back({at, count});
      at += count;
    }
  }
  for (size_t i = cuts.size(); i > 1; --i) std::swap(cuts[i - 1], cuts[random.below(i)]);
  return cuts;
}

// Where the text last went on after a pair of tokens, and after one. 0 means never seen.
class Continuations {
 public:
  Continuations() : after_pair_(size_t{1} << kPairBits, 0), after_one_(kClasses, 0) {}

  void learn(const std::vector<uint32_t>& tokens, Span span) {
    for (uint64_t i = span.first + 2; i < span.first + span.count; ++i) {
      after_pair_[slot(tokens[i - 2], tokens[i - 1])] = static_cast<uint32_t>(i);
      after_one_[tokens[i - 1]] = static_cast<uint32_t>(i);
    }
  }
  uint64_t after_pair(uint32_t a, uint32_t b) const { return after_pair_[slot(a, b)]; }
  uint64_t after_one(uint32_t token) const { return after_one_[token]; }

 private:
  static constexpr int kPairBits = 22;
  static size_t slot(uint32_t a, uint32_t b) {
    return ((a * 0x9E3779B97F4A7C15u ^ b) * 0xD6E8FEB86659FD93u) >> (64 - kPairBits);
  }
  std::vector<uint32_t> after_pair_;
  std::vector<uint32_t> after_one_;
};

struct Request {
  std::vector<uint32_t> text;
  uint64_t answer = 0;  // place of the answer's first token
  uint64_t at = 0;      // next place to decode
  bool live = false;
};

class Maker {
 public:
  Maker(const Documents& documents, const MakeOptions& options, Addressing rule)
      : documents_(documents),
        options_(options),
        random_(options.seed),
        cuts_(cut_requests(documents, random_)) {
    made_.trace.rule = rule;
  }

  bool has_requests() const { return !cuts_.empty(); }

  MadeTrace prefill_all() {
    Request request;
    while (!full() && next_request(request)) {
    }
    if (options_.token_limit == 0) close_prefill();
    drop_open_tokens();
    return take();
  }

  MadeTrace decode_all() {
    std::vector<Request> batch(options_.batch);
    for (Request& request : batch) request.live = next_request(request);
    while (!full()) {
      uint32_t tokens = 0;
      for (Request& request : batch) {
        if (request.live && request.at >= request.text.size()) request.live = next_request(request);
        if (!request.live) continue;
        verify_step(request);
        tokens += options_.block_tokens;
      }
      if (tokens == 0) break;
      made_.trace.calls.push_back({tokens, CallKind::kDecode});
    }
    return take();
  }

 private:
  bool full() const {
    return options_.token_limit != 0 && made_.trace.tokens() >= options_.token_limit;
  }

  MadeTrace take() {
    made_.requests = next_;
    return std::move(made_);
  }

  // Adds the hashes of sequence[at], whose context reaches back to sequence[0].
  void emit(const std::vector<uint32_t>& sequence, uint64_t at) {
    std::array<uint32_t, kLookback> back;
    for (uint64_t k = 0; k < kLookback; ++k) back[k] = at >= k ? sequence[at - k] : kPadClass;
    const auto rolling = made_.trace.rule.roll(back);
    made_.trace.rolls.insert(made_.trace.rolls.end(), rolling.begin(), rolling.end());
  }

  void close_prefill() {
    if (open_tokens_ != 0) made_.trace.calls.push_back({open_tokens_, CallKind::kPrefill});
    open_tokens_ = 0;
  }

  // A limited prefill trace ends with its last whole call.
  void drop_open_tokens() {
    made_.trace.rolls.resize(made_.trace.rolls.size() - uint64_t{open_tokens_} * kOrders);
    open_tokens_ = 0;
  }

  bool next_request(Request& request) {
    if (next_ >= cuts_.size()) return false;
    const Span cut = cuts_[next_++];
    write_request(request, cut);
    if (options_.mode != Mode::kDecode) {
      const bool whole = options_.mode == Mode::kPrefill;
      const uint64_t end = whole ? request.text.size() : request.answer;
      for (uint64_t i = 0; i < end; ++i) {
        emit(request.text, i);
        if (++open_tokens_ == options_.chunk_tokens) close_prefill();
      }
      if (!whole) close_prefill();
    }
    continuations_.learn(documents_.tokens, cut);
    return true;
  }

  void write_request(Request& request, Span cut) {
    const auto share = 0.33 + 0.47 * random_.uniform();
    const auto prompt = static_cast<uint64_t>(static_cast<double>(cut.count) * share);
    const auto first = documents_.tokens.begin() + static_cast<int64_t>(cut.first);
    const auto middle = first + static_cast<int64_t>(prompt);
    std::vector<uint32_t>& text = request.text;
    text.assign({kBos, kUserMark});
    text.insert(text.end(), first, middle);
    text.push_back(kAssistantMark);
    request.answer = request.at = text.size();
    text.insert(text.end(), middle, first + static_cast<int64_t>(cut.count));
    if (options_.echo > 0) echo_prompt(request, prompt);
  }

  void echo_prompt(Request& request, uint64_t prompt) {
    std::vector<uint32_t>& text = request.text;
    for (uint64_t i = request.answer; i < text.size();) {
      const uint64_t count = std::min(32 + random_.below(225), text.size() - i);
      if (random_.uniform() < options_.echo && prompt > count) {
        const auto from = text.begin() + static_cast<int64_t>(2 + random_.below(prompt - count));
        std::copy_n(from, count, text.begin() + static_cast<int64_t>(i));
      }
      i += count;
    }
  }

  // One verify block: the tokens that turn out right, then wrong drafts up to the block's size.
  void verify_step(Request& request) {
    uint64_t right = 1;
    while (right < options_.block_tokens && random_.uniform() < options_.accept) ++right;
    right = std::min(right, request.text.size() - request.at);

    const uint64_t context = std::min(request.at, kContextTokens);
    const auto at = request.text.begin() + static_cast<int64_t>(request.at);
    draft_.assign(at - static_cast<int64_t>(context), at + static_cast<int64_t>(right));
    const uint64_t miss_at = request.at + right;
    const uint32_t truth = miss_at < request.text.size() ? request.text[miss_at] : UINT32_MAX;
    append_wrong_drafts(context + options_.block_tokens, truth);
    for (uint64_t i = 0; i < options_.block_tokens; ++i) emit(draft_, context + i);

    request.at += right;
    made_.accepted_tokens += right;
    ++made_.blocks;
  }

  // The first wrong draft must differ from `truth`, the token that really follows.
  void append_wrong_drafts(uint64_t size, uint32_t truth) {
    const std::vector<uint32_t>& tokens = documents_.tokens;
    uint64_t from = 0;
    while (draft_.size() < size) {
      if (from == 0) {
        const uint32_t last = draft_.back();
        from = continuations_.after_pair(draft_[draft_.size() - 2], last);
        if (from == 0 || tokens[from] == truth) from = continuations_.after_one(last);
        if (from == 0 || tokens[from] == truth) {
          from = 1 + random_.below(tokens.size() - kRequestTokensMin);
        }
      }
      draft_.push_back(tokens[from]);
      if (++from >= tokens.size()) from = 1;
    }
  }

  const Documents& documents_;
  const MakeOptions& options_;
  Random random_;
  std::vector<Span> cuts_;
  size_t next_ = 0;  // of cuts_
  Continuations continuations_;
  uint32_t open_tokens_ = 0;  // emitted for a prefill call that is not closed yet
  std::vector<uint32_t> draft_;
  MadeTrace made_;
};

}  // namespace

Status MakeOptions::validate() const {
  const auto refuse = [](const char* text) { return Status::error(ErrorCode::kArgument, text); };
  if (batch == 0 || block_tokens == 0) return refuse("batch and block must be at least 1");
  if (uint64_t{batch} * block_tokens > kCallTokensMax) {
    return refuse("batch times block exceeds the 16,777,215 tokens of a call");
  }
  if (chunk_tokens == 0 || chunk_tokens > kCallTokensMax) {
    return refuse("chunk must be 1 to 16,777,215 tokens");
  }
  if (!(accept >= 0 && accept <= 1)) return refuse("accept must be a chance, 0 to 1");
  if (!(echo >= 0 && echo <= 1)) return refuse("echo must be a part, 0 to 1");
  return {};
}

Result<MadeTrace> make_trace(const Documents& documents, const MakeOptions& options) {
  if (Status status = options.validate(); !status.ok()) return status;
  Result<Addressing> rule = make_addressing(options.layer, options.base);
  if (!rule.ok()) return rule.status();
  if (documents.tokens.size() > UINT32_MAX) {
    return Status::error(ErrorCode::kArgument, "more than 2^32 - 1 tokens in one token file");
  }
  Maker maker(documents, options, rule.value());
  // A random place is drawn from the tokens before the last kRequestTokensMin, so one must be
  // there.
  if (!maker.has_requests() || documents.tokens.size() <= kRequestTokensMin) {
    return Status::error(ErrorCode::kArgument, "no document is long enough for a request");
  }
  return options.mode == Mode::kPrefill ? maker.prefill_all() : maker.decode_all();
}

}  // namespace row_store::trace
