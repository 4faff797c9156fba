// An assertion that holds in every build: says what does not hold and stops the process.
#ifndef ROW_STORE_TESTS_FUZZ_CHECK_H
#define ROW_STORE_TESTS_FUZZ_CHECK_H

#include <cstdio>
#include <cstdlib>

#define FUZZ_CHECK(condition)                                                             \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)

#endif  // ROW_STORE_TESTS_FUZZ_CHECK_H
