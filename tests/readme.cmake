# README.md's example is the one that is compiled.
oncelog_add_tests(oncelog_readme_tests unit readme/readme_test.cc)
if(EXISTS ${PROJECT_SOURCE_DIR}/txn/log_append.cc)
  add_executable(oncelog_readme_example readme/readme_example.cc)
  target_link_libraries(oncelog_readme_example PRIVATE oncelog oncelog_build_flags)
endif()
