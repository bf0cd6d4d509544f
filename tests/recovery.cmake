oncelog_add_tests(oncelog_recovery_tests unit
  recovery/classify_test.cc
  recovery/crash_in_recovery_test.cc
  recovery/crash_states_test.cc
  recovery/file_names_test.cc
  recovery/golden_recovery_test.cc
  recovery/index_traps_test.cc
  recovery/log_image.cc
  recovery/mutation_test.cc
  recovery/recovery_support.cc
  recovery/traps_test.cc
  recovery/verdict_test.cc
  recovery/verify_test.cc)
target_link_libraries(oncelog_recovery_tests PRIVATE
  oncelog_sim oncelog_test_support GTest::gmock)
