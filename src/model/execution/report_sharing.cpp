#include "model/execution/report_sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "model/execution/engine.h"

namespace situ::model {
namespace {

constexpr std::size_t most_cores = 16;  // in the text; the JSON has all

std::string core_text(engine& ran) {
  std::string text{"core  coherence misses    upgrades\n"};
  const auto out = std::back_inserter(text);
  std::size_t shown = 0;
  std::size_t left_out = 0;
  for (const core& c : ran.cores()) {
    const sharing_counts counts = ran.machine().sharing(c.index);
    if (counts == sharing_counts{}) continue;
    if (shown == most_cores) {
      ++left_out;
      continue;
    }
    ++shown;
    fmt::format_to(out, "{:>4}  {:>16}  {:>10}\n", c.index, counts.coherence_misses, counts.upgrades);
  }
  if (left_out != 0) fmt::format_to(out, "and {} cores more\n", left_out);
  return shown == 0 ? std::string{} : text;
}

}  // namespace

std::string sharing_text(engine& ran, time_ps modelled) {
  const auto used = std::ranges::count_if(
      ran.cores(), [](const core& c) { return c.hits[0] + c.hits[1] + c.slow_accesses() != 0 && !c.is_device; });
  if (used < 2 || ran.machine().parts() == nullptr) return {};
  const sharing_figures all = ran.sharing();
  if (all.lines_taken == 0) return "sharing: no core took a line from another\n";
  std::string text = fmt::format("sharing: cores took {} lines from each other", all.lines_taken);
  const auto out = std::back_inserter(text);
  if (all.lines_in_order == 0) {
    text += "; no hit was ahead of that, so nothing is hidden\n";
  } else {
    fmt::format_to(
        out,
        "; {} of them were then kept in order, since hits were ahead ({} times)\n"
        "sharing: these hits hide {} ns at most, {:.2f} % of the run, and may change the order of what follows; "
        "--strict hides nothing\n",
        all.lines_in_order, all.taken_ahead, all.hidden_ps / 1000,
        100.0 * static_cast<double>(all.hidden_ps) / static_cast<double>(std::max<time_ps>(modelled, 1)));
  }
  return text + core_text(ran);
}

std::string sharing_json(const engine& ran) {
  const sharing_figures all = ran.sharing();
  return fmt::format(
      "{{\"lines_taken\": {}, \"lines_in_order\": {}, \"taken_ahead\": {}, \"hidden_transfers\": {}, "
      "\"lost_in_order\": {}, \"hidden_ps\": {}}}",
      all.lines_taken, all.lines_in_order, all.taken_ahead, all.hidden_transfers, all.lost_in_order, all.hidden_ps);
}

}  // namespace situ::model
