#include "memory/page_source.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include "memory/intent_placer.h"

namespace situ::detail {
namespace {

std::span<shared_budget> budgets_of_process() noexcept {
  static constinit shared_budget budgets[32];
  return budgets;
}

}  // namespace

page_source::page_source(const intent& what) {
  intent_placer by = make_intent_placer(what, orderings_here(), budgets_of_process());
  description_ = fmt::format("{} memory ({})", what.name(), to_text(by.order));
  placer_ = std::make_shared<const placer>(std::move(by.places));
}

// All of the node but what is kept of each (placer.h, invariant 6): who names a node wants that node.
page_source page_source::of_node(std::uint32_t node) {
  page_source made;
  made.placer_ = std::make_shared<const placer>(spill_ordering{.steps = {{{.node = node, .fill = 1}}}});
  made.description_ = fmt::format("memory of NUMA node {}", node);
  return made;
}

sourced_pages page_source::map(std::size_t bytes, std::string_view what) const {
  pages made{bytes};
  if (made.empty())
    throw_error(errc::out_of_memory,
                fmt::format("{}: {} do not fit into the address space or its limit", what, format_bytes(bytes)));
  budget_share share = place(made.data(), made.size(), what);
  return {std::move(made), std::move(share)};
}

budget_share page_source::place(void* address, std::size_t bytes, std::string_view what, huge_page_maker* huge) const {
  if (!places()) return {};
  placement_report report = placer_->place(address, bytes, huge);
  if (report.outcome == placement_outcome::placed) return budget_share{std::move(report)};
  const std::string fills = format_fills(report);
  const budget_share back{std::move(report)};
  throw_error(errc::out_of_memory,
              fmt::format("{}: {} do not fit into the {}. Free memory, ask for less, or order more "
                          "memories for it (situ order set)\n{}",
                          what, format_bytes(bytes), description_, fills));
}

}  // namespace situ::detail
