#include "model_machines.h"

#include "base/print.h"
#include "machine_file.h"

#include <situ/model/machine_summary.h>

#include <exception>

using situ::detail::print_out;

std::string missing_in(const std::filesystem::path& machine) {
  try {
    (void)situ::model::summarize_machine(machine.string());
    return {};
  } catch (const std::exception& failure) {
    const std::string why = failure.what();
    const std::size_t at = why.find(machine.string());
    return at == std::string::npos ? why : why.substr(at + machine.parent_path().string().size() + 1);
  }
}

void print_machines() {
  constexpr const char* line = "{:<24} {:>6} {:>6}  {}\n";
  const situ::model::machine_summary flat = situ::model::summarize_machine("flat");
  print_out(line, "machine", "cores", "tiles", "what it is");
  print_out(line, "flat", flat.cores, flat.tiles,
            flat.description + "; with other figures: flat:tiles=4,cores=1,sets=128,hit=1,miss=80");
  std::string others;
  for (const std::filesystem::path& each : machine_files()) {
    if (const std::string missing = missing_in(each); !missing.empty()) {
      others += "  " + missing + "\n";
      continue;
    }
    const situ::model::machine_summary seen = situ::model::summarize_machine(each.string());
    print_out(line, each.stem().string(), seen.cores, seen.tiles,
              seen.description.empty() ? seen.name : seen.description);
  }
  if (!others.empty()) print_out("\nThese run no program:\n{}", others);
}
