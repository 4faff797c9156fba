# Debian 12 and Ubuntu 24.04 names. liburing and libdrm are linked statically, since the library is
# copied alone into images that have neither.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# pkg-config's --static names plus an explicit archive: Debian's .pc files alone pick the .so.
function(row_store_static_library target pkg archive)
  pkg_check_modules(${target} REQUIRED ${pkg})
  find_library(${target}_ARCHIVE NAMES ${archive} HINTS ${${target}_LIBRARY_DIRS} REQUIRED)
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${target}_ARCHIVE}
    INTERFACE_INCLUDE_DIRECTORIES "${${target}_INCLUDE_DIRS}")
endfunction()

row_store_static_library(liburing liburing liburing.a)
if(DSV41_ROW_STORE_DRM)
  row_store_static_library(libdrm libdrm libdrm.a)
endif()

if(ROW_STORE_STATIC_SIMDJSON)
  include(FetchContent)
  FetchContent_Declare(simdjson
    URL https://github.com/simdjson/simdjson/archive/refs/tags/v3.6.4.tar.gz)
  FetchContent_MakeAvailable(simdjson)
else()
  find_package(simdjson 3.0 REQUIRED)
endif()
