// The oncelog program: declares the sub-commands and runs the one that was asked for.
#include <csignal>

#include "tools/cli.h"

int main(int argc, char** argv) {
  // Output into a closed pipe is an error like any other, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  oncelog::tools::Cli cli;
  return cli.run(argc, argv);
}
