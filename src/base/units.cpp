#include <situ/base/error_code.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace situ {
namespace {

struct unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::uint64_t kilo = 1000;
// The order matters to exact(): if two units divide a number, it uses the first one.
constexpr std::array<unit, 12> byte_units{{{"PiB", 1ull << 50},
                                           {"PB", kilo* kilo* kilo* kilo* kilo},
                                           {"TiB", 1ull << 40},
                                           {"TB", kilo* kilo* kilo* kilo},
                                           {"GiB", 1ull << 30},
                                           {"GB", kilo* kilo* kilo},
                                           {"MiB", 1ull << 20},
                                           {"MB", kilo* kilo},
                                           {"KiB", 1ull << 10},
                                           {"kB", kilo},
                                           {"KB", kilo},
                                           {"B", 1}}};
constexpr std::array<unit, 11> bandwidth_units{{{"PB/s", kilo* kilo* kilo* kilo* kilo},
                                                {"TB/s", kilo* kilo* kilo* kilo},
                                                {"TiB/s", 1ull << 40},
                                                {"GB/s", kilo* kilo* kilo},
                                                {"GiB/s", 1ull << 30},
                                                {"MB/s", kilo* kilo},
                                                {"MiB/s", 1ull << 20},
                                                {"kB/s", kilo},
                                                {"KB/s", kilo},
                                                {"KiB/s", 1ull << 10},
                                                {"B/s", 1}}};
constexpr std::array<unit, 4> hertz_units{{{"GHz", kilo* kilo* kilo}, {"MHz", kilo* kilo}, {"kHz", kilo}, {"Hz", 1}}};
constexpr std::array<unit, 5> time_units{
    {{"s", kilo* kilo* kilo}, {"ms", kilo* kilo}, {"us", kilo}, {"µs", kilo}, {"ns", 1}}};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trim(std::string_view text) {
  const auto from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

// A quantity in text form, split before its unit.
struct split {
  std::string_view number;
  std::uint64_t factor;
};

[[noreturn]] void refuse(std::string_view text, std::string_view what, std::string_view example) {
  throw_error(errc::bad_argument, fmt::format("\"{}\" is no {}; write it like \"{}\"", text, what, example));
}

split split_unit(std::string_view text, std::span<const unit> units, std::string_view what, std::string_view example) {
  const std::string_view trimmed = trim(text);
  std::size_t length = 0;
  while (length < trimmed.size() && (is_digit(trimmed[length]) || trimmed[length] == '.')) ++length;
  if (length == 0 || length > 40) refuse(text, what, example);
  const std::string_view name = trim(trimmed.substr(length));
  for (const unit& u : units)
    if (u.name == name) return {trimmed.substr(0, length), u.factor};
  refuse(text, what, example);
}

// number x factor in whole units, without floating point: digits * factor / 10^decimals.
std::uint64_t parse_whole(std::string_view text, std::span<const unit> units, std::string_view what,
                          std::string_view example) {
  auto [number, factor] = split_unit(text, units, what, example);
  const auto point = number.find('.');
  std::string digits{number.substr(0, point)};
  std::uint64_t divisor = 1;
  if (point != std::string_view::npos) {
    std::string_view fraction = number.substr(point + 1);
    if (digits.empty() || fraction.empty() || fraction.find('.') != std::string_view::npos) refuse(text, what, example);
    while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
    if (fraction.size() > 18) refuse(text, what, example);
    for (std::size_t i = 0; i < fraction.size(); ++i) divisor *= 10;
    digits += fraction;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size())
    throw_error(errc::bad_argument, fmt::format("\"{}\" is too large for a {}", text, what));
  const std::uint64_t common = std::gcd(factor, divisor);
  factor /= common;
  divisor /= common;
  if (value % divisor != 0)
    throw_error(
        errc::bad_argument,
        fmt::format("\"{}\" is no whole number of the smallest unit; write the {} in a smaller unit", text, what));
  value /= divisor;
  if (value > std::numeric_limits<std::uint64_t>::max() / factor)
    throw_error(errc::bad_argument, fmt::format("\"{}\" is too large for a {}", text, what));
  return value * factor;
}

std::string exact(std::uint64_t value, std::span<const unit> units) {
  for (const unit& u : units)
    if (value != 0 && value % u.factor == 0) return fmt::format("{} {}", value / u.factor, u.name);
  return fmt::format("{} {}", value, units.back().name);
}

// Three or four digits: "4.51", "37.5", "314".
std::string digits(double value) {
  std::string text = fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 999.95 ? 1 : 0);
  if (text.find('.') == std::string::npos) return text;
  const auto last = text.find_last_not_of('0');
  return text.substr(0, text[last] == '.' ? last : last + 1);
}

std::string rounded(double value, std::span<const unit> units, std::span<const std::string_view> names) {
  for (const std::string_view name : names)
    for (const unit& u : units)
      // 0.9995: a value that would round to "1000 MB" is written as "1 GB".
      if (u.name == name && value >= 0.9995 * static_cast<double>(u.factor))
        return fmt::format("{} {}", digits(value / static_cast<double>(u.factor)), name);
  return fmt::format("{} {}", digits(value), names.back());
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text) { return parse_whole(text, byte_units, "size in bytes", "96 GiB"); }
std::uint64_t parse_bandwidth(std::string_view text) {
  return parse_whole(text, bandwidth_units, "bandwidth", "314 GB/s");
}
std::uint64_t parse_hertz(std::string_view text) { return parse_whole(text, hertz_units, "frequency", "1.3 GHz"); }

double parse_nanoseconds(std::string_view text) {
  const std::string_view trimmed = trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), value);
  // from_chars takes "inf" and a sign, which no duration here has.
  if (error != std::errc{} || !is_digit(trimmed.front()) || !std::isfinite(value)) refuse(text, "duration", "105 ns");
  const std::string_view name = trim(trimmed.substr(static_cast<std::size_t>(end - trimmed.data())));
  for (const unit& u : time_units)
    if (u.name == name) return value * static_cast<double>(u.factor);
  refuse(text, "duration", "105 ns");
}

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 6> names{"PiB", "TiB", "GiB", "MiB", "KiB", "B"};
  return rounded(static_cast<double>(bytes), byte_units, names);
}

std::string format_bandwidth(std::uint64_t bytes_per_second) {
  static constexpr std::array<std::string_view, 5> names{"TB/s", "GB/s", "MB/s", "kB/s", "B/s"};
  return rounded(static_cast<double>(bytes_per_second), bandwidth_units, names);
}

std::string format_hertz(std::uint64_t hertz) {
  static constexpr std::array<std::string_view, 4> names{"GHz", "MHz", "kHz", "Hz"};
  return rounded(static_cast<double>(hertz), hertz_units, names);
}

std::string format_nanoseconds(double nanoseconds) {
  static constexpr std::array<std::string_view, 4> names{"s", "ms", "us", "ns"};
  return rounded(nanoseconds, time_units, names);
}

std::string exact_bytes(std::uint64_t bytes) { return exact(bytes, byte_units); }
std::string exact_bandwidth(std::uint64_t bytes_per_second) { return exact(bytes_per_second, bandwidth_units); }
std::string exact_hertz(std::uint64_t hertz) { return exact(hertz, hertz_units); }
std::string exact_nanoseconds(double nanoseconds) { return fmt::format("{} ns", nanoseconds); }

}  // namespace situ
