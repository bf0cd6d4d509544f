# The installed package, used by a program outside the project.
if(ONCELOG_INSTALL AND NOT ONCELOG_SANITIZE)
  add_test(NAME Install.AnOutsiderBuildsAgainstThePackage
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/consumer/check.sh ${PROJECT_BINARY_DIR})
  set_tests_properties(Install.AnOutsiderBuildsAgainstThePackage PROPERTIES
    LABELS install TIMEOUT ${ONCELOG_TEST_TIMEOUT_S})
endif()
