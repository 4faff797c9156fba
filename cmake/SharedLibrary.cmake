# librow_store.so: the extern "C" bodies, the core behind them, and a version script that exports
# exactly the names of abi/exports.txt (and abi/exports-drm.txt in canary builds).
set(row_store_export_lists ${PROJECT_SOURCE_DIR}/abi/exports.txt)
if(DSV41_ROW_STORE_DRM)
  list(APPEND row_store_export_lists ${PROJECT_SOURCE_DIR}/abi/exports-drm.txt)
endif()

set(row_store_map ${PROJECT_BINARY_DIR}/row_store.map)
set(exports "")
foreach(file IN LISTS row_store_export_lists)
  file(STRINGS ${file} names REGEX "^row_store_")
  list(APPEND exports ${names})
endforeach()
list(JOIN exports ";\n    " exports)
file(CONFIGURE OUTPUT ${row_store_map} @ONLY CONTENT
"ROW_STORE_1 {
  global:
    @exports@;
  local:
    *;
};
")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${row_store_export_lists})

add_library(row_store SHARED ${PROJECT_SOURCE_DIR}/src/api/row_store.cpp)
add_library(row_store::row_store ALIAS row_store)
row_store_compile_options(row_store)
target_include_directories(row_store PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(row_store PRIVATE $<BUILD_INTERFACE:row_store_core>)
# The file in the build folder is the one that is installed: $ORIGIN from the start, no relinking.
set_target_properties(row_store PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${row_store_map}
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
# nodelete: threads of the library may still run its code when a client calls dlclose.
target_link_options(row_store PRIVATE -Wl,--version-script=${row_store_map}
  -Wl,--exclude-libs,ALL -Wl,--as-needed -Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now)
# clang leaves the sanitizers' names in a shared library to the executable.
if(NOT ROW_STORE_SANITIZER)
  target_link_options(row_store PRIVATE -Wl,-z,defs)
endif()
if(DSV41_ROW_STORE_DRM)
  target_compile_definitions(row_store PUBLIC DSV41_ROW_STORE_DRM)
  target_link_libraries(row_store PRIVATE $<BUILD_INTERFACE:row_store_drm_kernel>)
endif()
