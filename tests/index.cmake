oncelog_add_tests(oncelog_index_tests unit
  index/text_files_test.cc)
