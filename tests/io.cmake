# Linked, with one .cc that instantiates it, into the tests of each implementation of the seam.
set(ONCELOG_IO_CONTRACT
  io/io_contract.cc
  io/io_contract_test.cc
  io/io_queue_contract_test.cc)
oncelog_add_tests(oncelog_io_tests unit
  io/io_threads_test.cc
  io/sandbox.cc
  io/system_io_contract.cc
  io/system_io_test.cc
  io/transfer_test.cc
  ${ONCELOG_IO_CONTRACT})
