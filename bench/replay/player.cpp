#include "replay/player.h"

#include <time.h>

#include <algorithm>
#include <span>

namespace row_store::bench {
namespace {

double now_ns(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// A library's store with outputs of its own: in shared ones a library that writes nothing would
// pass the check with another's rows.
struct Player {
  const NamedLibrary* library = nullptr;
  row_store_t* store = nullptr;
  std::vector<uint8_t> weights;
  std::vector<uint8_t> scales;
  std::array<uint64_t, ROW_STORE_STAT_COUNT> before{};
  Played played;

  std::array<uint64_t, ROW_STORE_STAT_COUNT> stats() const {
    std::array<uint64_t, ROW_STORE_STAT_COUNT> words{};
    library->stats(store, words.data());
    return words;
  }

  CallCost lookup(std::span<const int64_t> ids) {
    row_store_work work = {store, ids.data(), weights.data(), scales.data(), ids.size()};
    const double cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    const double wall = now_ns(CLOCK_MONOTONIC);
    library->lookup(&work);
    const double wall_end = now_ns(CLOCK_MONOTONIC);
    return {wall_end - wall, now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu};
  }

  void check(std::span<const int64_t> ids, const checkpoint::RowSource& rows) {
    for (size_t i = 0; i < ids.size(); ++i) {
      played.wrong_rows +=
          !rows.matches(static_cast<uint64_t>(ids[i]), weights.data() + i * kWeightBytes,
                        scales.data() + i * kScaleBytes);
    }
  }

  // Adds what the counters gained since the last call to a pass.
  void count_into(int pass) {
    const auto after = stats();
    Counters& counters = played.counters[pass];
    counters.hits += after[ROW_STORE_STAT_HITS] - before[ROW_STORE_STAT_HITS];
    counters.misses += after[ROW_STORE_STAT_MISSES] - before[ROW_STORE_STAT_MISSES];
    counters.reads += after[ROW_STORE_STAT_READS] - before[ROW_STORE_STAT_READS];
    before = after;
  }
};

Status open_store(Player& player, uint64_t layer, const PlayOptions& options) {
  const checkpoint::TableLocation& table = options.table;
  const NamedLibrary& library = *player.library;
  player.store = library.open(table.path.c_str(), table.rows, table.weight_offset,
                              table.scale_offset, options.budget_bytes);
  if (player.store == nullptr) {
    return Status::error(ErrorCode::kIo, library.name + " cannot open " + table.path);
  }
  library.range(player.store, 0, table.rows);
  if (!options.packed_path.empty() &&
      library.attach(player.store, options.packed_path.c_str(), layer) != 1) {
    return Status::error(ErrorCode::kIo, library.name + " does not take " + options.packed_path);
  }
  player.before = player.stats();
  player.played.cache_slots = player.before[ROW_STORE_STAT_SLOTS];
  return {};
}

class Session {
 public:
  Session(std::vector<Player>& players, const trace::Trace& trace, const PlayOptions& options)
      : players_(players), trace_(trace), options_(options) {}

  void run() {
    play_trace(0);
    if (options_.again == Again::kTrace) play_trace(1);
  }

 private:
  void play_trace(int pass) {
    uint64_t first_token = 0;
    uint64_t calls = 0;
    for (const trace::Call& call : trace_.calls) {
      ids_.resize(call.ids());
      trace_.expand(first_token, call.tokens, ids_.data());
      first_token += call.tokens;
      const uint64_t step = options_.split_ids != 0 ? options_.split_ids : ids_.size();
      for (uint64_t at = 0; at < ids_.size(); at += step) {
        if (options_.calls_max != 0 && calls++ >= options_.calls_max) return;
        const auto batch = std::span(ids_).subspan(at, std::min(step, ids_.size() - at));
        play_call(batch, call.kind, pass);
        if (options_.again == Again::kCall) play_call(batch, call.kind, 1);
        ++first_player_;
      }
    }
  }

  void play_call(std::span<const int64_t> ids, trace::CallKind kind, int pass) {
    for (size_t turn = 0; turn < players_.size(); ++turn) {
      Player& player = players_[(turn + first_player_) % players_.size()];
      Costs& costs = player.played.costs[pass][static_cast<int>(kind)];
      costs.calls.push_back(player.lookup(ids));
      costs.ids += ids.size();
      if (options_.check) player.check(ids, options_.rows);
      player.count_into(pass);
    }
  }

  std::vector<Player>& players_;
  const trace::Trace& trace_;
  const PlayOptions& options_;
  std::vector<int64_t> ids_;
  size_t first_player_ = 0;
};

}  // namespace

Result<std::vector<Played>> play(const std::vector<NamedLibrary>& libraries,
                                 const trace::Trace& trace, const PlayOptions& options) {
  uint64_t ids_max = 0;
  for (const trace::Call& call : trace.calls) ids_max = std::max(ids_max, call.ids());
  std::vector<Player> players(libraries.size());
  Status status;
  for (size_t i = 0; i < libraries.size() && status.ok(); ++i) {
    players[i].library = &libraries[i];
    players[i].weights.resize(ids_max * kWeightBytes);
    players[i].scales.resize(ids_max * kScaleBytes);
    status = open_store(players[i], trace.rule.layer, options);
  }
  if (status.ok()) Session(players, trace, options).run();
  std::vector<Played> played;
  for (Player& player : players) {
    if (player.store != nullptr) player.library->close(player.store);
    played.push_back(std::move(player.played));
  }
  if (!status.ok()) return status;
  return played;
}

}  // namespace row_store::bench
