oncelog_add_tests(oncelog_recovery_tests unit
  recovery/classify_test.cc
  recovery/file_names_test.cc
  recovery/golden_recovery_test.cc
  recovery/recovery_support.cc
  recovery/verdict_test.cc
  recovery/verify_test.cc)
target_link_libraries(oncelog_recovery_tests PRIVATE oncelog_test_support GTest::gmock)
