# The simulator's own tests, and the contract suites of the seam over it.
oncelog_add_tests(oncelog_sim_tests unit
  sim/fault_io_test.cc
  sim/power_cut_test.cc
  sim/sim_io_contract.cc
  sim/sim_io_test.cc
  sim/toy_log.cc
  sim/toy_log_test.cc
  ${ONCELOG_IO_CONTRACT})
target_link_libraries(oncelog_sim_tests PRIVATE oncelog_sim)
