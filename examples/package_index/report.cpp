#include "report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace package_index {
namespace {

using nlohmann::ordered_json;

std::string finish(ordered_json told, const timing& took) {
  told["opened_ms"] = took.opened_ms;
  told["answered_ms"] = took.answered_ms;
  return told.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ordered_json json_of(const named& it) {
  ordered_json told{{"name", it.name}, {"listed", it.is_listed}};
  if (it.is_listed) told["version"] = it.version;
  return told;
}

std::string joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

}  // namespace

std::string to_text(const description& told) {
  std::string text = fmt::format("Package: {}\n", told.of.name);
  const auto add = [&](const char* field, const std::string& value) {
    if (!value.empty()) text += fmt::format("{}: {}\n", field, value);
  };
  if (!told.of.is_listed) text += "Listed: no\n";
  add("Version", told.of.version);
  add("Depends", told.depends);
  add("Provides", told.provides);
  add("Provided by", joined(told.given_by));
  if (!told.needed_by.empty())
    text += fmt::format("Needed by: {} package{}\n", told.needed_by.size(), told.needed_by.size() == 1 ? "" : "s");
  return text;
}

std::string to_json(const description& told, const timing& took) {
  ordered_json all = json_of(told.of);
  all["depends"] = told.depends;
  all["provides"] = told.provides;
  all["provided_by"] = told.given_by;
  all["needed_by"] = told.needed_by;
  return finish(std::move(all), took);
}

std::string to_text(const std::vector<named>& told) {
  std::size_t width = 0;
  for (const named& each : told) width = std::max(width, each.name.size());
  std::string text;
  for (const named& each : told)
    text += fmt::format("{:<{}}  {}\n", each.name, width, each.is_listed ? each.version : "(no package has this name)");
  return text;
}

std::string to_json(const std::vector<named>& told, const timing& took) {
  ordered_json packages = ordered_json::array();
  for (const named& each : told) packages.push_back(json_of(each));
  return finish({{"packages", std::move(packages)}}, took);
}

std::string to_text(const timing& took) {
  return fmt::format("opened in {:.2f} ms, answered in {:.3f} ms\n", took.opened_ms, took.answered_ms);
}

std::string to_text(const update_counts& done) {
  return fmt::format("{} packages came, {} changed, {} went; {} are as they were\n", done.added, done.changed,
                     done.removed, done.unchanged);
}

std::string to_json(const update_counts& done, const timing& took) {
  return finish(
      {{"added", done.added}, {"changed", done.changed}, {"removed", done.removed}, {"unchanged", done.unchanged}},
      took);
}

std::string to_text(const std::vector<situ::pool_migrated>& done) {
  std::string text;
  for (const situ::pool_migrated& each : done)
    text += fmt::format("{}: {} transactions{}\n", each.name, each.transactions,
                        each.is_resumed ? ", going on where an earlier migration was cut" : "");
  return done.empty() ? "the index has version 2 already\n" : text;
}

std::string to_json(const std::vector<situ::pool_migrated>& done, const timing& took) {
  ordered_json steps = ordered_json::array();
  for (const situ::pool_migrated& each : done)
    steps.push_back({{"name", each.name}, {"transactions", each.transactions}, {"resumed", each.is_resumed}});
  return finish({{"steps", std::move(steps)}}, took);
}

std::string to_text(const statistics& told) {
  std::string text =
      fmt::format("{}: an index of version {}\n", told.pool.path, told.of.version) +
      fmt::format("packages      {}\n", told.of.packages) + fmt::format("other names   {}\n", told.of.names) +
      fmt::format("dependencies  {}\n", told.of.needs) + fmt::format("changes       {}\n", told.of.changes) +
      fmt::format("bytes         {} in use, of {}\n", told.pool.heap_bytes - told.pool.free_bytes,
                  told.pool.heap_bytes);
  if (!told.found) return text;
  text += fmt::format("check         {} objects of {} bytes, {} leaked, {} pointers astray, {} damaged\n",
                      told.found->blocks, told.found->block_bytes, told.found->unreached_blocks,
                      told.found->stray_pointers, told.found->damage.size());
  for (const std::string& each : told.found->damage) text += fmt::format("damaged: {}\n", each);
  for (const std::string& each : told.found->notes) text += fmt::format("note: {}\n", each);
  return text;
}

std::string to_json(const statistics& told, const timing& took) {
  ordered_json all{{"path", told.pool.path},
                   {"version", told.of.version},
                   {"packages", told.of.packages},
                   {"names", told.of.names},
                   {"dependencies", told.of.needs},
                   {"changes", told.of.changes},
                   {"heap_bytes", told.pool.heap_bytes},
                   {"free_bytes", told.pool.free_bytes},
                   {"shared", told.pool.is_shared}};
  if (told.found)
    all["check"] = {{"sound", told.is_sound()},
                    {"objects", told.found->blocks},
                    {"object_bytes", told.found->block_bytes},
                    {"leaked", told.found->unreached_blocks},
                    {"stray_pointers", told.found->stray_pointers},
                    {"damage", told.found->damage},
                    {"notes", told.found->notes}};
  return finish(std::move(all), took);
}

}  // namespace package_index
