// Catch2, version 2 or 3: the one place that knows their headers apart.
//
// Not for: SKIP(), which version 2 lacks (print why to stderr and exit with 77 instead), and other
// things that only one of the two versions has.
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
