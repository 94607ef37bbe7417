#include "model/parts/machine_settings.h"

#include <situ/base/error_code.h>
#include <situ/machine/toml.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace situ::model {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view{}
                                         : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Returns the position of a comment outside of quotes, or the end of the line.
std::size_t end_of_value(std::string_view line) {
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) is_quoted = !is_quoted;
    if (line[i] == '#' && !is_quoted) return i;
  }
  return line.size();
}

// Returns the value of a line "key = value  # comment"; empty if the line does not set this key.
std::string_view value_of(std::string_view line, std::string_view key) {
  line = trimmed(line.substr(0, end_of_value(line)));
  if (!line.starts_with(key)) return {};
  line = trimmed(line.substr(key.size()));
  return line.starts_with('=') ? trimmed(line.substr(1)) : std::string_view{};
}

bool is_whole(std::string_view value) {
  return std::ranges::count(value, '[') == std::ranges::count(value, ']') &&
         std::ranges::count(value, '{') == std::ranges::count(value, '}');
}

bool is_number(std::string_view text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc{} && end == text.data() + text.size();
}

// Returns the value as TOML: as a text if it replaces a text, or if it is no other kind of value.
std::string as_value(std::string_view given, std::string_view before) {
  const bool is_kind = is_number(given) || given == "true" || given == "false" || given.starts_with('"') ||
                       given.starts_with('[') || given.starts_with('{');
  const bool was_text = before.starts_with('"') && !given.starts_with('"');
  return is_kind && !was_text ? std::string{given} : fmt::format("\"{}\"", given);
}

// A part of the file, the lines [begin, end).
struct block {
  std::string id;  // empty: the head
  std::size_t begin = 0;
  std::size_t end = 0;
};

class machine_text {
 public:
  machine_text(std::string_view text, std::string_view file_name) : file_name_{file_name} {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      lines_.emplace_back(line);
      text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
  }

  void set(std::string_view setting) {
    const std::size_t equals = setting.find('=');
    const std::string_view name = trimmed(setting.substr(0, equals));
    const std::string_view value = equals == std::string_view::npos ? "" : trimmed(setting.substr(equals + 1));
    if (name.empty() || value.empty())
      throw_error(errc::bad_argument, fmt::format("\"{}\" is not of the form KEY=VALUE, as l2.size=64KiB", setting));
    const std::size_t dot = name.rfind('.');
    const std::string_view id = dot == std::string_view::npos ? "" : name.substr(0, dot);
    if (const std::size_t of_table = id.rfind('.');
        of_table != std::string_view::npos && !is_id(id) && is_id(id.substr(0, of_table)))
      return put_in_table(find(id.substr(0, of_table), name), id.substr(of_table + 1), name.substr(dot + 1), value,
                          name);
    put(find(id, name), dot == std::string_view::npos ? name : name.substr(dot + 1), value, name);
  }

  [[nodiscard]] std::string text() const {
    std::string made;
    for (const std::string& line : lines_) (made += line) += '\n';
    return made;
  }

 private:
  [[nodiscard]] std::vector<block> blocks() const {
    std::vector<block> all{{.id = "", .begin = 0, .end = lines_.size()}};
    std::size_t links = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::string_view line = trimmed(lines_[i]);
      if (line.starts_with("[[")) {
        all.back().end = i;
        all.push_back({.id = line.starts_with("[[link") ? fmt::format("link{}", links++) : "", .begin = i + 1});
        all.back().end = lines_.size();
      } else if (const std::string_view id = value_of(line, "id"); id.size() > 2 && all.size() > 1) {
        all.back().id = id.substr(1, id.size() - 2);
      }
    }
    if (links == 1) std::ranges::find(all, "link0", &block::id)->id = "link";
    return all;
  }

  [[nodiscard]] bool is_id(std::string_view id) const {
    const std::vector<block> all = blocks();
    return std::ranges::find(all, id, &block::id) != all.end();
  }

  [[nodiscard]] block find(std::string_view id, std::string_view name) const {
    const std::vector<block> all = blocks();
    if (id.empty()) return all.front();
    const auto found = std::ranges::find(all, id, &block::id);
    if (found != all.end()) return *found;
    std::string known;
    for (const block& each : all)
      if (!each.id.empty()) known += (known.empty() ? "" : ", ") + each.id;
    throw_error(errc::bad_argument,
                fmt::format("{}: there is no \"{}\" to set \"{}\" of; there are {}", file_name_, id, name, known));
  }

  // Returns the end `low` or `high` of a figure's range, or `end` itself if the file does not mark the figure.
  [[nodiscard]] std::string end_of_range(std::string_view end, std::string_view name) const {
    std::vector<machine::assumption> assumed;
    static_cast<void>(machine::parse_toml(text(), file_name_, nullptr, &assumed));
    const auto found = std::ranges::find(assumed, name, &machine::assumption::figure);
    if (found == assumed.end()) return std::string{end};
    std::string value = end == "low" ? found->low : found->high;
    if (value.empty())
      throw_error(errc::bad_argument, fmt::format("{}: {} is \"{}\", which has no range; it could be \"{}\"",
                                                  file_name_, name, found->value, fmt::join(found->others, "\", \"")));
    return value;
  }

  // Removes the marks of a figure, and of the figures in its table, and leaves their lines empty.
  void remove_marks(const block& in, std::string_view key) {
    const std::string name = fmt::format("assumed.{}", key);
    for (std::size_t i = in.begin; i < in.end; ++i)
      if (!value_of(lines_[i], name).empty() || trimmed(lines_[i]).starts_with(name + ".")) lines_[i].clear();
  }

  // Replaces the key's line, so that lines keep their numbers; without such a line, replaces an empty line.
  void put(const block& in, std::string_view key, std::string_view value, std::string_view name) {
    std::string end;
    if (value == "low" || value == "high") {
      end = end_of_range(value, name);
      value = end;
    }
    remove_marks(in, key);
    std::size_t at = in.end;
    for (std::size_t i = in.begin; i < in.end; ++i) {
      const std::string_view before = value_of(lines_[i], key);
      if (before.empty()) {
        if (trimmed(lines_[i]).empty()) at = std::min(at, i);
        continue;
      }
      if (!is_whole(before))
        throw_error(errc::bad_argument, fmt::format("{}:{}: the value of {} goes over several lines; change it there",
                                                    file_name_, i + 1, name));
      lines_[i] = fmt::format("{} = {}", key, as_value(value, before));
      return;
    }
    std::string line = fmt::format("{} = {}", key, as_value(value, ""));
    if (at < in.end)
      lines_[at] = std::move(line);
    else
      lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(in.begin), std::move(line));
  }

  // Changes a figure of a table in one line, as core.dtlb.page of dtlb = { entries = 16, page = "64 KiB" }, or adds it.
  void put_in_table(const block& in, std::string_view table, std::string_view key, std::string_view value,
                    std::string_view name) {
    std::string end;
    if (value == "low" || value == "high") {
      end = end_of_range(value, name);
      value = end;
    }
    remove_marks(in, fmt::format("{}.{}", table, key));
    for (std::size_t i = in.begin; i < in.end; ++i) {
      const std::string_view before = value_of(lines_[i], table);
      if (before.empty()) continue;
      if (!before.starts_with('{') || !before.ends_with('}')) break;
      std::string_view rest = trimmed(before.substr(1, before.size() - 2));
      std::string made;
      bool is_there = false;
      while (!rest.empty()) {  // no figure of a table has a comma in it
        const std::string_view each = trimmed(rest.substr(0, rest.find(',')));
        rest.remove_prefix(
            std::min(rest.size(), rest.find(',') == std::string_view::npos ? rest.size() : rest.find(',') + 1));
        const std::string_view old = value_of(each, key);
        is_there |= !old.empty();
        made += made.empty() ? "" : ", ";
        made += old.empty() ? std::string{each} : fmt::format("{} = {}", key, as_value(value, old));
      }
      if (!is_there) made += fmt::format("{}{} = {}", made.empty() ? "" : ", ", key, as_value(value, ""));
      lines_[i] = fmt::format("{} = {{ {} }}", table, made);
      return;
    }
    throw_error(errc::bad_argument,
                fmt::format("{}: there is no table {} in a line of its own to set \"{}\" of; set the "
                            "whole table, as core.dtlb={{ entries = 16, ... }}",
                            file_name_, table, name));
  }

  std::string file_name_;
  std::vector<std::string> lines_;
};

}  // namespace

std::string apply_settings(std::string_view text, std::string_view file_name,
                           const std::vector<std::string>& settings) {
  machine_text changed{text, file_name};
  for (const std::string& each : settings) changed.set(each);
  return changed.text();
}

}  // namespace situ::model
