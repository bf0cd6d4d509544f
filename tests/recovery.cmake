oncelog_add_tests(oncelog_recovery_tests unit
  recovery/classify_test.cc
  recovery/file_names_test.cc
  recovery/verdict_test.cc)
target_link_libraries(oncelog_recovery_tests PRIVATE GTest::gmock)
