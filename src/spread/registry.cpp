#include <situ/spread/detail/registry.h>

#include <situ/base/error_code.h>
#include <situ/memory/detail/place_context.h>
#include <situ/runtime/detail/scheduler.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "runtime/runtime_state.h"
#include "runtime/team_state.h"

namespace situ::detail {
namespace {

constexpr std::uint64_t is_name = std::uint64_t{1} << 63;

struct entry {
  std::uint64_t type;
  void* part;  // null: the part was removed
};

struct key {
  std::uint64_t team;
  std::uint64_t number;
  friend bool operator==(const key&, const key&) = default;
};
struct key_hash {
  std::size_t operator()(const key& k) const noexcept { return k.team * 0x9e3779b97f4a7c15 ^ k.number; }
};

// The parts of this place. A numbered part that was removed leaves no entry: numbers rise, so a number without an entry
// that is at most the team's last number was registered once.
struct registry final : place_extension {
  std::unordered_map<key, entry, key_hash> parts;
  std::unordered_map<std::uint64_t, std::uint64_t> last_number;  // for each team
};

registry& registry_here() {
  if (current->runtime == nullptr) throw_no_runtime("an object that is spread over places");
  std::unique_ptr<place_extension>& slot = current->runtime->spread;
  if (!slot) slot = std::make_unique<registry>();
  return static_cast<registry&>(*slot);
}

bool is_decided(const registry& here, const object_id& id) {
  if (here.parts.contains({id.team, id.number})) return true;
  const auto last = here.last_number.find(id.team);
  return (id.number & is_name) == 0 && last != here.last_number.end() && id.number <= last->second;
}

}  // namespace

object_id next_object_id(const team& members, std::uint64_t type) {
  return {.team = members.state().id, .number = members.state().collectives++, .type = type};
}

object_id named_object_id(const team& members, std::string_view name, std::uint64_t type) {
  return {.team = members.state().id, .number = hash_text(name) | is_name, .type = type};
}

void register_object(const object_id& id, void* part) {
  registry& here = registry_here();
  entry& at = here.parts.try_emplace({id.team, id.number}, entry{id.type, nullptr}).first->second;
  if (at.part != nullptr)
    throw_error(errc::bad_argument, fmt::format("place {} has an object of this name already (or one whose name has "
                                                "the same hash): choose another, or end that one first",
                                                current->place));
  at = {id.type, part};
  if ((id.number & is_name) == 0) {
    std::uint64_t& last = here.last_number[id.team];
    last = std::max(last, id.number);
  }
}

void unregister_object(const object_id& id) noexcept {
  if (current->runtime == nullptr || !current->runtime->spread) return;
  registry& here = registry_here();
  const auto found = here.parts.find({id.team, id.number});
  if (found == here.parts.end()) return;
  if ((id.number & is_name) != 0) {
    found->second.part = nullptr;
  } else {
    here.parts.erase(found);
  }
}

void* find_object(const object_id& id) {
  registry& here = registry_here();
  if (!is_decided(here, id)) current->scheduler->wait_until([&] { return is_decided(here, id); });
  const auto found = here.parts.find({id.team, id.number});
  if (found == here.parts.end() || found->second.part == nullptr)
    throw_error(errc::bad_argument, fmt::format("the object that is asked for is at place {} no more: its scope has "
                                                "ended there. Wait for the others, by a barrier, before it ends",
                                                current->place));
  if (found->second.type != id.type)
    throw_error(errc::bad_argument, fmt::format("place {} has made an object of another type where this one was "
                                                "expected: all members of a team make the same, in the same order",
                                                current->place));
  return found->second.part;
}

}  // namespace situ::detail
