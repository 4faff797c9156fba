# simdjson::simdjson as an archive, compiled here from its source.
#
# The source is a release fetched by FetchContent, or what FETCHCONTENT_SOURCE_DIR_SIMDJSON names:
# a checkout, or a folder that holds just the amalgamated simdjson.h and simdjson.cpp. Its own
# CMakeLists.txt is not used, since the second kind has none and its install rules are not ours.
include(FetchContent)
FetchContent_Declare(simdjson
  URL https://github.com/simdjson/simdjson/archive/refs/tags/v3.10.1.tar.gz
  URL_HASH SHA256=1e8f881cb2c0f626c56cd3665832f1e97b9d4ffc648ad9e1067c134862bba060
  SOURCE_SUBDIR a-folder-that-does-not-exist)  # populate only
FetchContent_MakeAvailable(simdjson)

set(source "")
foreach(candidate . singleheader src)
  if(NOT source AND EXISTS ${simdjson_SOURCE_DIR}/${candidate}/simdjson.cpp)
    set(source ${simdjson_SOURCE_DIR}/${candidate}/simdjson.cpp)
  endif()
endforeach()
if(NOT source)
  message(FATAL_ERROR "No simdjson.cpp in ${simdjson_SOURCE_DIR}, nor in singleheader/ or src/ "
    "there: FETCHCONTENT_SOURCE_DIR_SIMDJSON must name a simdjson checkout, or a folder that holds "
    "simdjson.h and simdjson.cpp.")
endif()

cmake_path(GET source PARENT_PATH folder)
set(headers ${folder})
if(NOT EXISTS ${folder}/simdjson.h)
  list(APPEND headers ${simdjson_SOURCE_DIR}/include)
endif()

add_library(row_store_simdjson STATIC ${source})
target_compile_features(row_store_simdjson PUBLIC cxx_std_17)
target_include_directories(row_store_simdjson SYSTEM PUBLIC ${headers})
# Another simdjson in the process must not meet ours, and its exceptions are of no use to us.
target_compile_options(row_store_simdjson PRIVATE -fvisibility=hidden -w)
set_target_properties(row_store_simdjson PROPERTIES POSITION_INDEPENDENT_CODE ON)
add_library(simdjson::simdjson ALIAS row_store_simdjson)
