#include "base/number_text.h"

#include <cstdio>
#include <span>

namespace row_store {
namespace {

// `value` of the first unit, in the largest one that leaves at least 1 in front of the point.
std::string scaled(double value, double step, std::span<const char* const> units) {
  size_t unit = 0;
  // 0.9995 would be printed as 1000 or 1024 of the smaller unit.
  while (unit + 1 < units.size() && value >= step * 0.9995) {
    value /= step;
    ++unit;
  }
  int decimals = 0;
  if (unit > 0) decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  char text[40];
  std::snprintf(text, sizeof text, "%.*f %s", decimals, value, units[unit]);
  return text;
}

}  // namespace

std::string bytes_text(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return scaled(static_cast<double>(bytes), 1024, kUnits);
}

std::string duration_text(uint64_t nanoseconds) {
  static constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  return scaled(static_cast<double>(nanoseconds), 1000, kUnits);
}

}  // namespace row_store
