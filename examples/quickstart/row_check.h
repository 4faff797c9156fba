// Says whether a lookup's rows are the checkpoint's rows.
//
// A checkpoint made by this program is checked whole: its rows are a function of their ids. Of any
// other a sample is read from the file with plain reads. Ids outside the rank's range must be
// zeros, and that is always checked. One thread.
#ifndef ROW_STORE_EXAMPLES_QUICKSTART_ROW_CHECK_H
#define ROW_STORE_EXAMPLES_QUICKSTART_ROW_CHECK_H

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "checkpoint/locate.h"
#include "format/row_layout.h"

namespace row_store::examples {

class RowCheck {
 public:
  // seed 0: not ours, so every sample_every-th row in the range is read from the checkpoint.
  static Result<RowCheck> make(uint64_t layer, uint64_t seed,
                               const checkpoint::TableLocation& location, RowRange range,
                               uint64_t sample_every);

  RowCheck(RowCheck&& other) noexcept;
  RowCheck& operator=(RowCheck&&) = delete;
  ~RowCheck();

  void check(std::span<const int64_t> ids, const uint8_t* weights, const uint8_t* scales);

  uint64_t checked() const { return checked_; }
  uint64_t wrong() const { return wrong_; }
  const std::string& first_wrong() const { return first_wrong_; }
  bool whole() const { return seed_ != 0; }

 private:
  RowCheck() = default;
  bool row_is_right(uint64_t id, const uint8_t* weights, const uint8_t* scales);

  uint64_t layer_ = 0;
  uint64_t seed_ = 0;
  checkpoint::TableLocation location_;
  RowRange range_;
  uint64_t sample_every_ = 1;
  int fd_ = -1;
  uint64_t rows_seen_ = 0;
  uint64_t checked_ = 0;
  uint64_t wrong_ = 0;
  std::string first_wrong_;
};

}  // namespace row_store::examples

#endif  // ROW_STORE_EXAMPLES_QUICKSTART_ROW_CHECK_H
