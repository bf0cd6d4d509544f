# Install rules: the library (component dev), the simulated disk (component sim), the program
# (component tools), the CMake package and the pkg-config file.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/oncelog)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS oncelog EXPORT oncelog-targets
  ARCHIVE COMPONENT dev
  FILE_SET HEADERS COMPONENT dev)
install(EXPORT oncelog-targets NAMESPACE oncelog:: DESTINATION ${package_dir} COMPONENT dev)

if(TARGET oncelog_sim)
  set_target_properties(oncelog_sim PROPERTIES EXPORT_NAME sim)
  install(TARGETS oncelog_sim EXPORT oncelog-sim-targets
    ARCHIVE COMPONENT sim
    FILE_SET HEADERS COMPONENT sim)
  install(EXPORT oncelog-sim-targets NAMESPACE oncelog:: DESTINATION ${package_dir} COMPONENT sim)
endif()
if(TARGET oncelog_program)
  install(TARGETS oncelog_program RUNTIME COMPONENT tools)
endif()

configure_package_config_file(
  cmake/oncelog-config.cmake.in ${PROJECT_BINARY_DIR}/oncelog-config.cmake
  INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/oncelog-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/oncelog-config.cmake ${PROJECT_BINARY_DIR}/oncelog-config-version.cmake
  DESTINATION ${package_dir} COMPONENT dev)

# The .pc file finds its prefix from its own place, so that a moved tree keeps working.
file(RELATIVE_PATH pc_to_prefix /prefix/${pkgconfig_dir} /prefix)
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
string(REPLACE ";" ", " pc_requires "${ONCELOG_PRIVATE_MODULES}")
string(REPLACE ">=" " >= " pc_requires "${pc_requires}")
configure_file(cmake/oncelog.pc.in ${PROJECT_BINARY_DIR}/oncelog.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/oncelog.pc DESTINATION ${pkgconfig_dir} COMPONENT dev)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT dev)
