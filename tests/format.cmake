# What the data directories of Apache Kafka say is described in JSON.
find_package(nlohmann_json CONFIG)
set(golden_sources)
if(nlohmann_json_FOUND)
  set(golden_sources format/golden_test.cc)
endif()
oncelog_add_tests(oncelog_format_tests unit
  ${golden_sources}
  format/batch_probe_test.cc
  format/batch_validator_test.cc
  format/codec_test.cc
  format/control_record_test.cc
  format/legacy_batch_test.cc
  format/record_batch_test.cc
  format/segment_scanner_test.cc
  format/varint_test.cc)
