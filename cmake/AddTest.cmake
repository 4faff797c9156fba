# Catch2 2.13 (Debian 12) or 3: both packages bring a compiled main as Catch2::Catch2WithMain.
find_package(Catch2 REQUIRED)
if(NOT TARGET Catch2::Catch2WithMain)
  message(FATAL_ERROR "Catch2 ${Catch2_VERSION} at ${Catch2_DIR} has no Catch2WithMain; "
    "install Debian's catch2, or build Catch2 with -DCATCH_BUILD_STATIC_LIBRARY=ON (version 2)")
endif()

# row_store_add_test(name SOURCES a.cpp b.cpp [LIBRARIES x] [LABELS slow] [TIMEOUT_S 120] [ARGS
# ...])
#
# An executable of Catch2 tests against the core, registered with CTest under its own name. A test
# that cannot run on this machine says why on stderr and exits with 77.
function(row_store_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT_S" "SOURCES;LIBRARIES;LABELS;ARGS")
  if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "row_store_add_test(${name} SOURCES ...): got '${ARGN}'")
  endif()
  if(NOT arg_TIMEOUT_S)
    set(arg_TIMEOUT_S 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE row_store_core Catch2::Catch2WithMain ${arg_LIBRARIES})
  row_store_compile_options(${name})
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${arg_TIMEOUT_S}
    LABELS "${arg_LABELS}")
endfunction()
