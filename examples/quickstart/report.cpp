#include "quickstart/report.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>

namespace row_store::examples {
namespace {

using Cell = std::function<std::string(const LayerReport&)>;

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string mebibytes(uint64_t bytes) {
  return format("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string mean(const std::vector<double>& values) {
  if (values.empty()) return "-";
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return format("%.0f us", sum / static_cast<double>(values.size()));
}

// The value that `part` of all values do not exceed.
std::string quantile(std::vector<double> values, double part) {
  if (values.empty()) return "-";
  const auto rank = static_cast<size_t>(part * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(rank), values.end());
  return format("%.0f us", values[rank]);
}

std::string hit_rate(const LayerReport& layer) {
  const auto hits = static_cast<double>(layer.stats.hits);
  const double all = hits + static_cast<double>(layer.stats.misses);
  return all > 0 ? format("%.1f %%", 100 * hits / all) : "-";
}

void row(const std::vector<LayerReport>& layers, const char* name, const Cell& cell) {
  std::printf("  %-34s", name);
  for (const LayerReport& layer : layers) std::printf("%16s", cell(layer).c_str());
  std::printf("\n");
}

Cell stat(uint64_t row_store_statistics::*field) {
  return [field](const LayerReport& layer) { return grouped(layer.stats.*field); };
}

Cell size(uint64_t row_store_statistics::*field) {
  return [field](const LayerReport& layer) { return mebibytes(layer.stats.*field); };
}

bool packed(const LayerReport& layer) { return layer.stats.packed_engine != ROW_STORE_ENGINE_NONE; }

std::string engine(const LayerReport& layer) {
  switch (packed(layer) ? layer.stats.packed_engine : layer.stats.checkpoint_engine) {
    case ROW_STORE_ENGINE_URING:
      return "io_uring";
    case ROW_STORE_ENGINE_AIO:
      return "Linux AIO";
    case ROW_STORE_ENGINE_THREADS:
      return "threads";
    default:
      return "none";
  }
}

std::string access(const LayerReport& layer) {
  const uint64_t how = packed(layer) ? layer.stats.packed_access : layer.stats.checkpoint_access;
  return how == ROW_STORE_ACCESS_DIRECT ? "direct" : "page cache";
}

}  // namespace

void print_report(const std::vector<LayerReport>& layers) {
  using L = const LayerReport&;
  std::printf("\n");
  row(layers, "", [](L l) { return "layer " + std::to_string(l.layer); });
  row(layers, "table, rows", [](L l) { return grouped(l.table_rows); });
  row(layers, "owned by this rank, rows", [](L l) { return grouped(l.owned_rows); });
  row(layers, "lookup calls", [](L l) { return grouped(l.calls); });
  row(layers, "rows looked up", [](L l) { return grouped(l.rows); });
  row(layers, "compared byte for byte", [](L l) { return grouped(l.checked); });
  row(layers, "wrong", [](L l) { return grouped(l.wrong); });
  row(layers, "cache hit rate", hit_rate);
  row(layers, "evictions", stat(&row_store_statistics::evictions));
  row(layers, "reads sent to the drive", stat(&row_store_statistics::reads));
  row(layers, "bytes read", size(&row_store_statistics::read_bytes));
  row(layers, "decode call, mean", [](L l) { return mean(l.decode_us); });
  row(layers, "decode call, 99 of 100 within", [](L l) { return quantile(l.decode_us, 0.99); });
  row(layers, "prefill call, mean", [](L l) { return mean(l.prefill_us); });
  row(layers, "prefill call, 99 of 100 within", [](L l) { return quantile(l.prefill_us, 0.99); });
  row(layers, "row cache, reserved", size(&row_store_statistics::cache_bytes));
  row(layers, "row cache, rows", stat(&row_store_statistics::cache_slots));
  row(layers, "scales in memory", size(&row_store_statistics::scale_bytes));
  row(layers, "misses served from",
      [](L l) { return std::string(packed(l) ? "packed shard" : "checkpoint"); });
  row(layers, "read engine", engine);
  row(layers, "reads go", access);
  for (const LayerReport& layer : layers) {
    std::printf("  layer %llu reads %s\n", static_cast<unsigned long long>(layer.layer),
                layer.served_from.c_str());
  }
}

}  // namespace row_store::examples
