#include "unknown_intent.h"

#include <fmt/format.h>

#include "base/near_name.h"
#include "base/print.h"

#include <algorithm>
#include <string_view>
#include <vector>

std::string if_misspelt(std::string_view before, const situ::intent& what, const situ::machine::orderings& all) {
  const std::vector<situ::intent> known = all.intents();
  if (std::find(known.begin(), known.end(), what) != known.end()) return {};
  std::vector<std::string_view> names;
  names.reserve(known.size());
  for (const situ::intent& each : known) names.push_back(each.name());
  const std::string_view meant = situ::detail::near_name(what.name(), names);
  return meant.empty() ? "" : fmt::format("{}did you mean '{}'?", before, meant);
}

std::string if_unknown(const situ::intent& what, const situ::machine::orderings& all) {
  const std::vector<situ::intent> known = all.intents();
  if (std::find(known.begin(), known.end(), what) != known.end()) return {};
  return fmt::format(
      "no ordering is written for the intent '{}', so it takes memories as 'normal' does{} (situ order "
      "show lists the intents; situ order set {} MEMORIES writes an ordering)",
      what.name(), if_misspelt("; ", what, all), what.name());
}

void warn_if_unknown(const situ::intent& what) {
  const auto& standard = situ::intents_everywhere;
  if (std::find(std::begin(standard), std::end(standard), what) != std::end(standard)) return;
  if (const std::string warning = if_unknown(what, situ::machine::orderings::of_this_machine()); !warning.empty())
    situ::detail::tell("situ: {}\n", warning);
}
