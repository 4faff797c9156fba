// Catch2, version 2 or 3: the one place that knows their headers apart.
//
// Not for: SKIP() (version 3 only; print why and exit with 77), matchers beyond the two versions'
// common set. Compare std::string rather than std::string_view: Debian's Catch2 2.13 main is
// compiled as C++11, so its printer of string views is missing at link time.
#ifndef ROW_STORE_SUPPORT_CATCH_H
#define ROW_STORE_SUPPORT_CATCH_H

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#elif __has_include(<catch2/catch.hpp>)
#include <catch2/catch.hpp>
#else
#error "Catch2 is missing: apt-get install catch2"
#endif

#endif  // ROW_STORE_SUPPORT_CATCH_H
