// `situ pams run`: programs of PAMS on a modelled network of nodes with GAScore.
#pragma once

#include <CLI/CLI.hpp>

namespace situ_pams {

void add_run(CLI::App& to);

}  // namespace situ_pams
