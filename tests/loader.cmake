oncelog_add_tests(oncelog_loader_tests unit
  loader/golden_load_test.cc
  loader/image_test.cc
  loader/seen_test.cc)
target_link_libraries(oncelog_loader_tests PRIVATE oncelog_test_support oncelog_sim)
