#include "base/options.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "base/fatal.h"

namespace row_store {
namespace {

// One bit a variable: each is complained about once a process.
enum Variable : uint32_t {
  kThreads,
  kWays,
  kScales,
  kMode,
  kStrict,
  kNegative,
  kEngine,
  kDepth,
  kHuge,
  kPrefetch
};

void complain(Variable variable, const char* name, const char* value, const char* allowed,
              const char* used) {
  static std::atomic<uint32_t> said{0};
  if (said.fetch_or(1u << variable, std::memory_order_relaxed) >> variable & 1) return;
  log_line("%s='%.64s' is not understood: allowed is %s; using %s", name, value, allowed, used);
}

const char* value_of(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// A whole number; one outside [least, most] is clamped, which is what the original does with ways.
uint32_t number(Variable variable, const char* name, uint32_t fallback, uint32_t least,
                uint32_t most, const char* allowed) {
  const char* value = value_of(name);
  if (value == nullptr) return fallback;
  int64_t parsed = 0;
  const char* end = value + std::strlen(value);
  const auto [stop, error] = std::from_chars(value, end, parsed);
  const bool out_of_range = error == std::errc::result_out_of_range;
  if (stop != end || (error != std::errc() && !out_of_range)) {
    complain(variable, name, value, allowed, "the default");
    return fallback;
  }
  if (out_of_range) parsed = *value == '-' ? INT64_MIN : INT64_MAX;
  if (parsed >= least && parsed <= most) return static_cast<uint32_t>(parsed);
  complain(variable, name, value, allowed, "the nearest allowed number");
  return parsed < least ? least : most;
}

bool is_one_of(const char* value, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    if (word == value) return true;
  return false;
}

bool flag(Variable variable, const char* name, bool fallback) {
  const char* value = value_of(name);
  if (value == nullptr) return fallback;
  if (is_one_of(value, {"0", "off", "false", "no"})) return false;
  if (is_one_of(value, {"1", "on", "true", "yes"})) return true;
  complain(variable, name, value, "0, off, false, 1, on, true", "the default");
  return fallback;
}

EngineChoice engine_choice() {
  const char* value = value_of("DSV41_IO_ENGINE");
  if (value == nullptr || is_one_of(value, {"auto"})) return EngineChoice::kAuto;
  if (is_one_of(value, {"uring"})) return EngineChoice::kUring;
  if (is_one_of(value, {"aio"})) return EngineChoice::kAio;
  if (is_one_of(value, {"pool"})) return EngineChoice::kPool;
  if (is_one_of(value, {"buffered"})) return EngineChoice::kBuffered;
  complain(kEngine, "DSV41_IO_ENGINE", value, "auto, uring, aio, pool, buffered", "auto");
  return EngineChoice::kAuto;
}

PrefetchChoice prefetch_choice() {
  const char* value = value_of("DSV41_PREFETCH");
  if (value == nullptr || is_one_of(value, {"auto"})) return PrefetchChoice::kAuto;
  if (is_one_of(value, {"0", "off", "false", "no"})) return PrefetchChoice::kOff;
  if (is_one_of(value, {"1", "on", "true", "yes"})) return PrefetchChoice::kOn;
  complain(kPrefetch, "DSV41_PREFETCH", value, "off, on, auto", "auto");
  return PrefetchChoice::kAuto;
}

}  // namespace

const ProcessOptions& process_options() {
  static const ProcessOptions options = [] {
    ProcessOptions read;
    read.io_threads = number(kThreads, "DSV41_IO_THREADS", 32, 1, 256, "1 to 256");
    read.io_depth = number(kDepth, "DSV41_IO_DEPTH", 128, 1, 512, "1 to 512");
    return read;
  }();
  return options;
}

bool read_resident_scales_option() { return flag(kScales, "DSV41_RESIDENT_SCALES", true); }

StoreOptions read_store_options() {
  StoreOptions options;
  options.cache_ways = number(kWays, "DSV41_CACHE_WAYS", 12, 1, 16, "1 to 16");
  options.resident_scales = read_resident_scales_option();
  if (const char* mode = value_of("OFFLOAD_MODE")) {
    options.ram = is_one_of(mode, {"ram"});
    if (!options.ram && !is_one_of(mode, {"nvme"}))
      complain(kMode, "OFFLOAD_MODE", mode, "ram, nvme", "nvme");
  }
  options.strict = flag(kStrict, "DSV41_STRICT", false);
  if (const char* negative = value_of("DSV41_NEGATIVE_IDS")) {
    options.zero_negative_ids = is_one_of(negative, {"zero"});
    if (!options.zero_negative_ids && !is_one_of(negative, {"abort"}))
      complain(kNegative, "DSV41_NEGATIVE_IDS", negative, "abort, zero", "abort");
  }
  options.huge_pages = flag(kHuge, "DSV41_HUGE_PAGES", true);
  options.engine = engine_choice();
  options.prefetch = prefetch_choice();
  return options;
}

}  // namespace row_store
