include(GNUInstallDirs)
if(TARGET row_store)  # Absent until src/api is there.
  install(TARGETS row_store LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(FILES include/row_store.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
