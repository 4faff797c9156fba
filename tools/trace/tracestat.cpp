// tracestat: what an Engram access trace asks of a cache and of a drive, as Markdown tables.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "trace/row_index.h"
#include "trace/trace_file.h"

using namespace row_store;
using trace::kColumns;
using trace::kHeads;
using trace::kOrders;

namespace {

using Counts = std::array<uint64_t, kOrders>;

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

// Keeps whole calls, as many as fit.
void take_tokens(trace::Trace& trace, uint64_t limit) {
  uint64_t tokens = 0;
  size_t calls = 0;
  while (calls < trace.calls.size() && tokens + trace.calls[calls].tokens <= limit) {
    tokens += trace.calls[calls++].tokens;
  }
  trace.calls.resize(calls);
  trace.rolls.resize(tokens * kOrders);
}

// How often each distinct row is asked for, and by which column.
struct Popularity {
  std::vector<uint32_t> lookups;
  std::vector<uint8_t> column;
};

// Report points: 1,000 and 3,000 tokens, 10,000 and 30,000, and so on.
uint64_t next_mark(uint64_t mark) {
  const bool three = std::to_string(mark)[0] == '3';
  return three ? mark / 3 * 10 : mark * 3;
}

void print_growth_row(uint64_t tokens, uint64_t since, const Counts& fresh, uint32_t distinct) {
  const auto lookups = static_cast<double>((tokens - since) * kHeads);
  const auto all = static_cast<double>(fresh[0] + fresh[1] + fresh[2]);
  std::printf("| %llu | %.1f |", static_cast<unsigned long long>(tokens),
              percent(all, kOrders * lookups));
  for (const uint64_t order : fresh) {
    std::printf(" %.1f |", percent(static_cast<double>(order), lookups));
  }
  std::printf(" %u |\n", distinct);
}

Popularity print_growth(const trace::Trace& trace) {
  std::printf(
      "| tokens so far | first-ever lookups in the last half of them, %% (all) | 2-gram | 3-gram | "
      "4-gram | distinct rows |\n|---|---|---|---|---|---|\n");
  trace::RowIndex index(trace.ids());
  Popularity popularity;
  Counts distinct{};
  Counts fresh{};
  uint64_t since = 0;
  uint64_t mark = 1000;
  const uint64_t tokens = trace.tokens();
  for (uint64_t i = 0; i < tokens; ++i) {
    if (i == mark / 2) {
      fresh = {};
      since = i;
    }
    for (int column = 0; column < kColumns; ++column) {
      const auto found = index.insert(trace.id(i, column));
      if (found.added) {
        popularity.lookups.push_back(0);
        popularity.column.push_back(static_cast<uint8_t>(column));
        ++distinct[column / kHeads];
        ++fresh[column / kHeads];
      }
      ++popularity.lookups[found.number];
    }
    if (i + 1 == mark || i + 1 == tokens) {
      print_growth_row(i + 1, since, fresh, index.count());
      if (i + 1 == mark) mark = next_mark(mark);
    }
  }
  const auto ids = static_cast<double>(trace.ids());
  std::printf("\nDistinct rows: %u; repeat rate %.1f %%\n", index.count(),
              percent(ids - index.count(), ids));
  for (int order = 0; order < kOrders; ++order) {
    std::printf("  %d-grams: %llu rows, %.1f %% of their lookups are a row's first\n", order + 2,
                static_cast<unsigned long long>(distinct[order]),
                percent(static_cast<double>(distinct[order]), ids / kOrders));
  }
  return popularity;
}

// Slope of log(lookups) over log(rank), from rank 10 to the first tenth of the rows.
double zipf_slope(const std::vector<uint32_t>& sorted) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (double rank = 10; rank < static_cast<double>(sorted.size()) / 10; rank *= 1.1) {
    const double x = std::log(rank);
    const double y = std::log(static_cast<double>(sorted[static_cast<size_t>(rank)]));
    n += 1;
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  }
  return n < 2 ? 0 : -(n * sxy - sx * sy) / (n * sxx - sx * sx);
}

void print_popularity_row(const Popularity& rows, int first, int end, const char* name) {
  std::vector<uint32_t> sorted;
  for (size_t i = 0; i < rows.lookups.size(); ++i) {
    if (rows.column[i] >= first && rows.column[i] < end) sorted.push_back(rows.lookups[i]);
  }
  std::sort(sorted.rbegin(), sorted.rend());
  double total = 0;
  for (const uint32_t lookups : sorted) total += lookups;
  const auto count = static_cast<double>(sorted.size());
  const auto once = static_cast<double>(std::count(sorted.begin(), sorted.end(), 1u));
  std::printf("| %s | %zu | %.2f | %.1f |", name, sorted.size(), zipf_slope(sorted),
              percent(once, count));
  double sum = 0;
  size_t i = 0;
  for (const double part : {0.001, 0.01, 0.1}) {
    while (i < static_cast<size_t>(part * count)) sum += sorted[i++];
    std::printf(" %.1f |", percent(sum, total));
  }
  std::printf("\n");
}

void print_popularity(const Popularity& rows) {
  std::printf(
      "\n| rows | distinct | Zipf slope (rank 10 .. 10%%) | seen once %% | top 0.1%% of rows take "
      "%% "
      "| top 1%% | top 10%% |\n|---|---|---|---|---|---|---|\n");
  print_popularity_row(rows, 0, kHeads, "2-gram");
  print_popularity_row(rows, kHeads, 2 * kHeads, "3-gram");
  print_popularity_row(rows, 2 * kHeads, kColumns, "4-gram");
  print_popularity_row(rows, 0, kColumns, "all");
}

// Prefix sums over places, in logarithmic time.
class Fenwick {
 public:
  explicit Fenwick(size_t places) : sums_(places + 1, 0) {}
  void add(size_t place, int32_t value) {
    for (size_t i = place + 1; i < sums_.size(); i += i & -i) sums_[i] += value;
  }
  int64_t through(size_t place) const {
    int64_t sum = 0;
    for (size_t i = place + 1; i != 0; i -= i & -i) sum += sums_[i];
    return sum;
  }

 private:
  std::vector<int32_t> sums_;
};

// Distinct rows between two uses of one. The heads of an order move together, so one head an order
// is followed and the distance scaled to all columns.
void print_reuse_distance(const trace::Trace& trace) {
  constexpr uint64_t kTokensMax = 4000000;
  constexpr int kShownFirst = 3, kShownEnd = 34, kAlwaysShown = 28;
  const uint64_t tokens = std::min(trace.tokens(), kTokensMax);
  const uint64_t uses = tokens * kOrders;
  Fenwick latest(uses);
  trace::RowIndex index(uses);
  std::vector<uint32_t> last_use;
  std::array<uint64_t, 64> buckets{};
  for (uint64_t i = 0, use = 0; i < tokens; ++i) {
    for (int order = 0; order < kOrders; ++order, ++use) {
      const auto found = index.insert(trace.id(i, order * kHeads));
      if (found.added) {
        last_use.push_back(0);
      } else {
        const size_t last = last_use[found.number];
        const int64_t between = latest.through(uses - 1) - latest.through(last);
        ++buckets[std::bit_width(static_cast<uint64_t>(between) * kHeads)];
        latest.add(last, -1);
      }
      last_use[found.number] = static_cast<uint32_t>(use);
      latest.add(use, 1);
    }
  }
  std::printf(
      "\nReuse distance (distinct rows between two uses, first %llu tokens, all columns): "
      "cumulative "
      "%% of lookups\n\n",
      static_cast<unsigned long long>(tokens));
  std::string head = "| <= rows |", rule = "|---|", row = "| % |";
  uint64_t sum = 0;
  int at = 0;
  for (int bucket = kShownFirst; bucket < kShownEnd; bucket += 2) {
    while (at <= bucket) sum += buckets[at++];
    if (bucket >= kAlwaysShown && buckets[bucket] == 0) continue;
    char cell[32];
    std::snprintf(cell, sizeof cell, " %.1f |",
                  percent(static_cast<double>(sum), static_cast<double>(uses)));
    head += " 2^" + std::to_string(bucket) + " |";
    rule += "---|";
    row += cell;
  }
  std::printf("%s first use |\n%s---|\n%s %.1f |\n", head.c_str(), rule.c_str(), row.c_str(),
              percent(index.count(), static_cast<double>(uses)));
}

struct CallSums {
  uint64_t calls = 0, ids = 0, distinct = 0, pages = 0, row_pages = 0, straddles = 0,
           neighbours = 0;
  Counts orders{};
};

// Pages as in a packed shard of the whole table: 264-byte records behind a 4096-byte header.
void add_call(const trace::Trace& trace, uint64_t first, const trace::Call& call, CallSums& sums) {
  constexpr uint64_t kRow = 264, kHeader = 4096, kPage = 4096;
  std::vector<int64_t> rows(call.ids());
  trace.expand(first, call.tokens, rows.data());
  sums.calls += 1;
  sums.ids += rows.size();
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  sums.distinct += rows.size();
  std::vector<uint64_t> pages;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<uint64_t>(rows[i]);
    const uint64_t begin = kHeader + row * kRow;
    const uint64_t last = begin + kRow - 1;
    pages.push_back(begin / kPage);
    if (last / kPage != begin / kPage) {
      pages.push_back(last / kPage);
      ++sums.straddles;
    }
    sums.neighbours += i != 0 && rows[i] == rows[i - 1] + 1;
    const auto& offsets = trace.rule.offsets;
    ++sums.orders[row < offsets[kHeads] ? 0 : row < offsets[2 * kHeads] ? 1 : 2];
  }
  sums.row_pages += pages.size();
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  sums.pages += pages.size();
}

void print_calls(const trace::Trace& trace, trace::CallKind kind) {
  constexpr uint64_t kCallsMax = 20000, kBigCallsMax = 400, kBigCallTokens = 1000;
  CallSums sums;
  uint64_t first = 0;
  for (const trace::Call& call : trace.calls) {
    const uint64_t calls_max = call.tokens > kBigCallTokens ? kBigCallsMax : kCallsMax;
    if (call.kind == kind && sums.calls <= calls_max) add_call(trace, first, call, sums);
    first += call.tokens;
  }
  if (sums.calls == 0) return;
  const auto calls = static_cast<double>(sums.calls);
  const auto mean = [&](uint64_t value) { return static_cast<double>(value) / calls; };
  const auto share = [](uint64_t part, uint64_t whole) {
    return percent(static_cast<double>(part), static_cast<double>(whole));
  };
  std::printf(
      "\n%s calls (%llu sampled): %.0f ids a call, %.1f %% repeats inside the call, distinct %.0f "
      "(2/3/4-gram %.0f/%.0f/%.0f); rows over a 4 KiB edge %.2f %%; pages %.0f for %.0f row-page "
      "pairs (%.2f %% shared); neighbours (row+1) %.3f %%\n",
      trace::call_kind_name(kind), static_cast<unsigned long long>(sums.calls), mean(sums.ids),
      share(sums.ids - sums.distinct, sums.ids), mean(sums.distinct), mean(sums.orders[0]),
      mean(sums.orders[1]), mean(sums.orders[2]), share(sums.straddles, sums.distinct),
      mean(sums.pages), mean(sums.row_pages), share(sums.row_pages - sums.pages, sums.row_pages),
      share(sums.neighbours, sums.distinct));
}

}  // namespace

int main(int argc, char** argv) {
  std::string input;
  uint64_t take = 0;
  CLI::App app("Statistics of an Engram access trace, as Markdown.", "tracestat");
  app.add_option("TRACE", input, "An .egtrace file")->required();
  app.add_option("--take", take, "Only the first calls, up to this many tokens");
  CLI11_PARSE(app, argc, argv);

  Result<trace::Trace> loaded = trace::load_trace(input);
  if (!loaded.ok()) {
    std::fprintf(stderr, "tracestat: %s\n", loaded.status().text().c_str());
    return 1;
  }
  trace::Trace& trace = loaded.value();
  if (take != 0) take_tokens(trace, take);
  if (trace.ids() >= uint64_t{1} << 31) {
    std::fprintf(stderr, "tracestat: more than 2^31 row ids; give --take\n");
    return 1;
  }
  std::printf("%zu calls, %llu tokens, %llu row ids of layer %u (%llu rows)\n\n",
              trace.calls.size(), static_cast<unsigned long long>(trace.tokens()),
              static_cast<unsigned long long>(trace.ids()), trace.rule.layer,
              static_cast<unsigned long long>(trace.rule.rows));
  print_popularity(print_growth(trace));
  print_reuse_distance(trace);
  print_calls(trace, trace::CallKind::kPrefill);
  print_calls(trace, trace::CallKind::kDecode);
  return 0;
}
