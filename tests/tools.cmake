if(ONCELOG_BUILD_TOOLS)
  oncelog_add_tests(oncelog_tools_tests unit
    tools/expect_test.cc
    tools/json_test.cc
    tools/script_parser_test.cc)
  target_link_libraries(oncelog_tools_tests PRIVATE oncelog_tools)
endif()
