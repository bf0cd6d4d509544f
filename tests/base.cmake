oncelog_add_tests(oncelog_base_tests unit base/result_test.cc)
