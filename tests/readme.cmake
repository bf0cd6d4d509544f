# README.md's example is the one that is compiled.
oncelog_add_tests(oncelog_readme_tests unit readme/readme_test.cc)
add_library(oncelog_readme_example OBJECT readme/readme_example.cc)
target_link_libraries(oncelog_readme_example PRIVATE oncelog oncelog_build_flags)
