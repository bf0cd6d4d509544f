oncelog_add_tests(oncelog_format_tests unit
  format/codec_test.cc
  format/control_record_test.cc
  format/record_batch_test.cc
  format/varint_test.cc)
