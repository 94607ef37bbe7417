#include "model/execution/report_memories.h"

#include <situ/base/units.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

#include "model/execution/engine.h"
#include "model/parts/memory_rooms.h"

namespace situ::model {
namespace {

std::string size_of(const memory_rooms::memory& each) { return each.bytes == 0 ? "?" : format_bytes(each.bytes); }

}  // namespace

std::string memories_text(engine& ran) {
  const memory_rooms* const rooms = ran.machine().rooms();
  if (rooms == nullptr) return "";
  const auto& all = rooms->memories();
  std::string text = fmt::format("\n{:<16}  {:>10}  {:>11}  spilled into it\n", "memory", "size", "most in use");
  for (const memory_rooms::memory& each : all) {
    if (each.most_used == 0) continue;
    fmt::format_to(std::back_inserter(text), "{:<16}  {:>10}  {:>11}", each.name, size_of(each),
                   format_bytes(each.most_used));
    const char* comma = "  ";
    for (const memory_rooms::spill& spilled : each.spilled) {
      fmt::format_to(std::back_inserter(text), "{}{} of {} from {}", comma, format_bytes(spilled.most_bytes),
                     name_of(spilled.what), all[spilled.from].name);
      comma = "; ";
    }
    text += "\n";
  }
  return text;
}

std::string refusals_text(engine& ran) {
  const memory_rooms* const rooms = ran.machine().rooms();
  if (rooms == nullptr || rooms->refused().count == 0) return "";
  const memory_rooms::refusals& refused = rooms->refused();
  return fmt::format("situ model: {} {} refused, the largest of {}: at the first one, of {}, {}\n", refused.count,
                     refused.count == 1 ? "allocation was" : "allocations were", format_bytes(refused.most_bytes),
                     format_bytes(refused.first_bytes), refused.room);
}

std::string memories_json(engine& ran) {
  const memory_rooms* const rooms = ran.machine().rooms();
  if (rooms == nullptr) return "null";
  const auto& all = rooms->memories();
  nlohmann::ordered_json used = nlohmann::ordered_json::array();
  for (const memory_rooms::memory& each : all) {
    if (each.most_used == 0) continue;
    nlohmann::ordered_json spills = nlohmann::ordered_json::array();
    for (const memory_rooms::spill& spilled : each.spilled)
      spills.push_back(
          {{"from", all[spilled.from].name}, {"what", name_of(spilled.what)}, {"most_bytes", spilled.most_bytes}});
    used.push_back({{"memory", each.name},
                    {"bytes", each.bytes},
                    {"most_bytes", each.most_used},
                    {"bytes_at_end", each.used},
                    {"spilled", std::move(spills)}});
  }
  const memory_rooms::refusals& refused = rooms->refused();
  return nlohmann::ordered_json{{"used", std::move(used)},
                                {"refused",
                                 {{"count", refused.count},
                                  {"most_bytes", refused.most_bytes},
                                  {"first_bytes", refused.first_bytes},
                                  {"room", refused.room}}}}
      .dump();
}

}  // namespace situ::model
