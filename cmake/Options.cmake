option(ROW_STORE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(ROW_STORE_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(ROW_STORE_BUILD_BENCH "Build the benchmarks (needs Google Benchmark)" OFF)
option(ROW_STORE_BUILD_FUZZ "Build the fuzz targets (needs clang)" OFF)
option(ROW_STORE_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
option(DSV41_ROW_STORE_DRM "Canary build: export row_store_next_cache_on_drm" OFF)
option(ROW_STORE_STATIC_SIMDJSON
  "Compile simdjson into the library, so that it is one file; \
FETCHCONTENT_SOURCE_DIR_SIMDJSON names a copy of its source" OFF)
set(ROW_STORE_SANITIZER "" CACHE STRING "address,undefined or thread; empty for none")
set_property(CACHE ROW_STORE_SANITIZER PROPERTY STRINGS "" address,undefined thread)

# A build without a type would be an unoptimised one, and nobody means that.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
