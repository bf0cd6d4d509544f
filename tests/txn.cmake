# Logs and stores, on the simulated machine and on the real one.
oncelog_add_tests(oncelog_txn_tests unit
  txn/log_append_test.cc
  txn/log_cut_test.cc
  txn/log_durability_test.cc
  txn/log_failures_test.cc
  txn/log_fetch_test.cc
  txn/log_idempotence_test.cc
  txn/log_offsets_test.cc
  txn/log_fsync_test.cc
  txn/log_report_test.cc
  txn/log_retention_test.cc
  txn/log_roll_test.cc
  txn/log_transactions_test.cc
  txn/log_traps_test.cc
  txn/log_support.cc)
target_link_libraries(oncelog_txn_tests PRIVATE oncelog_test_support oncelog_sim)
