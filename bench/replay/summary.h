// Prints what a replay measured: a table for each pass and kind of call, with ratios to the first
// library and their spread.
//
// The spread is a bootstrap over blocks of consecutive calls (neighbouring calls are alike, single
// calls would look surer than they are): the middle 95 % of the ratios of resampled replays. Both
// libraries' blocks are drawn together, as they were played together.
#ifndef ROW_STORE_BENCH_REPLAY_SUMMARY_H
#define ROW_STORE_BENCH_REPLAY_SUMMARY_H

#include <vector>

#include "replay/player.h"

namespace row_store::bench {

void print_summary(const std::vector<NamedLibrary>& libraries, const std::vector<Played>& played);

}  // namespace row_store::bench

#endif  // ROW_STORE_BENCH_REPLAY_SUMMARY_H
