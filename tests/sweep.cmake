# Crash sweeps on the simulated disk: slower than the rest, still in every run.
oncelog_add_tests(oncelog_sweep_tests crash
  sweep/crash_check.cc
  sweep/crash_sweep_test.cc
  sweep/workload.cc)
target_link_libraries(oncelog_sweep_tests PRIVATE oncelog_test_support oncelog_sim)
