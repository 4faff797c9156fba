set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Warnings, hidden visibility and the sanitizer, for each of our own targets.
function(row_store_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    -Wno-sign-conversion $<$<BOOL:${ROW_STORE_WERROR}>:-Werror>
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>)
  # g++ 12 at -O3 sees overlapping copies in every "text" + std::string (GCC bug 105329).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 takes joined strings for overlapping copies (GCC bug 105651).
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  endif()
  set_target_properties(${target} PROPERTIES
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(ROW_STORE_SANITIZER)
    # -Wno-tsan: g++ warns that TSan does not see atomic_thread_fence; system headers use it.
    target_compile_options(${target} PRIVATE -fsanitize=${ROW_STORE_SANITIZER}
      -fno-omit-frame-pointer -fno-sanitize-recover=all
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-tsan>)
    target_link_options(${target} PRIVATE -fsanitize=${ROW_STORE_SANITIZER})
  endif()
  if(ROW_STORE_BUILD_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()
