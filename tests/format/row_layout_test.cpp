#include "format/row_layout.h"

#include <cstdint>

#include "support/catch.h"

namespace row_store {
namespace {

TEST_CASE("a range contains its first row and not its end", "[unit]") {
  const RowRange range{10, 20};
  CHECK(range.count() == 10);
  CHECK(range.contains(10));
  CHECK(range.contains(19));
  CHECK_FALSE(range.contains(20));
}

TEST_CASE("a range does not contain rows below it or at the far end of 64 bits", "[unit]") {
  const RowRange range{10, 20};
  CHECK_FALSE(range.contains(9));
  CHECK_FALSE(range.contains(0));
  CHECK_FALSE(range.contains(UINT64_MAX));
}

TEST_CASE("an empty range contains nothing", "[unit]") {
  const RowRange range{10, 10};
  CHECK(range.count() == 0);
  CHECK_FALSE(range.contains(10));
  CHECK_FALSE(range.contains(9));
}

}  // namespace
}  // namespace row_store
