// Every environment variable: what it allows, and that nonsense keeps the default and is said once.
#include "base/options.h"

#include <functional>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/child.h"
#include "support/scoped_env.h"

namespace {

using row_store::EngineChoice;
using row_store::PrefetchChoice;
using row_store::process_options;
using row_store::read_store_options;
using row_store::StoreOptions;

// Value of an option as a number, read in a process that has read none before: what is said once a
// process is said there.
struct Reading {
  int value = -1;
  std::string said;
};

Reading read_twice(const char* name, const char* value, const std::function<int()>& read) {
  const ScopedEnv variable(name, value);
  const ChildResult child = run_in_child([&] {
    const int first = read();
    return read() == first ? first : 98;
  });
  return {child.exit_code, child.standard_error};
}

struct Case {
  const char* value;  // null: not set
  int expected;
};

// Values that are understood: nothing is said.
void check_good(const char* name, const std::function<int()>& read,
                const std::vector<Case>& cases) {
  for (const Case& good : cases) {
    INFO(name << "=" << (good.value != nullptr ? good.value : "(unset)"));
    const Reading reading = read_twice(name, good.value, read);
    CHECK(reading.value == good.expected);
    CHECK(reading.said.empty());
  }
}

// Values that are not: one line, however often the variable is read, that names variable and value.
void check_bad(const char* name, const std::function<int()>& read, const std::vector<Case>& cases) {
  for (const Case& bad : cases) {
    INFO(name << "=" << bad.value);
    const Reading reading = read_twice(name, bad.value, read);
    INFO(reading.said);
    CHECK(reading.value == bad.expected);
    CHECK(line_count(reading.said) == 1);
    CHECK(reading.said.find(std::string(name) + "='" + std::string(bad.value).substr(0, 64) +
                            "'") != std::string::npos);
    CHECK(reading.said.find("allowed is") != std::string::npos);
  }
}

int ways() { return static_cast<int>(read_store_options().cache_ways); }
int scales() { return read_store_options().resident_scales; }
int scales_of_a_range() { return row_store::read_resident_scales_option(); }
int ram() { return read_store_options().ram; }
int strict() { return read_store_options().strict; }
int zero_negative() { return read_store_options().zero_negative_ids; }
int engine() { return static_cast<int>(read_store_options().engine); }
int prefetch() { return static_cast<int>(read_store_options().prefetch); }
// Exit codes have eight bits; 256 threads and 512 reads do not fit.
int threads() { return static_cast<int>(process_options().io_threads) / 2; }
int depth() { return static_cast<int>(process_options().io_depth) / 4; }

constexpr int kAuto = static_cast<int>(EngineChoice::kAuto);

const std::string kLong(5000, 'x');

}  // namespace

TEST_CASE("DSV41_CACHE_WAYS is a whole number from 1 to 16", "[options]") {
  check_good("DSV41_CACHE_WAYS", ways,
             {{nullptr, 12}, {"", 12}, {"1", 1}, {"4", 4}, {"12", 12}, {"16", 16}, {"007", 7}});
  check_bad("DSV41_CACHE_WAYS", ways,
            {{"0", 1},
             {"17", 16},
             {"-1", 1},
             {"99999999999999999999", 16},
             {"-99999999999999999999", 1}});
  check_bad("DSV41_CACHE_WAYS", ways,
            {{"many", 12},
             {"4 ", 12},
             {" 4", 12},
             {"4x", 12},
             {"0x4", 12},
             {"4.0", 12},
             {"+4", 12},
             {"1e1", 12},
             {"-", 12},
             {kLong.c_str(), 12}});
}

TEST_CASE("DSV41_IO_THREADS is a whole number from 1 to 256", "[options]") {
  check_good("DSV41_IO_THREADS", threads,
             {{nullptr, 16}, {"", 16}, {"2", 1}, {"1", 0}, {"96", 48}, {"256", 128}});
  check_bad("DSV41_IO_THREADS", threads,
            {{"0", 0},
             {"-1", 0},
             {"257", 128},
             {"18446744073709551615", 128},
             {"all", 16},
             {"32,", 16},
             {"3 2", 16}});
}

TEST_CASE("DSV41_IO_DEPTH is a whole number from 1 to 512", "[options]") {
  check_good("DSV41_IO_DEPTH", depth, {{nullptr, 32}, {"4", 1}, {"1", 0}, {"512", 128}});
  check_bad("DSV41_IO_DEPTH", depth,
            {{"0", 0}, {"513", 128}, {"-5", 0}, {"deep", 32}, {"1.5", 32}});
}

TEST_CASE("DSV41_RESIDENT_SCALES is a switch that is on by default", "[options]") {
  for (const auto& read : {scales, scales_of_a_range}) {
    check_good("DSV41_RESIDENT_SCALES", read,
               {{nullptr, 1},
                {"", 1},
                {"0", 0},
                {"off", 0},
                {"false", 0},
                {"no", 0},
                {"1", 1},
                {"on", 1},
                {"true", 1},
                {"yes", 1}});
    check_bad("DSV41_RESIDENT_SCALES", read,
              {{"OFF", 1}, {"2", 1}, {"0 ", 1}, {"maybe", 1}, {"00", 1}, {kLong.c_str(), 1}});
  }
}

TEST_CASE("DSV41_STRICT is a switch that is off by default", "[options]") {
  check_good("DSV41_STRICT", strict,
             {{nullptr, 0}, {"", 0}, {"0", 0}, {"off", 0}, {"1", 1}, {"on", 1}, {"true", 1}});
  check_bad("DSV41_STRICT", strict, {{"On", 0}, {"very", 0}, {"-1", 0}});
}

TEST_CASE("OFFLOAD_MODE is ram or nvme", "[options]") {
  check_good("OFFLOAD_MODE", ram, {{nullptr, 0}, {"", 0}, {"nvme", 0}, {"ram", 1}});
  check_bad("OFFLOAD_MODE", ram, {{"RAM", 0}, {"ram ", 0}, {"disk", 0}, {"1", 0}});
}

TEST_CASE("DSV41_NEGATIVE_IDS is abort or zero", "[options]") {
  check_good("DSV41_NEGATIVE_IDS", zero_negative,
             {{nullptr, 0}, {"", 0}, {"abort", 0}, {"zero", 1}});
  check_bad("DSV41_NEGATIVE_IDS", zero_negative, {{"0", 0}, {"Zero", 0}, {"zeros", 0}});
}

TEST_CASE("DSV41_IO_ENGINE names an engine", "[options]") {
  check_good("DSV41_IO_ENGINE", engine,
             {{nullptr, kAuto},
              {"", kAuto},
              {"auto", kAuto},
              {"uring", static_cast<int>(EngineChoice::kUring)},
              {"aio", static_cast<int>(EngineChoice::kAio)},
              {"pool", static_cast<int>(EngineChoice::kPool)},
              {"buffered", static_cast<int>(EngineChoice::kBuffered)}});
  check_bad("DSV41_IO_ENGINE", engine,
            {{"io_uring", kAuto}, {"URING", kAuto}, {"threads", kAuto}, {"auto,aio", kAuto}});
}

TEST_CASE("DSV41_PREFETCH is off, on or auto, and auto by default", "[options]") {
  constexpr int kPrefetchAuto = static_cast<int>(PrefetchChoice::kAuto);
  constexpr int kOff = static_cast<int>(PrefetchChoice::kOff);
  constexpr int kOn = static_cast<int>(PrefetchChoice::kOn);
  check_good("DSV41_PREFETCH", prefetch,
             {{nullptr, kPrefetchAuto},
              {"", kPrefetchAuto},
              {"auto", kPrefetchAuto},
              {"off", kOff},
              {"0", kOff},
              {"on", kOn},
              {"1", kOn}});
  check_bad("DSV41_PREFETCH", prefetch,
            {{"ON", kPrefetchAuto}, {"auto ", kPrefetchAuto}, {"2", kPrefetchAuto}});
}

TEST_CASE("each variable is complained about on its own", "[options]") {
  const ScopedEnv a("DSV41_CACHE_WAYS", "x"), b("DSV41_STRICT", "x"), c("OFFLOAD_MODE", "x"),
      d("DSV41_RESIDENT_SCALES", "x"), e("DSV41_NEGATIVE_IDS", "x"), f("DSV41_IO_ENGINE", "x"),
      g("DSV41_IO_THREADS", "x"), h("DSV41_IO_DEPTH", "x"), i("DSV41_PREFETCH", "x");
  const ChildResult child = run_in_child([] {
    for (int round = 0; round < 3; ++round) {
      const StoreOptions options = read_store_options();
      process_options();
      if (options.cache_ways != 12 || options.strict || options.ram || !options.resident_scales)
        return 1;
    }
    return 0;
  });
  CHECK(child.exit_code == 0);
  CHECK(line_count(child.standard_error) == 9);
}

TEST_CASE("the options of a store are read anew by each open", "[options]") {
  {
    const ScopedEnv variable("DSV41_CACHE_WAYS", "3");
    CHECK(ways() == 3);
  }
  const ScopedEnv variable("DSV41_CACHE_WAYS", "5");
  CHECK(ways() == 5);
}
