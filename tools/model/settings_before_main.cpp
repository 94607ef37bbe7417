#include "settings_before_main.h"

#include <situ/model/machine_summary.h>

#include <cstddef>
#include <cstdint>
#include <exception>

namespace {

// Returns the numbers with commas between them, those that follow each other as FIRST-LAST, as affinity.cpp reads them:
// the environment has no room for a text of more than 128 KiB.
std::string list_of(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    const std::uint32_t first = numbers[at];
    while (at + 1 < numbers.size() && numbers[at + 1] == numbers[at] + 1) ++at;
    (text += text.empty() ? "" : ",") += std::to_string(first);
    if (numbers[at] != first) (text += '-') += std::to_string(numbers[at]);
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> settings_before_main(const std::string& machine,
                                                                      const std::vector<std::string>& settings) {
  situ::model::machine_summary seen{
      .name = {}, .description = {}, .cores = 1, .tiles = 1, .core_of = {0}, .processors_of_first_tile = {0}};
  try {
    seen = situ::model::summarize_machine(machine, settings);
  } catch (const std::exception&) {  // the program reports it
  }
  return {{"GOMP_SPINCOUNT", "0"},
          {"SITU_MODEL_CORES", list_of(seen.core_of)},
          {"SITU_MODEL_TILE_CORES", list_of(seen.processors_of_first_tile)}};
}
