# README.md's example is the one that is compiled and run here.
oncelog_add_tests(oncelog_readme_tests unit readme/readme_test.cc)
add_executable(oncelog_readme_example readme/readme_example.cc)
target_link_libraries(oncelog_readme_example PRIVATE oncelog oncelog_build_flags)
target_compile_definitions(oncelog_readme_tests PRIVATE
  ONCELOG_README_EXAMPLE="$<TARGET_FILE:oncelog_readme_example>")
add_dependencies(oncelog_readme_tests oncelog_readme_example)
if(ONCELOG_BUILD_TOOLS)
  target_compile_definitions(oncelog_readme_tests PRIVATE
    ONCELOG_PROGRAM="$<TARGET_FILE:oncelog_program>")
  add_dependencies(oncelog_readme_tests oncelog_program)
endif()
