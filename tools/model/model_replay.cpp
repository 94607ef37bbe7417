#include "model_replay.h"

#include "base/print.h"
#include "os/output_file.h"

#include <situ/base/error.h>
#include <situ/model/replay.h>

#include <fmt/format.h>

#include <fstream>
#include <iostream>

void replay_trace(const replay_options& options) {
  std::ifstream file;
  const bool is_piped = options.trace == "-";
  if (!is_piped) {
    file.open(options.trace, std::ios::binary);
    if (!file) situ::throw_error(situ::errc::bad_file, fmt::format("{}: cannot be read", options.trace));
  }
  const situ::model::replay_report found = situ::model::replay_trace(is_piped ? std::cin : file, options.trace,
                                                                     options.machine, options.settings, options.core);
  situ::detail::print_out("{}", found.text);
  if (!options.json.empty()) situ::detail::write_file(options.json, found.json);
}
