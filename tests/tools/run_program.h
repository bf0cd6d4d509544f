// Runs the oncelog program in a test and collects what it says.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace oncelog::tools {

struct ProgramRun {
  int exit_code = -1;  ///< -1: it was ended by a signal
  std::string out;
  std::string errors;
};

inline std::string read_and_remove(const std::string& path) {
  std::string text;
  if (std::FILE* file = std::fopen(path.c_str(), "rb"); file != nullptr) {
    std::array<char, 65536> chunk{};
    while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), file))
      text.append(chunk.data(), n);
    std::fclose(file);
  }
  ::unlink(path.c_str());
  return text;
}

/// `arguments` is the rest of a shell command line.
inline ProgramRun run_program(const std::string& arguments) {
  std::string out = "/tmp/oncelog-test-out-XXXXXX";
  std::string errors = "/tmp/oncelog-test-err-XXXXXX";
  ::close(::mkstemp(out.data()));
  ::close(::mkstemp(errors.data()));
  const std::string command =
      std::string(ONCELOG_PROGRAM) + ' ' + arguments + " >" + out + " 2>" + errors;
  const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
  ProgramRun run;
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  run.out = read_and_remove(out);
  run.errors = read_and_remove(errors);
  return run;
}

}  // namespace oncelog::tools
