if(ONCELOG_BUILD_TOOLS)
  oncelog_add_tests(oncelog_tools_tests unit
    tools/command_test.cc
    tools/demo_check_test.cc
    tools/dump_golden_test.cc
    tools/expect_test.cc
    tools/fault_rules_test.cc
    tools/json_test.cc
    tools/script_parser_test.cc)
  # Each file of tests/scripts, on a real directory and on the simulated disk.
  oncelog_add_tests(oncelog_scripts_tests unit scripts_test.cc)
  foreach(tests IN ITEMS oncelog_tools_tests oncelog_scripts_tests)
    target_link_libraries(${tests} PRIVATE oncelog_tools)
    target_compile_definitions(${tests} PRIVATE ONCELOG_PROGRAM="$<TARGET_FILE:oncelog_program>")
    add_dependencies(${tests} oncelog_program)
  endforeach()
endif()
