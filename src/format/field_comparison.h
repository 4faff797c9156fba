// Collects "name expected x, found y" for every field, so that one line of a log is enough to see
// whether a file is of another rank, layer or checkpoint.
#ifndef ROW_STORE_FORMAT_FIELD_COMPARISON_H
#define ROW_STORE_FORMAT_FIELD_COMPARISON_H

#include <cstdint>
#include <string>

namespace row_store {

class FieldComparison {
 public:
  void add(const char* name, uint64_t expected, uint64_t found) {
    note(name, std::to_string(expected), std::to_string(found), expected == found);
  }
  void note(const char* name, const std::string& expected, const std::string& found, bool equal) {
    if (!text_.empty()) text_ += "; ";
    text_ += std::string(name) + " expected " + expected + ", found " + found;
    if (!equal) text_ += " (differs)";
    is_equal_ = is_equal_ && equal;
  }
  bool is_equal() const { return is_equal_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool is_equal_ = true;
};

}  // namespace row_store

#endif  // ROW_STORE_FORMAT_FIELD_COMPARISON_H
