#include "model/execution/machines.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "model/execution/engine.h"
#include "model/execution/flat_machine.h"
#include "model/execution/parts_machine.h"
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

flat_shape flat_shape_of(std::string_view text) {
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

machine_spec read_with(const std::vector<std::string>& settings, const std::string& name) {
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

}  // namespace

std::unique_ptr<memory_port> make_machine(const std::string& name, std::uint32_t memories,
                                          const std::vector<std::string>& settings) {
  if (name == "flat" || name.starts_with("flat:")) {
    std::string figures = name.substr(std::min<std::size_t>(name.size(), 5));
    for (const std::string& each : settings) figures += (figures.empty() ? "" : ",") + each;
    return std::make_unique<flat_machine>(flat_shape_of(figures));
  }
  std::unique_ptr<memory_port> made = make_parts_machine(read_with(settings, name), memories);
  for (std::uint32_t core = 0; core < made->core_count(); ++core)
    if (made->tile_of(core) >= most_tiles)
      throw std::runtime_error{fmt::format("{}: programs run on machines of up to {} tiles", name, most_tiles)};
  return made;
}

}  // namespace situ::model
