#include "trace/trace_file.h"

#include <array>
#include <cstring>

#include "base/checked.h"
#include "trace/files.h"

namespace row_store::trace {
namespace {

constexpr std::array<char, 8> kMagic = {'E', 'G', 'T', 'R', 'A', 'C', 'E', '1'};

struct Header {
  std::array<char, 8> magic;
  uint32_t layer;
  uint32_t orders;
  uint32_t heads;
  uint32_t file_kind;
  uint64_t calls;
  uint64_t tokens;
  std::array<uint64_t, kColumns> primes;
};
static_assert(sizeof(Header) == kTraceHeaderBytes, "the struct is the file's head");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are read as they lie");

std::string expected_found(const std::string& what, uint64_t expected, uint64_t found) {
  return what + ": expected " + std::to_string(expected) + ", found " + std::to_string(found);
}

Status check_geometry(const Header& header, uint64_t file_bytes) {
  if (header.magic != kMagic) {
    return Status::error(ErrorCode::kMismatch, "does not start with EGTRACE1");
  }
  if (header.orders != kOrders) {
    return Status::error(ErrorCode::kMismatch, expected_found("orders", kOrders, header.orders));
  }
  if (header.heads != kHeads) {
    return Status::error(ErrorCode::kMismatch, expected_found("heads", kHeads, header.heads));
  }
  if (header.file_kind != 0) {
    return Status::error(ErrorCode::kMismatch, expected_found("file kind", 0, header.file_kind));
  }
  const auto call_bytes = checked_mul(header.calls, sizeof(uint32_t));
  const auto roll_bytes = checked_mul(header.tokens, kOrders * sizeof(uint64_t));
  const auto body = call_bytes && roll_bytes ? checked_add(*call_bytes, *roll_bytes) : std::nullopt;
  const auto total = body ? checked_add(*body, kTraceHeaderBytes) : std::nullopt;
  if (!total) {
    return Status::error(ErrorCode::kOverflow, std::to_string(header.calls) + " calls and " +
                                                   std::to_string(header.tokens) +
                                                   " tokens exceed any file");
  }
  if (*total != file_bytes) {
    return Status::error(ErrorCode::kSize, expected_found("file bytes", *total, file_bytes));
  }
  return {};
}

Status decode_calls(std::span<const uint8_t> bytes, uint64_t tokens, std::vector<Call>& calls) {
  uint64_t sum = 0;  // cannot wrap: each call is below 2^24 and there are fewer than 2^62
  for (size_t i = 0; i < calls.size(); ++i) {
    uint32_t word;
    std::memcpy(&word, bytes.data() + i * sizeof word, sizeof word);
    const uint32_t kind = word >> 24;
    calls[i] = {word & kCallTokensMax, static_cast<CallKind>(kind)};
    if (kind > 1 || calls[i].tokens == 0) {
      return Status::error(ErrorCode::kArgument, "call " + std::to_string(i) + " has kind " +
                                                     std::to_string(kind) + " and " +
                                                     std::to_string(calls[i].tokens) + " tokens");
    }
    sum += calls[i].tokens;
  }
  if (sum != tokens) {
    return Status::error(ErrorCode::kArgument, expected_found("tokens of all calls", tokens, sum));
  }
  return {};
}

}  // namespace

Result<Trace> decode_trace(std::span<const uint8_t> bytes) {
  if (bytes.size() < kTraceHeaderBytes) {
    return Status::error(ErrorCode::kShort,
                         expected_found("header bytes", kTraceHeaderBytes, bytes.size()));
  }
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (Status status = check_geometry(header, bytes.size()); !status.ok()) return status;

  // The base only picks the multipliers here; the primes are the file's own.
  Result<Addressing> rule = make_addressing(header.layer, 2);
  if (!rule.ok()) return rule.status();
  Trace trace{rule.take(), {}, {}};
  if (Status status = set_primes(trace.rule, header.primes); !status.ok()) return status;

  trace.calls.resize(header.calls);
  const auto calls = bytes.subspan(kTraceHeaderBytes, header.calls * sizeof(uint32_t));
  if (Status status = decode_calls(calls, header.tokens, trace.calls); !status.ok()) return status;

  const auto rolls = bytes.subspan(kTraceHeaderBytes + calls.size());
  trace.rolls.resize(rolls.size() / sizeof(uint64_t));
  if (!rolls.empty()) std::memcpy(trace.rolls.data(), rolls.data(), rolls.size());
  return trace;
}

Result<Trace> load_trace(const std::string& path) {
  Result<std::vector<uint8_t>> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  Result<Trace> trace = decode_trace(bytes.value());
  if (trace.ok()) return trace;
  return Status::error(trace.status().code(),
                       path + " is not a usable trace: " + trace.status().text());
}

Status save_trace(const Trace& trace, const std::string& path) {
  const Header header = {kMagic, trace.rule.layer,   kOrders,        kHeads,
                         0,      trace.calls.size(), trace.tokens(), trace.rule.primes};
  std::vector<uint32_t> calls;
  calls.reserve(trace.calls.size());
  for (const Call& call : trace.calls) {
    if (call.tokens == 0 || call.tokens > kCallTokensMax) {
      return Status::error(ErrorCode::kArgument,
                           "a call of " + std::to_string(call.tokens) + " tokens has no encoding");
    }
    calls.push_back(call.tokens | static_cast<uint32_t>(call.kind) << 24);
  }
  const std::span<const uint8_t> parts[] = {
      {reinterpret_cast<const uint8_t*>(&header), sizeof header},
      bytes_of(calls),
      bytes_of(trace.rolls)};
  return write_file(path, parts);
}

}  // namespace row_store::trace
