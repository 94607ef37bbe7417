#include <situ/rmem/capability.h>

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <charconv>

#include "rmem/protocol.h"

namespace situ::rmem {
namespace {

constexpr std::string_view prefix = "rmem";

// Reads exactly `digits` digits.
bool take_hex(std::string_view& text, std::size_t digits, std::uint64_t& value) {
  if (text.size() < digits) return false;
  const std::string_view part = text.substr(0, digits);
  const auto [end, bad] = std::from_chars(part.data(), part.data() + part.size(), value, 16);
  if (bad != std::errc{} || end != part.data() + part.size()) return false;
  text.remove_prefix(digits);
  return true;
}

}  // namespace

std::string text_of(rights which) {
  std::string text;
  const auto add = [&](rights one, const char* name) {
    if (includes(which, one)) text += (text.empty() ? "" : ", ") + std::string{name};
  };
  add(rights::read, "read");
  add(rights::write, "write");
  add(rights::atomic, "atomic");
  add(rights::grant, "grant");
  return text.empty() ? "none" : text;
}

std::string capability::to_text() const {
  std::uint64_t halves[2];
  std::memcpy(halves, secret.data(), sizeof halves);
  return fmt::format("{}{:016x}{:016x}{:016x}{:08x}{:016x}{:016x}", prefix, address, bytes, number,
                     static_cast<std::uint32_t>(may), halves[0], halves[1]);
}

capability capability::parse(std::string_view text) {
  capability made;
  std::uint64_t halves[2];
  std::uint64_t may = 0;
  if (!text.starts_with(prefix)) text = {};
  text.remove_prefix(std::min(prefix.size(), text.size()));
  const bool is_one = take_hex(text, 16, made.address) && take_hex(text, 16, made.bytes) &&
                      take_hex(text, 16, made.number) && take_hex(text, 8, may) && take_hex(text, 16, halves[0]) &&
                      take_hex(text, 16, halves[1]) && text.empty() && includes(rights::all, static_cast<rights>(may));
  if (!is_one) throw_error(errc::bad_argument, "this is no capability as capability::to_text() writes it");
  made.may = static_cast<rights>(may);
  std::memcpy(made.secret.data(), halves, sizeof halves);
  return made;
}

capability capability::part(std::uint64_t offset, std::uint64_t part_bytes) const {
  if (offset > bytes || part_bytes > bytes - offset)
    throw_error(errc::bad_argument, fmt::format("{} bytes from byte {} on are no part of a capability for {} bytes",
                                                part_bytes, offset, bytes));
  capability made = *this;
  made.address += offset;
  made.bytes = part_bytes;
  return made;
}

}  // namespace situ::rmem
