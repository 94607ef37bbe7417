#include "model_replay.h"

#include "base/print.h"
#include "model/parts/champsim_trace.h"
#include "model/parts/counters.h"
#include "model/parts/named_machine.h"
#include "model/parts/trace_replay.h"
#include "os/output_file.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <fstream>
#include <iostream>

using namespace situ::model;  // NOLINT: the tool is about nothing else

void replay_trace(const replay_options& options) {
  if (is_flat(options.machine))
    situ::throw_error(situ::errc::bad_argument, "flat has no parts that a trace could run on: name a machine's file");
  modelled_machine machine{machine_spec_of(options.machine, options.settings)};
  if (options.core >= machine.core_count())
    situ::throw_error(situ::errc::bad_argument, fmt::format("{} has {} cores, and none with the number {}",
                                                            machine.spec().name, machine.core_count(), options.core));
  // All bytes are in the first memory that belongs to no tile, or in the first one.
  std::uint32_t memory = 0;
  while (memory < machine.spec().memories.size() && machine.spec().memories[memory].tile != none) ++memory;
  machine.map_range(0, ~std::uint64_t{0}, memory == machine.spec().memories.size() ? 0 : memory);

  std::ifstream file;
  const bool is_piped = options.trace == "-";
  if (!is_piped) {
    file.open(options.trace, std::ios::binary);
    if (!file) situ::throw_error(situ::errc::bad_file, fmt::format("{}: cannot be read", options.trace));
  }
  champsim_reader trace{is_piped ? std::cin : file, options.trace};
  const replay_figures figures = replay(machine, options.core, trace);
  situ::detail::print_out("situ model: {} instructions replayed on {}, {} branches, {} reads, {} writes, {} ns\n{}",
                          figures.instructions, machine.spec().name, figures.branches, figures.reads, figures.writes,
                          figures.time / 1000, to_text(machine.counters()));
  if (options.json.empty()) return;
  situ::detail::write_file(
      options.json,
      fmt::format("{{\n  \"instructions\": {},\n  \"branches\": {},\n  \"reads\": {},\n  \"writes\": {},\n  "
                  "\"modelled_ps\": {},\n  \"parts\": {}\n}}\n",
                  figures.instructions, figures.branches, figures.reads, figures.writes, figures.time,
                  to_json(machine.counters())));
}
