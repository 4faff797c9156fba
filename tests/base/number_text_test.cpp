#include "base/number_text.h"

#include <limits>

#include "support/catch.h"

using namespace row_store;

TEST_CASE("counts are grouped by thousands", "[number_text]") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(384006168) == "384,006,168");
  CHECK(grouped(std::numeric_limits<uint64_t>::max()) == "18,446,744,073,709,551,615");
}

TEST_CASE("sizes and times keep three digits and never show a whole next unit", "[number_text]") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1.00 KiB");
  CHECK(bytes_text(1024 * 1024 - 1) == "1.00 MiB");
  CHECK(bytes_text(25344411184) == "23.6 GiB");
  CHECK(bytes_text(std::numeric_limits<uint64_t>::max()) == "16.0 EiB");
  CHECK(duration_text(999) == "999 ns");
  CHECK(duration_text(12350) == "12.3 us");
  CHECK(duration_text(999999) == "1.00 ms");
  CHECK(duration_text(3200000) == "3.20 ms");
  CHECK(duration_text(7200000000000) == "7200 s");
}
