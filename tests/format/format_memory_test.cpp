// What the format functions do when memory ends at any of their allocations.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/packed_shard.h"
#include "format/safetensors_file.h"
#include "format/safetensors_header.h"
#include "format/shard_sums.h"
#include "support/catch.h"
#include "support/failing_new.h"

namespace row_store {
namespace {

using testing::FailingNew;

// Lets each allocation of `call` fail in turn. Gives the number of them; every one must have been
// answered with kMemory, and the call that had all its memory with `verdict`.
template <typename Call>
uint64_t check_every_allocation(const Call& call, ErrorCode verdict) {
  for (uint64_t nth = 0;; ++nth) {
    REQUIRE(nth < 1000);
    ErrorCode code = ErrorCode::kOk;
    bool has_fired = false;
    {
      const FailingNew failing(nth);
      code = call();
      has_fired = failing.has_fired();
    }
    INFO("allocation " << nth);
    if (!has_fired) {
      CHECK(code == verdict);
      return nth;
    }
    CHECK(code == ErrorCode::kMemory);
  }
}

TEST_CASE("a safetensors header without memory is kMemory at every allocation", "[fault]") {
  const auto file = testing::file_of(testing::good_json());
  const auto call = [&] {
    return parse_safetensors_header(file.head, file.file_bytes).status().code();
  };
  CHECK(check_every_allocation(call, ErrorCode::kOk) > 10);
}

TEST_CASE("a refusal without memory for its text is kMemory", "[fault]") {
  SECTION("layout") {
    const auto file = testing::file_of(testing::good_json(), 1);
    const auto call = [&] {
      return parse_safetensors_header(file.head, file.file_bytes).status().code();
    };
    CHECK(check_every_allocation(call, ErrorCode::kSize) > 10);
  }
  SECTION("length") {
    const auto file = testing::file_of_text("<!DOCTYPE html><html>");
    const auto call = [&] {
      return safetensors_header_bytes(file.head, file.file_bytes).status().code();
    };
    CHECK(check_every_allocation(call, ErrorCode::kHeaderLength) > 0);
  }
  SECTION("tensors") {
    const auto file = testing::file_of(testing::good_json());
    const auto header = parse_safetensors_header(file.head, file.file_bytes);
    REQUIRE(header.ok());
    const auto by_offset = [&] { return check_engram_tensors(header.value(), 4, 1, 2).code(); };
    CHECK(check_every_allocation(by_offset, ErrorCode::kArgument) > 0);
    const auto by_name = [&] { return find_engram_table(header.value(), 14).status().code(); };
    CHECK(check_every_allocation(by_name, ErrorCode::kMissing) > 0);
  }
  SECTION("packed") {
    const auto bytes = encode_packed_header({PackedLayout::kDense, 1, {0, 10}, 100});
    const PackedExpectation other{14, {0, 10}, 100};
    const auto match = [&] { return match_packed_header(bytes, 1 << 20, other).status().code(); };
    CHECK(check_every_allocation(match, ErrorCode::kMismatch) > 0);
    const auto decode = [&] { return decode_packed_header(bytes, 4096).status().code(); };
    CHECK(check_every_allocation(decode, ErrorCode::kSize) > 0);
  }
}

TEST_CASE("sums without memory are kMemory at every allocation", "[fault]") {
  const PackedHeader header{PackedLayout::kDense, 1, {0, 10}, 100};
  SourceIdentity source = identify_raw_source(1 << 20, 100, 0, 25600);
  source.weight.name.assign(100, 'w');
  const auto build = [&] { return SumsBuilder::create(header, source).status().code(); };
  CHECK(check_every_allocation(build, ErrorCode::kOk) > 1);
  auto builder = SumsBuilder::create(header, source);
  REQUIRE(builder.ok());
  const auto finish = [&] { return builder.value().finish().status().code(); };
  CHECK(check_every_allocation(finish, ErrorCode::kArgument) > 0);
  const std::vector<uint8_t> shard(header.records_end().value());
  REQUIRE(builder.value().add(shard).ok());
  const auto add = [&] { return builder.value().add(shard).code(); };
  CHECK(check_every_allocation(add, ErrorCode::kArgument) > 0);
  const std::vector<uint8_t> tail = builder.value().finish().take();
  const auto page = std::span(tail).subspan(place_sums(header).value().head_offset - shard.size());
  const auto decode = [&] { return decode_sums_head(page, header, 1 << 20).status().code(); };
  CHECK(check_every_allocation(decode, ErrorCode::kOk) > 0);
  const auto cut = [&] { return decode_sums_head(page, header, shard.size()).status().code(); };
  CHECK(check_every_allocation(cut, ErrorCode::kSize) > 0);
  const auto head = decode_sums_head(page, header, 1 << 20);
  REQUIRE(head.value());
  const auto table = [&] { return check_sums_table(*head.value(), shard).code(); };
  CHECK(check_every_allocation(table, ErrorCode::kSize) > 0);
  const SourceIdentity other = identify_raw_source(1 << 20, 100, 0, 25601);
  const auto match = [&] { return match_source(source, other).code(); };
  CHECK(check_every_allocation(match, ErrorCode::kMismatch) > 0);
}

}  // namespace
}  // namespace row_store
