#include "machine/toml_assumed.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace situ::machine {
namespace {

// The form in which a figure is written.
enum class form : std::uint8_t { bytes, bandwidth, hertz, time, number, word };

constexpr std::pair<std::string_view, form> figures[] = {
    {"size", form::bytes},
    {"density", form::bytes},
    {"prefetch_page", form::bytes},
    {"page", form::bytes},
    {"page_size", form::bytes},
    {"bandwidth", form::bandwidth},
    {"bandwidth_per_core", form::bandwidth},
    {"read_bandwidth", form::bandwidth},
    {"write_bandwidth", form::bandwidth},
    {"clock", form::hertz},
    {"latency", form::time},
    {"read_latency", form::time},
    {"write_latency", form::time},
    {"access_time", form::time},
    {"occupancy", form::time},
    {"tRCD", form::time},
    {"tRP", form::time},
    {"tRAS", form::time},
    {"tREFI", form::time},
    {"tRFC", form::time},
    {"page_policy", form::word},
    {"address_mapping", form::word},
    {"write_policy", form::word},
    {"allocates_on", form::word},
    {"page_walks", form::word},
    {"coherence", form::word},
    {"topology", form::word},
    {"line_bytes", form::number},
    {"ways", form::number},
    {"width_bits", form::number},
    {"burst_bytes", form::number},
    {"channels", form::number},
    {"ranks", form::number},
    {"banks", form::number},
    {"row_bytes", form::number},
    {"subarrays", form::number},
    {"rows", form::number},
    {"columns", form::number},
    {"concurrent_subarrays", form::number},
    {"row_read", form::time},
    {"row_write", form::time},
    {"latch", form::time},
    {"shift", form::time},
    {"AP", form::time},
    {"AAP", form::time},
    {"row_count", form::time},
    {"row_read_nJ", form::number},
    {"row_write_nJ", form::number},
    {"latch_nJ", form::number},
    {"shift_nJ", form::number},
    {"AP_nJ", form::number},
    {"AAP_nJ", form::number},
    {"extra_row_nJ", form::number},
    {"victim_lines", form::number},
    {"entries", form::number},
    {"width", form::number},
    {"window", form::number},
    {"store_buffer", form::number},
    {"threads", form::number},
    {"outstanding", form::number},
    {"prefetch_streams", form::number},
    {"prefetch_lines", form::number},
    {"integer", form::number},
    {"multiply", form::number},
    {"divide", form::number},
    {"floating", form::number},
    {"branch", form::number},
    {"call", form::number},
    {"mispredict", form::number},
    {"walk", form::number},
    {"walk_instructions", form::number},
    {"raw_bytes", form::number},
    {"raw_send", form::time},
    {"raw_receive", form::time},
    {"raw_queue", form::number},
    {"queue", form::number},
    {"hit", form::number},
    {"walk_cache", form::number},
};

// Tables of figures, which have marks of their own: assumed.cycles.floating.
bool is_table_of_figures(std::string_view key) {
  return key == "cycles" || key == "computes" ||
         std::ranges::find(tlb_keys, key, [](const auto& each) { return each.first; }) != std::end(tlb_keys);
}

double number_of(const spec_table& table, std::string_view key, form as) {
  switch (as) {
    case form::bytes: return static_cast<double>(table.bytes(key));
    case form::bandwidth: return static_cast<double>(table.bandwidth(key, 0));
    case form::hertz: return static_cast<double>(table.hertz(key, 0));
    case form::time: return table.nanoseconds(key, 0);
    default: return table.number(key);
  }
}

std::string text_of(const spec_table& table, std::string_view key, form as) {
  return as == form::number ? fmt::format("{}", table.number(key)) : table.text(key);
}

void read_range(const spec_table& mark, const spec_table& table, std::string_view key, form as, assumption& made) {
  if (!mark.has("low") || !mark.has("high"))
    mark.fail("", "an assumed figure has a range; write low = and high = as the figure itself is written");
  const double low = number_of(mark, "low", as);
  const double high = number_of(mark, "high", as);
  const double value = number_of(table, key, as);
  made.low = text_of(mark, "low", as);
  made.high = text_of(mark, "high", as);
  if (low > high) mark.fail("low", fmt::format("{} is above high = {}; exchange them", made.low, made.high));
  if (value < low || value > high)
    mark.fail("", fmt::format("{} = {} is outside of the range from {} to {}; widen the range, or change the figure",
                              key, made.value, made.low, made.high));
}

void read_mark(const spec_table& table, const spec_table& marks, std::string_view key, std::string_view owner,
               std::vector<assumption>& to) {
  const auto* const known = std::ranges::find(figures, key, &std::pair<std::string_view, form>::first);
  if (known == std::end(figures))
    marks.fail(key, "is no figure that can be assumed; docs/design/machine.md lists the figures");
  if (!table.has(key)) marks.fail(key, fmt::format("marks a figure that is not here; write {} = as well", key));
  const spec_table mark = marks.table(key);
  mark.allow_only({"low", "high", "others", "source"});
  assumption made{.figure = fmt::format("{}{}{}", owner, owner.empty() ? "" : ".", key),
                  .value = text_of(table, key, known->second),
                  .low = {},
                  .high = {},
                  .others = {},
                  .source = mark.text("source", "")};
  if (made.source.empty()) mark.fail("", "an assumed figure has a reason; write source = \"...\"");
  if (known->second == form::word) {
    if (mark.has("low") || mark.has("high"))
      mark.fail("", fmt::format("{} is no number; write others = [\"...\"], what it could be instead", key));
    made.others = mark.texts("others");
  } else {
    if (mark.has("others")) mark.fail("others", fmt::format("{} is a number; write low = and high =", key));
    read_range(mark, table, key, known->second, made);
  }
  to.push_back(std::move(made));
}

}  // namespace

std::string range_of(const assumption& figure) {
  return figure.low.empty() ? fmt::format("or {}", fmt::join(figure.others, ", "))
                            : fmt::format("{} to {}", figure.low, figure.high);
}

void read_assumed(const spec_table& table, std::string_view owner, std::vector<assumption>& to) {
  if (!table.has("assumed")) return;
  const spec_table marks = table.table("assumed");
  for (const std::string& key : marks.keys()) {
    if (!is_table_of_figures(key)) {
      read_mark(table, marks, key, owner, to);
      continue;
    }
    if (!table.has(key)) marks.fail(key, fmt::format("marks figures that are not here; write {} = as well", key));
    const spec_table inner = marks.table(key);
    for (const std::string& each : inner.keys())
      read_mark(table.table(key), inner, each, fmt::format("{}.{}", owner, key), to);
  }
}

}  // namespace situ::machine
