#include <situ/pages/memory_kind.h>

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <charconv>

namespace situ {
namespace {

[[noreturn]] void refuse_kind(std::string_view text) {
  throw_error(errc::bad_argument, fmt::format("\"{}\" is no kind of memory: give huge, node:NUMBER, intent:NAME, "
                                              "file:FOLDER, device:PATH, or pim:MACHINE_FILE and, after a comma, the "
                                              "kind that stands for its cells",
                                              text));
}

// Reads "m.toml" or "m.toml,node:1", the rest of `text`.
memory_kind parse_pim(std::string_view text, std::string_view rest) {
  const std::size_t comma = rest.find(',');
  memory_kind kind;
  kind.from = memory_kind::source::pim;
  kind.path = rest.substr(0, comma);
  if (kind.path.empty()) refuse_kind(text);
  if (comma == std::string_view::npos) return kind;
  kind.cells = rest.substr(comma + 1);
  if (kind.cells.empty() || memory_kind::parse(kind.cells).from == memory_kind::source::pim) refuse_kind(text);
  return kind;
}

}  // namespace

memory_kind memory_kind::of_node(std::uint32_t number) {
  memory_kind kind;
  kind.from = source::node;
  kind.node = number;
  return kind;
}

memory_kind memory_kind::of_pages() const { return from == source::pim ? parse(cells) : *this; }

bool memory_kind::has_file() const noexcept {
  if (from != source::pim) return from >= source::huge;
  const std::string_view word = std::string_view{cells}.substr(0, cells.find(':'));
  return word == "huge" || word == "file" || word == "device";
}

bool memory_kind::is_kind(std::string_view text) noexcept {
  return !text.empty() && text.front() >= 'a' && text.front() <= 'z';
}

memory_kind memory_kind::parse(std::string_view text) {
  memory_kind kind;
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  if (text.empty()) return kind;
  if (word == "pim") return parse_pim(text, rest);
  if (text == "huge") {
    kind.from = source::huge;
  } else if (word == "node") {
    kind.from = source::node;
    const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), kind.node);
    if (status != std::errc{} || end != rest.data() + rest.size()) refuse_kind(text);
  } else if (word == "intent") {
    kind = situ::intent::of(rest);
  } else if ((word == "file" || word == "device") && !rest.empty()) {
    kind.from = word == "file" ? source::file : source::device;
    kind.path = rest;
  } else {
    refuse_kind(text);
  }
  return kind;
}

}  // namespace situ
