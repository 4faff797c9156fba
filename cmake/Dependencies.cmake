# What we link, under the names and versions of Debian 12, Debian 13 and Ubuntu 24.04.
#
# The library is copied alone into images that have none of this, so liburing and libdrm come as
# archives. Debian has simdjson as a shared library only: that one is installed beside ours
# (Install.cmake), or ROW_STORE_STATIC_SIMDJSON compiles it in.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# Imports the archive of a pkg-config package as TARGET. pkg-config alone would pick the .so.
function(row_store_static_library target package archive)
  pkg_check_modules(${target} REQUIRED ${package})
  find_library(${target}_ARCHIVE NAMES ${archive} HINTS ${${target}_LIBRARY_DIRS}
    ${${target}_LIBDIR} REQUIRED)
  mark_as_advanced(${target}_ARCHIVE)
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${target}_ARCHIVE}
    INTERFACE_INCLUDE_DIRECTORIES "${${target}_INCLUDE_DIRS}")
endfunction()

row_store_static_library(liburing liburing liburing.a)
# Its header alone: the one file that includes it compiles the functions in.
pkg_check_modules(xxhash_package REQUIRED libxxhash>=0.8.0)
add_library(xxhash INTERFACE)
target_include_directories(xxhash SYSTEM INTERFACE ${xxhash_package_INCLUDE_DIRS})

if(DSV41_ROW_STORE_DRM)
  row_store_static_library(libdrm libdrm libdrm.a)
endif()

if(ROW_STORE_STATIC_SIMDJSON)
  include(cmake/StaticSimdjson.cmake)
else()
  # Its package calls only the same minor version compatible; our use of the DOM is older than that.
  find_package(simdjson REQUIRED)
  if(simdjson_VERSION VERSION_LESS 3.0)
    message(FATAL_ERROR "simdjson ${simdjson_VERSION} in ${simdjson_DIR} is too old: 3.0 or newer")
  endif()
endif()

if(ROW_STORE_BUILD_TESTS)
  # Catch2 is found by AddTest.cmake.
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
if(ROW_STORE_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()
if(ROW_STORE_BUILD_TESTS OR ROW_STORE_BUILD_EXAMPLES)
  # Never the library itself: it makes no CUDA call. Users test for the target CUDA::cudart.
  find_package(CUDAToolkit QUIET)
endif()
