#include <situ/base/error.h>
#include <situ/base/spec_file.h>
#include <situ/base/units.h>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/near_name.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>
#include <variant>

namespace situ {
namespace detail {

// A parsed value with its line; toml++ stays in this file.
struct spec_value {
  using array = std::vector<spec_value>;
  using table = std::vector<std::pair<std::string, spec_value>>;
  std::variant<std::string, std::int64_t, double, bool, array, table> data;
  std::uint32_t line = 0;
};

struct spec_document {
  std::string file_name;
  spec_value root;
};

}  // namespace detail

namespace {

using detail::spec_value;

std::string place_in(std::string_view file, std::uint32_t line, std::string_view path) {
  return path.empty() ? fmt::format("{}:{}", file, line) : fmt::format("{}:{}: {}", file, line, path);
}

[[noreturn]] void fail_at(std::string_view file, std::uint32_t line, std::string_view path, std::string_view message) {
  throw_error(errc::bad_file, fmt::format("{}: {}", place_in(file, line, path), message));
}

std::string_view kind_name(const spec_value& value) {
  static constexpr std::string_view names[] = {"a string", "an integer", "a float", "a boolean", "an array", "a table"};
  return names[value.data.index()];
}

spec_value convert(const toml::node& node, std::string_view file) {
  spec_value value;
  value.line = node.source().begin.line;
  if (const auto* text = node.as_string()) {
    value.data = text->get();
  } else if (const auto* integer = node.as_integer()) {
    value.data = integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    value.data = number->get();
  } else if (const auto* boolean = node.as_boolean()) {
    value.data = boolean->get();
  } else if (const auto* array = node.as_array()) {
    spec_value::array items;
    for (const toml::node& item : *array) items.push_back(convert(item, file));
    value.data = std::move(items);
  } else if (const auto* table = node.as_table()) {
    spec_value::table entries;
    for (const auto& [key, item] : *table) entries.emplace_back(std::string{key.str()}, convert(item, file));
    value.data = std::move(entries);
  } else {
    fail_at(file, value.line, "", "dates and times are not used in specifications; write a string");
  }
  return value;
}

}  // namespace

spec_table parse_spec(std::string_view text, std::string_view file_name) {
  auto document = std::make_shared<detail::spec_document>();
  document->file_name = file_name;
  try {
    const toml::table root = toml::parse(text, file_name);
    document->root = convert(root, file_name);
  } catch (const toml::parse_error& error) {
    fail_at(file_name, error.source().begin.line, "", fmt::format("not valid TOML: {}", error.description()));
  }
  const spec_value* root = &document->root;
  return spec_table{std::move(document), root, ""};
}

spec_table read_spec(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    throw_error(
        errc::bad_file,
        fmt::format("{}: cannot be read; check that the file exists, is not empty, and that you may read it", path));
  return parse_spec(text.str(), path);
}

const spec_value* spec_table::find(std::string_view key) const {
  for (const auto& [name, value] : std::get<spec_value::table>(value_->data))
    if (name == key) return &value;
  return nullptr;
}

const spec_value& spec_table::demand(std::string_view key, std::string_view example) const {
  const spec_value* value = find(key);
  if (value == nullptr) fail(key, fmt::format("missing; write {} = {}", key, example));
  return *value;
}

std::string spec_table::where(std::string_view key) const {
  const spec_value* value = find(key);
  const std::string path =
      path_.empty() || key.empty() ? fmt::format("{}{}", path_, key) : fmt::format("{}.{}", path_, key);
  return place_in(document_->file_name, value != nullptr ? value->line : value_->line, path);
}

void spec_table::fail(std::string_view key, std::string_view message) const {
  throw_error(errc::bad_file, fmt::format("{}: {}", where(key), message));
}

bool spec_table::has(std::string_view key) const { return find(key) != nullptr; }

bool spec_table::is_array(std::string_view key) const {
  const spec_value* value = find(key);
  return value != nullptr && std::holds_alternative<spec_value::array>(value->data);
}

std::string spec_table::text(std::string_view key) const {
  const spec_value& value = demand(key, "\"...\"");
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  fail(key, fmt::format("expected a string, found {}; put it in quotes", kind_name(value)));
}

std::int64_t spec_table::integer(std::string_view key) const {
  const spec_value& value = demand(key, "1");
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return *integer;
  fail(key,
       fmt::format("expected an integer, found {}; write {} = 1, without quotes or a point", kind_name(value), key));
}

double spec_table::number(std::string_view key) const {
  const spec_value& value = demand(key, "1.0");
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value.data)) return *number;
  fail(key, fmt::format("expected a number, found {}; write {} = 1.0, without quotes", kind_name(value), key));
}

std::string spec_table::text(std::string_view key, std::string_view fallback) const {
  return has(key) ? text(key) : std::string{fallback};
}
std::int64_t spec_table::integer(std::string_view key, std::int64_t fallback) const {
  return has(key) ? integer(key) : fallback;
}
double spec_table::number(std::string_view key, double fallback) const { return has(key) ? number(key) : fallback; }

bool spec_table::boolean(std::string_view key, bool fallback) const {
  const spec_value* value = find(key);
  if (value == nullptr) return fallback;
  if (const auto* boolean = std::get_if<bool>(&value->data)) return *boolean;
  fail(key, fmt::format("expected a boolean, found {}; write true or false, without quotes", kind_name(*value)));
}

std::vector<std::int64_t> spec_table::integers(std::string_view key) const {
  const spec_value& value = demand(key, "[1, 2]");
  std::vector<std::int64_t> result;
  const auto* items = std::get_if<spec_value::array>(&value.data);
  if (items == nullptr)
    fail(key, fmt::format("expected an array of integers, found {}; write {} = [1, 2]", kind_name(value), key));
  for (const spec_value& item : *items) {
    const auto* integer = std::get_if<std::int64_t>(&item.data);
    if (integer == nullptr)
      fail(key, fmt::format("expected integers, found {} among them; write {} = [1, 2]", kind_name(item), key));
    result.push_back(*integer);
  }
  return result;
}

std::vector<std::string> spec_table::texts(std::string_view key) const {
  const spec_value& value = demand(key, "[\"a\", \"b\"]");
  std::vector<std::string> result;
  const auto* items = std::get_if<spec_value::array>(&value.data);
  if (items == nullptr)
    fail(key, fmt::format("expected an array of strings, found {}; write {} = [\"a\", \"b\"]", kind_name(value), key));
  for (const spec_value& item : *items) {
    const auto* text = std::get_if<std::string>(&item.data);
    if (text == nullptr)
      fail(key, fmt::format("expected strings, found {} among them; put it in quotes", kind_name(item)));
    result.push_back(*text);
  }
  return result;
}

std::string spec_table::quantity(std::string_view key, std::string_view example) const {
  const spec_value& value = demand(key, fmt::format("\"{}\"", example));
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  fail(key,
       fmt::format("expected a quantity with its unit, found {}; write {} = \"{}\"", kind_name(value), key, example));
}

namespace {

// A unit's parser knows neither file nor key, so its error is rethrown with both.
template <class Parse>
auto in_context(const spec_table& table, std::string_view key, const std::string& text, Parse parse) {
  try {
    return parse(text);
  } catch (const error& bad) {
    table.fail(key, bad.message());
  }
}

}  // namespace

std::uint64_t spec_table::bytes(std::string_view key) const {
  return in_context(*this, key, quantity(key, "64 MiB"), parse_bytes);
}
std::uint64_t spec_table::bytes(std::string_view key, std::uint64_t fallback) const {
  return has(key) ? bytes(key) : fallback;
}
std::uint64_t spec_table::bandwidth(std::string_view key, std::uint64_t fallback) const {
  return has(key) ? in_context(*this, key, quantity(key, "314 GB/s"), parse_bandwidth) : fallback;
}
std::uint64_t spec_table::hertz(std::string_view key, std::uint64_t fallback) const {
  return has(key) ? in_context(*this, key, quantity(key, "1.3 GHz"), parse_hertz) : fallback;
}
double spec_table::nanoseconds(std::string_view key, double fallback) const {
  return has(key) ? in_context(*this, key, quantity(key, "105 ns"), parse_nanoseconds) : fallback;
}

spec_table spec_table::table(std::string_view key) const {
  const spec_value& value = demand(key, "{ ... }");
  if (!std::holds_alternative<spec_value::table>(value.data))
    fail(key, fmt::format("expected a table, found {}; write [{}]", kind_name(value), key));
  return spec_table{document_, &value, path_.empty() ? std::string{key} : fmt::format("{}.{}", path_, key)};
}

std::vector<spec_table> spec_table::tables(std::string_view key) const {
  std::vector<spec_table> result;
  const spec_value* value = find(key);
  if (value == nullptr) return result;
  const auto* items = std::get_if<spec_value::array>(&value->data);
  if (items == nullptr)
    fail(key, fmt::format("expected an array of tables, found {}; write [[{}]]", kind_name(*value), key));
  for (const spec_value& item : *items) {
    if (!std::holds_alternative<spec_value::table>(item.data))
      fail(key, fmt::format("expected tables, found {} among them; write [[{}]]", kind_name(item), key));
    const std::string path = fmt::format("{}{}{}[{}]", path_, path_.empty() ? "" : ".", key, result.size());
    result.push_back(spec_table{document_, &item, path});
  }
  return result;
}

std::vector<std::string> spec_table::keys() const {
  std::vector<std::string> result;
  for (const auto& [name, value] : std::get<spec_value::table>(value_->data)) result.push_back(name);
  return result;
}

void spec_table::allow_only(std::initializer_list<std::string_view> known) const {
  for (const std::string& key : keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (const std::string_view near = detail::near_name(key, {known.begin(), known.size()}); !near.empty())
      fail(key, fmt::format("unknown key; did you mean \"{}\"?", near));
    fail(key, fmt::format("unknown key; known here: {}", fmt::join(known, ", ")));
  }
}

}  // namespace situ
