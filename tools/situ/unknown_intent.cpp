#include "unknown_intent.h"

#include <fmt/format.h>

#include "base/near_name.h"
#include "base/print.h"

#include <algorithm>
#include <string_view>
#include <vector>

std::string suggestion_for(const situ::intent& what, const situ::machine::orderings& all) {
  const std::vector<situ::intent> known = all.intents();
  std::vector<std::string_view> names;
  for (const situ::intent& each : known) names.push_back(each.name());
  const std::string_view meant = situ::detail::near_name(what.name(), names);
  return meant.empty() || meant == what.name() ? "" : fmt::format("; did you mean '{}'?", meant);
}

void warn_if_unknown(const situ::intent& what, const situ::machine::orderings& all) {
  const std::vector<situ::intent> known = all.intents();
  if (what == situ::intent::pim || std::ranges::find(known, what) != known.end()) return;
  situ::detail::tell(
      "situ: no ordering is written for the intent '{0}', so it takes memories as 'normal' does{1} (situ order show "
      "lists the intents; situ order set {0} MEMORIES writes an ordering)\n",
      what.name(), suggestion_for(what, all));
}

void warn_if_unknown(const situ::intent& what) {
  if (std::ranges::find(situ::intents_everywhere, what) != std::end(situ::intents_everywhere)) return;
  warn_if_unknown(what, situ::machine::orderings::of_this_machine());
}
