#include "support/test_table.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "format/safetensors_header.h"
#include "format/shard_sums.h"

namespace {

constexpr uint64_t kRow = ROW_STORE_ROW_BYTES;
constexpr uint8_t kCanaryByte = 0xC5;

uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

void write_part(const TestTable& table, std::ofstream& file, uint64_t from, uint64_t bytes) {
  std::vector<uint8_t> buffer;
  uint8_t row[kRow];
  for (uint64_t id = 0; id < table.rows; ++id) {
    table.fill_row(id, row);
    buffer.insert(buffer.end(), row + from, row + from + bytes);
    if (buffer.size() < 1 << 20 && id + 1 != table.rows) continue;
    file.write(reinterpret_cast<char*>(buffer.data()), static_cast<std::streamsize>(buffer.size()));
    buffer.clear();
  }
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   uint64_t begin, uint64_t end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape +
         "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
}

std::vector<uint8_t> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return {text.begin(), text.end()};
}

// value() of what must be there.
template <typename T>
T need(row_store::Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().text());
  return result.take();
}

void close(std::ofstream& file, const std::string& path) {
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace

void TestTable::fill_row(uint64_t id, uint8_t* out) const {
  const uint64_t base = mix(seed ^ id * 0xD1342543DE82EF95);
  for (uint64_t word = 0; word < kRow / 8; ++word) {
    const uint64_t value = (base ^ word * 0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93;
    std::memcpy(out + 8 * word, &value, 8);
  }
}

bool TestTable::row_is(int64_t id, uint64_t lo, uint64_t hi, const uint8_t* weights,
                       const uint8_t* scales) const {
  uint8_t row[kRow] = {};
  const auto unsigned_id = static_cast<uint64_t>(id);
  if (unsigned_id >= lo && unsigned_id < hi) fill_row(unsigned_id, row);
  return std::memcmp(weights, row, ROW_STORE_WEIGHT_BYTES) == 0 &&
         std::memcmp(scales, row + ROW_STORE_WEIGHT_BYTES, ROW_STORE_SCALE_BYTES) == 0;
}

TestTable TestTable::checkpoint(const std::string& path, uint64_t rows, uint64_t seed) {
  TestTable table{rows, seed, path, 0, 0};
  constexpr uint64_t kOther = 24;  // a BF16 tensor in front
  const uint64_t weights_end = kOther + rows * 256;
  const std::string count = std::to_string(rows);
  std::string header =
      "{" + tensor("layers.1.attn_norm.weight", "BF16", "12", 0, kOther) + "," +
      tensor("layers.1.engram.embed.weight", "F8_E4M3", count + ",256", kOther, weights_end) + "," +
      tensor("layers.1.engram.embed.scale", "F8_E8M0", count + ",8", weights_end,
             weights_end + rows * 8) +
      "}";
  if (header.size() % 2 == 0) header += ' ';
  const uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), 8);
  file << header << std::string(kOther, 'n');
  write_part(table, file, 0, 256);
  write_part(table, file, 256, 8);
  close(file, path);
  table.weight_offset = 8 + length + kOther;
  table.scale_offset = 8 + length + weights_end;
  return table;
}

TestTable TestTable::raw(const std::string& path, uint64_t rows, uint64_t seed) {
  TestTable table{rows, seed, path, 4096, 4096 + rows * 256};
  std::ofstream file(path, std::ios::binary);
  file << std::string(4096, '#');
  write_part(table, file, 0, 256);
  write_part(table, file, 256, 8);
  close(file, path);
  return table;
}

void TestTable::write_packed(const std::string& packed_path, row_store::PackedLayout layout,
                             uint64_t layer, uint64_t lo, uint64_t hi) const {
  row_store::PackedHeader header;
  header.layout = layout;
  header.layer = layer;
  header.range = {lo, hi};
  header.table_rows = rows;
  const auto bytes = row_store::encode_packed_header(header);
  std::ofstream file(packed_path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  uint8_t row[kRow];
  for (uint64_t id = lo; id < hi; ++id) {
    fill_row(id, row);
    file.seekp(static_cast<std::streamoff>(header.row_offset(id)));
    file.write(reinterpret_cast<char*>(row), kRow);
  }
  const uint64_t end = header.records_end().value();
  if (static_cast<uint64_t>(file.tellp()) < end) {
    file.seekp(static_cast<std::streamoff>(end - 1));
    file.put('\0');
  }
  close(file, packed_path);
}

row_store::SourceIdentity TestTable::source() const {
  const std::vector<uint8_t> file = contents(path);
  const auto header_bytes = row_store::safetensors_header_bytes(file, file.size());
  if (!header_bytes.ok())
    return row_store::identify_raw_source(file.size(), rows, weight_offset, scale_offset);
  const auto head = std::span(file).first(8 + header_bytes.value());
  const auto header = need(row_store::parse_safetensors_header(head, file.size()));
  return need(row_store::identify_source(header, head, file.size(), weight_offset, scale_offset));
}

void TestTable::add_sums(const std::string& packed_path) const {
  const std::vector<uint8_t> shard = contents(packed_path);
  const auto header = need(row_store::decode_packed_header(
      std::span(shard).first(row_store::kPackedHeaderBytes), shard.size()));
  auto builder = need(row_store::SumsBuilder::create(header, source()));
  const uint64_t end = need(header.records_end());
  if (!builder.add(std::span(shard).first(end)).ok()) throw std::runtime_error("sums");
  const std::vector<uint8_t> tail = need(builder.finish());
  std::ofstream file(packed_path, std::ios::binary | std::ios::in);
  file.seekp(static_cast<std::streamoff>(end));
  file.write(reinterpret_cast<const char*>(tail.data()), static_cast<std::streamsize>(tail.size()));
  close(file, packed_path);
}

row_store_t* TestTable::open(uint64_t budget) const {
#ifdef DSV41_ROW_STORE_DRM
  // Runs any test with its caches on a real device.
  constexpr uint64_t kPoolBytes = uint64_t{16} << 20;
  if (const char* node = std::getenv("ROW_STORE_TEST_DRM_NODE"); node != nullptr && budget != 0)
    row_store_next_cache_on_drm(node, kPoolBytes);
#endif
  return row_store_open(path.c_str(), rows, weight_offset, scale_offset, budget);
}

void damage(const std::string& path, uint64_t offset) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(offset));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(byte ^ 0x10));
  file.close();
  if (byte < 0 || !file.good()) throw std::runtime_error("no byte to damage in " + path);
}

LookupBuffers::LookupBuffers(uint64_t capacity)
    : weights_(capacity * ROW_STORE_WEIGHT_BYTES + 2 * kCanary),
      scales_(capacity * ROW_STORE_SCALE_BYTES + 2 * kCanary) {}

void LookupBuffers::look_up(row_store_t* store, std::span<const int64_t> ids) {
  count_ = ids.size();
  // Only what this lookup may touch and some rows on both sides: filling all of a large buffer
  // would take longer than the lookup.
  std::fill_n(weights_.begin(), count_ * ROW_STORE_WEIGHT_BYTES + 2 * kCanary, kCanaryByte);
  std::fill_n(scales_.begin(), count_ * ROW_STORE_SCALE_BYTES + 2 * kCanary, kCanaryByte);
  row_store_work work{store, ids.data(), weights(), scales(), count_};
  row_store_lookup(&work);
}

int64_t LookupBuffers::first_wrong(const TestTable& table, std::span<const int64_t> ids,
                                   uint64_t lo, uint64_t hi) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!table.row_is(ids[i], lo, hi, weights() + i * 256, scales() + i * 8))
      return static_cast<int64_t>(i);
    ++rows_verified_;
  }
  return -1;
}

bool LookupBuffers::canaries_whole() const {
  const auto whole = [](const std::vector<uint8_t>& bytes, uint64_t used) {
    const auto is_canary = [](uint8_t byte) { return byte == kCanaryByte; };
    const auto behind = bytes.begin() + static_cast<ptrdiff_t>(kCanary + used);
    return std::all_of(bytes.begin(), bytes.begin() + kCanary, is_canary) &&
           std::all_of(behind, behind + kCanary, is_canary);
  };
  return whole(weights_, count_ * ROW_STORE_WEIGHT_BYTES) &&
         whole(scales_, count_ * ROW_STORE_SCALE_BYTES);
}
