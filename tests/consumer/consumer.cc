// Uses the installed library as an outsider would; built without exceptions and RTTI.
#include <cstdio>
#include <string>

#include <oncelog/result.h>
#include <oncelog/types.h>

int main() {
  const oncelog::TopicPartition name{.topic = "orders", .partition = 7};
  std::printf("%s\n", oncelog::to_string(name).c_str());
  return oncelog::to_string(name) == "orders-7" ? 0 : 1;
}
