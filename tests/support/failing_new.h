// Makes the n-th operator new of this thread fail, to test what a function does without memory.
//
// Link support/failing_new.cpp, which replaces operator new and delete of the whole executable; new
// of other threads, and all of it while no FailingNew lives, works as ever. malloc is not touched.
#ifndef ROW_STORE_SUPPORT_FAILING_NEW_H
#define ROW_STORE_SUPPORT_FAILING_NEW_H

#include <cstdint>

namespace row_store::testing {

// One at a time in a thread. Everything from the nth allocation on fails (the first is 0), until
// the object's end: keep assertions, which allocate, out of its scope.
class FailingNew {
 public:
  explicit FailingNew(uint64_t nth);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  // Whether an allocation failed because of this object.
  bool has_fired() const;
};

}  // namespace row_store::testing

#endif  // ROW_STORE_SUPPORT_FAILING_NEW_H
