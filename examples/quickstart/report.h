// What a replay measured, and the table that shows it to a person.
#ifndef ROW_STORE_EXAMPLES_QUICKSTART_REPORT_H
#define ROW_STORE_EXAMPLES_QUICKSTART_REPORT_H

#include <cstdint>
#include <string>
#include <vector>

#include "base/number_text.h"
#include "row_store.h"

namespace row_store::examples {

struct LayerReport {
  uint64_t layer = 0;
  uint64_t calls = 0;
  uint64_t rows = 0;     // looked up
  uint64_t checked = 0;  // compared byte for byte
  uint64_t wrong = 0;
  uint64_t table_rows = 0;
  uint64_t owned_rows = 0;
  std::string served_from;
  std::vector<double> decode_us;  // a call
  std::vector<double> prefill_us;
  row_store_statistics stats{};
};

void print_report(const std::vector<LayerReport>& layers);

}  // namespace row_store::examples

#endif  // ROW_STORE_EXAMPLES_QUICKSTART_REPORT_H
