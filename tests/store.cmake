# Stores as a whole, on real directories and on the simulated machine.
oncelog_add_tests(oncelog_store_tests unit
  io/sandbox.cc
  store/data_directory_test.cc
  store/driver_test.cc
  store/event_loop_test.cc
  store/lifetime_test.cc
  store/many_files_test.cc
  store/open_crash_test.cc
  store/store_support.cc
  store/stress_test.cc
  txn/log_support.cc)
target_link_libraries(oncelog_store_tests PRIVATE oncelog_sim)
