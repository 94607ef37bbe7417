#include "model/parts/named_machine.h"

#include <situ/base/error.h>
#include <situ/model/machine_summary.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <string_view>

#include "model/parts/machine_settings.h"

namespace situ::model {
namespace {

std::uint64_t number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || rest != text.data() + text.size() || value == 0)
    throw std::runtime_error{fmt::format("flat machine: \"{}\" is no number above 0", text)};
  return value;
}

constexpr std::uint64_t most_cores_a_tile = 1024;
constexpr std::uint64_t most_sets = 1 << 20;
constexpr std::uint64_t most_entries = 1 << 26;  // limit for all caches together: 512 MiB
constexpr std::uint64_t most_ns = 1'000'000'000;

[[nodiscard]] std::uint64_t most_of(std::string_view key) {
  if (key == "tiles") return most_tiles;
  if (key == "cores") return most_cores_a_tile;
  return key == "sets" ? most_sets : most_ns;
}

void set(flat_shape& shape, std::string_view key, std::uint64_t value) {
  if (value > most_of(key))
    throw std::runtime_error{fmt::format("flat machine: \"{}={}\" is more than {}", key, value, most_of(key))};
  if (key == "tiles")
    shape.tiles = static_cast<std::uint32_t>(value);
  else if (key == "cores")
    shape.cores_a_tile = static_cast<std::uint32_t>(value);
  else if (key == "sets" && (value & (value - 1)) == 0)
    shape.sets = static_cast<std::uint32_t>(value);
  else if (key == "hit")
    shape.hit_ps = value * 1000;
  else if (key == "miss")
    shape.miss_ps = value * 1000;
  else if (key == "atomic")
    shape.atomic_ps = value * 1000;
  else
    throw std::runtime_error{fmt::format(
        "flat machine: \"{}={}\"; there are tiles, cores (of a tile), sets (a power of two), hit, miss, atomic (ns)",
        key, value)};
}

flat_shape parse_flat_shape(std::string_view text) {
  flat_shape shape;
  while (!text.empty()) {
    const std::string_view each = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), each.size() + 1));
    const std::size_t equals = each.find('=');
    if (equals == std::string_view::npos)
      throw std::runtime_error{fmt::format("flat machine: \"{}\" is not of the form key=number", each)};
    set(shape, each.substr(0, equals), number_in(each.substr(equals + 1)));
  }
  const std::uint64_t entries = std::uint64_t{shape.tiles} * shape.cores_a_tile * shape.sets;
  if (entries > most_entries)
    throw std::runtime_error{
        fmt::format("flat machine: tiles * cores * sets is {}, more than {}", entries, most_entries)};
  return shape;
}

}  // namespace

bool is_flat(std::string_view name) { return name == "flat" || name.starts_with("flat:"); }

flat_shape flat_shape_of(const std::string& name, const std::vector<std::string>& settings) {
  std::string figures = name.substr(std::min<std::size_t>(name.size(), 5));
  for (const std::string& each : settings) figures += (figures.empty() ? "" : ",") + each;
  return parse_flat_shape(figures);
}

machine_spec machine_spec_of(const std::string& name, const std::vector<std::string>& settings) {
  if (settings.empty()) return read_machine(name);
  std::ifstream stream{name, std::ios::binary};
  if (!stream) return read_machine(name);  // read_machine() throws with the reason
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};
  try {
    return parse_machine(apply_settings(text, name, settings), name);
  } catch (const error& failure) {
    if (failure.code() == errc::bad_argument) throw;
    throw_error(failure.code(), fmt::format("{} (with {})", failure.message(), fmt::join(settings, ", ")));
  }
}

machine_summary summarize_machine(const std::string& machine, const std::vector<std::string>& settings) {
  if (is_flat(machine)) {
    const flat_shape shape = flat_shape_of(machine, settings);
    machine_summary made{.name = "flat",
                         .description = "the smallest machine",
                         .cores = shape.tiles * shape.cores_a_tile,
                         .tiles = shape.tiles,
                         .core_of = {}};
    made.core_of.resize(made.cores);
    made.processors_of_first_tile.resize(shape.cores_a_tile);
    std::iota(made.core_of.begin(), made.core_of.end(), 0U);
    std::iota(made.processors_of_first_tile.begin(), made.processors_of_first_tile.end(), 0U);
    return made;
  }
  const machine_spec spec = machine_spec_of(machine, settings);
  const auto count = [](const auto& all, const auto& which) {
    return static_cast<std::uint32_t>(std::ranges::count_if(all, which));
  };
  if (spec.cores.empty()) throw_error(errc::bad_file, fmt::format("{}: it has no cores that run programs", machine));
  const std::uint32_t first = spec.cores.front().tile;
  machine_summary made{.name = spec.name,
                       .description = spec.description,
                       .cores = count(spec.cores, [](const core_spec& each) { return each.thread == 0; }),
                       .tiles = count(spec.tiles, [](const tile_spec& each) { return !each.cores.empty(); }),
                       .core_of = {}};
  for (std::uint32_t i = 0; i < spec.cores.size(); ++i) {
    made.core_of.push_back(spec.cores[i].core);
    if (spec.cores[i].tile == first) made.processors_of_first_tile.push_back(i);
  }
  return made;
}

}  // namespace situ::model
