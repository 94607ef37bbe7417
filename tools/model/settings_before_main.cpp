#include "settings_before_main.h"

#include <situ/model/machine_summary.h>

#include <exception>

std::vector<std::pair<std::string, std::string>> settings_before_main(const std::string& machine,
                                                                      const std::vector<std::string>& settings) {
  situ::model::machine_summary seen{.name = {}, .description = {}, .cores = 1, .tiles = 1, .cores_of_first_tile = 1};
  try {
    seen = situ::model::summarize_machine(machine, settings);
  } catch (const std::exception&) {  // the program reports it
  }
  return {{"GOMP_SPINCOUNT", "0"},
          {"SITU_MODEL_CORES", std::to_string(seen.cores)},
          {"SITU_MODEL_TILE_CORES", std::to_string(seen.cores_of_first_tile)}};
}
