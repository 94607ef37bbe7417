#include "graph/gaps.h"

#include <algorithm>
#include <cstring>

#include "graph/scan_run.h"

namespace situ::detail {
namespace {

void clear_word_gap(std::byte* at, const word_gap& each, std::uint64_t most_bytes) noexcept {
  if (each.words == 1) return store_unit(at, load_unit(at) & each.kept);
  std::memset(at, 0, std::min(most_bytes, std::uint64_t{each.words} * 8));
}

void clear_padding(std::byte* memory, std::uint64_t bytes, const type_descriptor& type) noexcept {
  const std::uint64_t whole = bytes - bytes % type.gap_period;
  for (std::uint64_t at = 0; at != whole; at += type.gap_period)
    for (const word_gap& each : type.gaps) clear_word_gap(memory + at + each.offset, each, type.gap_period);
  for (const word_gap& each : type.gaps) {  // those of a block's last elements
    if (whole + each.offset >= bytes) break;
    clear_word_gap(memory + whole + each.offset, each, bytes - whole - each.offset);
  }
}

// Clears the gaps of optionals and variants. An invalid state is left unchanged: the reader refuses it.
void clear_choices(std::byte* object, const std::vector<op>& ops) noexcept {
  for (const op& each : ops) {
    if (each.kind != op_kind::choice) continue;
    const choice& cases = *each.cases;
    const auto flag = static_cast<std::size_t>(object[cases.flag_offset]);
    if (flag >= cases.alternatives.size()) continue;
    for (const gap& part : cases.gaps[flag]) {
      std::byte* const at = object + part.offset;
      if (part.bits == 0) {
        std::memset(at, 0, part.bytes);
      } else {
        for (std::uint32_t i = 0; i < part.bytes; ++i) at[i] &= std::byte{part.bits};
      }
    }
    clear_choices(object, cases.alternatives[flag]);
  }
}

}  // namespace

void clear_gaps(std::byte* memory, std::uint64_t bytes, const type_descriptor& type) noexcept {
  if (!type.gaps.empty()) clear_padding(memory, bytes, type);
  if (!type.has_choices) return;
  const type_descriptor& element = type.kind == object_kind::object_block ? *type.element : type;
  const std::uint64_t distance = type.kind == object_kind::object ? std::uint64_t{type.units} * 8 : type.size;
  for (std::uint64_t at = 0; at + type.size <= bytes; at += distance) clear_choices(memory + at, element.others);
}

}  // namespace situ::detail
