// A small table on disk whose bytes are a function of (seed, id), in every form a store reads.
#ifndef ROW_STORE_TESTS_SUPPORT_TEST_TABLE_H
#define ROW_STORE_TESTS_SUPPORT_TEST_TABLE_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/packed_shard.h"
#include "format/source_identity.h"
#include "row_store.h"

struct TestTable {
  uint64_t rows = 0;
  uint64_t seed = 1;
  std::string path;
  uint64_t weight_offset = 0;
  uint64_t scale_offset = 0;

  // The 264 bytes of a row.
  void fill_row(uint64_t id, uint8_t* out) const;
  // Whether row `place` of the outputs is row `id`, or zeros for an id outside [lo, hi).
  bool row_is(int64_t id, uint64_t lo, uint64_t hi, const uint8_t* weights,
              const uint8_t* scales) const;

  // A safetensors file whose header length is odd, with another tensor in front.
  static TestTable checkpoint(const std::string& path, uint64_t rows, uint64_t seed = 1);
  // Bare extents behind 4,096 bytes of something.
  static TestTable raw(const std::string& path, uint64_t rows, uint64_t seed = 1);
  void write_packed(const std::string& packed_path, row_store::PackedLayout layout, uint64_t layer,
                    uint64_t lo, uint64_t hi) const;
  // What sums say about where a shard was copied from.
  row_store::SourceIdentity source() const;
  // Puts sums behind the records of such a shard.
  void add_sums(const std::string& packed_path) const;

  row_store_t* open(uint64_t budget) const;
};

// A bit of the file's byte turns over. Throws where there is no such byte.
void damage(const std::string& path, uint64_t offset);

// Buffers of one lookup with canaries around the outputs.
class LookupBuffers {
 public:
  explicit LookupBuffers(uint64_t capacity);
  void look_up(row_store_t* store, std::span<const int64_t> ids);
  // Index of the first wrong row, or -1. Counts what it compared in rows_verified().
  int64_t first_wrong(const TestTable& table, std::span<const int64_t> ids, uint64_t lo,
                      uint64_t hi);
  bool canaries_whole() const;
  uint8_t* weights() { return weights_.data() + kCanary; }
  uint8_t* scales() { return scales_.data() + kCanary; }
  uint64_t rows_verified() const { return rows_verified_; }

 private:
  static constexpr uint64_t kCanary = 1024;  // bytes on each side
  uint64_t count_ = 0;
  uint64_t rows_verified_ = 0;
  std::vector<uint8_t> weights_;
  std::vector<uint8_t> scales_;
};

#endif  // ROW_STORE_TESTS_SUPPORT_TEST_TABLE_H
