# What several areas share: golden data, directory images, the model of Kafka's loader.
find_package(nlohmann_json REQUIRED)
add_library(oncelog_test_support STATIC
  support/directory_image.cc
  support/golden.cc
  support/kafka_batch.cc
  support/kafka_fetch.cc
  support/kafka_loader.cc
  support/kafka_producer_state.cc
  support/kafka_segment.cc)
target_link_libraries(oncelog_test_support
  PUBLIC oncelog nlohmann_json::nlohmann_json
  PRIVATE oncelog_build_flags oncelog_test_flags)
target_include_directories(oncelog_test_support PUBLIC ${PROJECT_SOURCE_DIR})
target_compile_definitions(oncelog_test_support PRIVATE ONCELOG_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
