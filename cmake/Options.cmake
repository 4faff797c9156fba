option(ROW_STORE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(ROW_STORE_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(ROW_STORE_BUILD_BENCH "Build the benchmarks" OFF)
option(DSV41_ROW_STORE_DRM "Canary build: export row_store_next_cache_on_drm" OFF)
option(ROW_STORE_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
option(ROW_STORE_STATIC_SIMDJSON
  "Build simdjson from source (FetchContent; FETCHCONTENT_SOURCE_DIR_SIMDJSON names a local copy)" OFF)
set(ROW_STORE_SANITIZER "" CACHE STRING "address,undefined or thread")
