// The oncelog program: declares the sub-commands and runs the one that was asked for.
#include <csignal>

#include "tools/cli.h"
#include "tools/commands.h"

int main(int argc, char** argv) {
  // Output into a closed pipe is an error like any other, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  using namespace oncelog::tools;  // NOLINT(google-build-using-namespace): the program is theirs
  Cli cli;
  add_verify(cli);
  add_dump(cli);
  add_state(cli);
  add_recover(cli);
  add_produce(cli);
  add_consume(cli);
  add_script(cli);
  add_demo(cli);
  return cli.run(argc, argv);
}
