oncelog_add_tests(oncelog_golden_tests unit
  golden/golden_data_test.cc
  golden/open_test.cc
  golden/replay.cc
  golden/replay_test.cc)
target_link_libraries(oncelog_golden_tests PRIVATE oncelog_test_support)
