# Indexes, producer state and the small files derived from the log.
oncelog_add_tests(oncelog_index_tests unit
  index/append_only_array_test.cc
  index/derived_file_test.cc
  index/leader_epoch_cache_test.cc
  index/offset_index_test.cc
  index/ongoing_txns_test.cc
  index/producer_snapshot_test.cc
  index/producer_state_test.cc
  index/producer_txn_test.cc
  index/replay_property_test.cc
  index/sidecar_test.cc
  index/text_files_test.cc
  index/time_index_test.cc
  index/txn_index_test.cc)
target_link_libraries(oncelog_index_tests PRIVATE oncelog_sim)
