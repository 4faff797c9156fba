// Takes numbers off the front of a fuzzer's input; an input that has ended gives zeros.
#ifndef ROW_STORE_TESTS_FUZZ_INPUT_H
#define ROW_STORE_TESTS_FUZZ_INPUT_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace row_store::fuzz {

class Input {
 public:
  explicit Input(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool ended() const { return bytes_.empty(); }
  std::span<const uint8_t> rest() const { return bytes_; }
  uint64_t number(size_t width) {
    uint64_t value = 0;
    for (size_t i = 0; i < width && !bytes_.empty(); ++i) {
      value |= uint64_t{bytes_.front()} << (8 * i);
      bytes_ = bytes_.subspan(1);
    }
    return value;
  }
  uint8_t byte() { return static_cast<uint8_t>(number(1)); }
  uint16_t half() { return static_cast<uint16_t>(number(2)); }
  uint64_t word() { return number(8); }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace row_store::fuzz

#endif  // ROW_STORE_TESTS_FUZZ_INPUT_H
