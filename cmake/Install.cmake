# Two files make a working library: ours and, unless it is compiled in, simdjson's beside it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS row_store EXPORT row_store_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/row_store.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(NOT ROW_STORE_STATIC_SIMDJSON)
  get_target_property(simdjson_type simdjson::simdjson TYPE)
  if(simdjson_type STREQUAL SHARED_LIBRARY)
    install(IMPORTED_RUNTIME_ARTIFACTS simdjson::simdjson
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endif()

set(row_store_cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/row_store)
install(EXPORT row_store_targets NAMESPACE row_store:: FILE row_storeConfig.cmake
  DESTINATION ${row_store_cmake_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/row_storeConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/row_storeConfigVersion.cmake
  DESTINATION ${row_store_cmake_folder})

# Relative to the .pc file, so that an installed tree can be moved.
file(RELATIVE_PATH row_store_pc_includedir
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/row_store.pc.in ${PROJECT_BINARY_DIR}/row_store.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/row_store.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
