oncelog_add_tests(oncelog_recovery_tests unit
  recovery/file_names_test.cc
  recovery/verdict_test.cc)
