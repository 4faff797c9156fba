// Numbers as people read them, for reports; messages to be searched for keep plain digits.
#ifndef ROW_STORE_BASE_NUMBER_TEXT_H
#define ROW_STORE_BASE_NUMBER_TEXT_H

#include <cstdint>
#include <string>

namespace row_store {

// "384,006,168". Inline: programs that use the shared library alone print counts, too.
inline std::string grouped(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

// "23.6 GiB", "512 B": binary units, three or more digits.
std::string bytes_text(uint64_t bytes);

// "850 ns", "12.4 us", "3.20 ms", "1.50 s".
std::string duration_text(uint64_t nanoseconds);

}  // namespace row_store

#endif  // ROW_STORE_BASE_NUMBER_TEXT_H
