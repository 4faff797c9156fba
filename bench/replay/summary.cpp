#include "replay/summary.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <random>

namespace row_store::bench {
namespace {

constexpr size_t kBlockCallsMax = 16;
constexpr size_t kBlocksMin = 20;  // shorter blocks rather than fewer of them
constexpr int kResamples = 200;
constexpr uint64_t kResampleSeed = 1;

using Values = std::vector<double>;
using Statistic = std::function<double(Values&)>;  // may reorder

double mean(Values& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double quantile(Values& values, double part) {
  const auto rank = static_cast<size_t>(part * static_cast<double>(values.size() - 1) + 0.5);
  const auto place = values.begin() + static_cast<int64_t>(rank);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

double median(Values& values) { return quantile(values, 0.5); }
double p99(Values& values) { return quantile(values, 0.99); }

Values walls(const Costs& costs) {
  Values values;
  for (const CallCost& call : costs.calls) values.push_back(call.wall_ns);
  return values;
}

Values cpus(const Costs& costs) {
  Values values;
  for (const CallCost& call : costs.calls) values.push_back(call.cpu_ns);
  return values;
}

struct Ratio {
  double value = 0;
  double low = 0;
  double high = 0;
};

size_t block_calls(size_t calls) {
  return std::clamp<size_t>(calls / kBlocksMin, 1, kBlockCallsMax);
}

void append_block(const Values& from, size_t block, Values& to) {
  const size_t size = block_calls(from.size());
  const size_t begin = block * size;
  const size_t end = std::min(begin + size, from.size());
  to.insert(to.end(), from.begin() + static_cast<int64_t>(begin),
            from.begin() + static_cast<int64_t>(end));
}

// statistic(first) / statistic(other): above 1, the other is faster.
Ratio ratio_of(const Values& first, const Values& other, const Statistic& statistic) {
  Values a = first;
  Values b = other;
  Ratio ratio;
  ratio.value = statistic(a) / statistic(b);
  const size_t size = block_calls(first.size());
  const size_t blocks = (first.size() + size - 1) / size;
  std::mt19937_64 random(kResampleSeed);
  Values ratios;
  for (int i = 0; i < kResamples; ++i) {
    a.clear();
    b.clear();
    for (size_t n = 0; n < blocks; ++n) {
      const size_t block = random() % blocks;
      append_block(first, block, a);
      append_block(other, block, b);
    }
    ratios.push_back(statistic(a) / statistic(b));
  }
  ratio.low = quantile(ratios, 0.025);
  ratio.high = quantile(ratios, 0.975);
  return ratio;
}

void print_costs(const NamedLibrary& library, const Costs& costs) {
  Values wall = walls(costs);
  Values cpu = cpus(costs);
  const double wall_mean = mean(wall);
  const double ids = static_cast<double>(costs.ids) / static_cast<double>(wall.size());
  std::printf("  %-12s %10.1f %10.1f %10.1f %10.1f %10.1f\n", library.name.c_str(), wall_mean / 1e3,
              median(wall) / 1e3, p99(wall) / 1e3, mean(cpu) / 1e3, wall_mean / ids);
}

void print_ratios(const NamedLibrary& library, const Costs& first, const Costs& other) {
  const auto print = [](const char* name, const Ratio& ratio) {
    std::printf("  %s %.2f (%.2f..%.2f)", name, ratio.value, ratio.low, ratio.high);
  };
  std::printf("  %-12s", library.name.c_str());
  print("mean", ratio_of(walls(first), walls(other), mean));
  print("median", ratio_of(walls(first), walls(other), median));
  print("p99", ratio_of(walls(first), walls(other), p99));
  print("CPU", ratio_of(cpus(first), cpus(other), mean));
  std::printf("\n");
}

void print_kind(const std::vector<NamedLibrary>& libraries, const std::vector<Played>& played,
                int pass, int kind) {
  const Costs& first = played[0].costs[pass][kind];
  if (first.calls.empty()) return;
  std::printf("\n%s calls%s: %zu of %.0f ids\n",
              trace::call_kind_name(static_cast<trace::CallKind>(kind)),
              pass == 0 ? "" : ", once more", first.calls.size(),
              static_cast<double>(first.ids) / static_cast<double>(first.calls.size()));
  std::printf("  %-12s %10s %10s %10s %10s %10s\n", "us a call", "mean", "median", "p99", "CPU",
              "ns an id");
  for (size_t i = 0; i < libraries.size(); ++i) {
    print_costs(libraries[i], played[i].costs[pass][kind]);
  }
  if (libraries.size() < 2) return;
  std::printf("  times less than %s (95 %% of resamples within)\n", libraries[0].name.c_str());
  for (size_t i = 1; i < libraries.size(); ++i) {
    print_ratios(libraries[i], first, played[i].costs[pass][kind]);
  }
}

void print_counters(const std::vector<NamedLibrary>& libraries, const std::vector<Played>& played,
                    int pass) {
  std::printf("\nall calls%s\n  %-12s %10s %12s %12s %12s %10s %10s\n",
              pass == 0 ? "" : ", once more", "", "hits %", "misses", "reads", "reads/s", "seconds",
              "CPU s");
  for (size_t i = 0; i < libraries.size(); ++i) {
    double wall = 0;
    double cpu = 0;
    for (const Costs& costs : played[i].costs[pass]) {
      for (const CallCost& call : costs.calls) {
        wall += call.wall_ns / 1e9;
        cpu += call.cpu_ns / 1e9;
      }
    }
    const Counters& counters = played[i].counters[pass];
    const auto hits = static_cast<double>(counters.hits);
    const double rows = hits + static_cast<double>(counters.misses);
    std::printf("  %-12s %10.2f %12llu %12llu %12.0f %10.2f %10.2f\n", libraries[i].name.c_str(),
                rows > 0 ? 100 * hits / rows : 0, static_cast<unsigned long long>(counters.misses),
                static_cast<unsigned long long>(counters.reads),
                wall > 0 ? static_cast<double>(counters.reads) / wall : 0, wall, cpu);
  }
}

}  // namespace

void print_summary(const std::vector<NamedLibrary>& libraries, const std::vector<Played>& played) {
  for (int pass = 0; pass < kPasses; ++pass) {
    bool any = false;
    for (int kind = 0; kind < kKinds; ++kind) {
      print_kind(libraries, played, pass, kind);
      any = any || !played[0].costs[pass][kind].calls.empty();
    }
    if (any) print_counters(libraries, played, pass);
  }
}

}  // namespace row_store::bench
