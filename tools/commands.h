// The sub-commands of the program; each is declared by one file.
#pragma once

#include "tools/cli.h"

namespace oncelog::tools {

void add_verify(Cli& cli);
void add_dump(Cli& cli);
void add_state(Cli& cli);
void add_recover(Cli& cli);
void add_produce(Cli& cli);
void add_consume(Cli& cli);
void add_script(Cli& cli);
void add_demo(Cli& cli);

}  // namespace oncelog::tools
