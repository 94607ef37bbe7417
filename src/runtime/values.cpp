#include <situ/base/error_code.h>
#include <situ/runtime/serialize.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace situ::detail {

constinit thread_local std::byte lost_part[largest_lost_part]{};
constinit thread_local std::size_t sent_levels = 0;

void throw_truncated(std::size_t wanted_bytes, std::size_t left_bytes) {
  throw_error(errc::bad_message, fmt::format("{} bytes or elements are announced where {} bytes are left: the message "
                                             "is damaged, or was written by another build",
                                             wanted_bytes, left_bytes));
}

void throw_too_deep(std::size_t levels) {
  throw_error(
      errc::bad_message,
      fmt::format("a value has classes within classes, more than {} levels deep: the message is damaged, or the "
                  "value is a long list or a deep tree, which travels as an object graph",
                  levels));
}

void throw_sent_too_deep(std::size_t levels, std::string_view type) {
  throw_error(errc::bad_argument,
              fmt::format("a {} has others within it, more than {} levels deep, and cannot travel as a value: a long "
                          "list or a deep tree travels as an object graph of plain pointers",
                          type, levels));
}

void throw_repeated_keys(std::size_t announced, std::size_t different) {
  throw_error(
      errc::bad_message,
      fmt::format("a set or map of {} elements has {} different keys: the message is damaged, or its comparison "
                  "or hash differs from place to place",
                  announced, different));
}

void throw_bad_alternative(std::size_t index, std::size_t alternatives) {
  throw_error(
      errc::bad_message,
      fmt::format(
          "a variant of {} alternatives holds number {}: the message is damaged, or was written by another build",
          alternatives, index));
}

// --- shared objects ---

namespace {
constexpr std::size_t most_shared_levels = 100;  // as many as a reader accepts (nesting)
}

bool measured_objects::enter(const shared_key& key, std::shared_ptr<const void> owner) {
  if (!known_.insert(key).second) return false;
  if (levels_ == most_shared_levels)
    throw_error(errc::bad_argument,
                fmt::format("std::shared_ptr within what others lead to, more than {} levels deep, here to a {}: a "
                            "long list or a deep tree travels as an object graph of plain pointers",
                            most_shared_levels, key.type->name));
  met_.push_back({std::move(owner), key.type});
  ++levels_;
  return true;
}

void measured_objects::finish() {
  const auto before = [](const met& a, const met& b) { return a.owner.owner_before(b.owner); };
  std::sort(met_.begin(), met_.end(), before);
  const auto same = std::adjacent_find(met_.begin(), met_.end(),
                                       [&](const met& a, const met& b) { return !before(a, b) && !before(b, a); });
  if (same != met_.end())
    throw_error(
        errc::bad_argument,
        fmt::format("two std::shared_ptr of one owner lead to a {} and a {}, which would arrive as two objects: "
                    "such pointers, to a part or to a base of what they own, cannot travel",
                    same[0].type->name, same[1].type->name));
}

written_objects::numbered written_objects::number_of(const shared_key& key) {
  const auto [found, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size() + 1));
  return {found->second, is_new};
}

void written_objects::add_weak(const shared_key& key, std::byte* at) { weak_.push_back({key, at}); }

void written_objects::finish() {
  for (const weak_reference& each : weak_) {
    const auto found = numbers_.find(each.key);
    if (found != numbers_.end()) std::memcpy(each.at, &found->second, sizeof(found->second));
  }
}

void read_objects::check(std::uint32_t number, std::size_t most_to_come) const {
  if (number > count_ && number - count_ > most_to_come)
    throw_error(errc::bad_message,
                fmt::format("a std::shared_ptr or std::weak_ptr names object {}, where {} have come: the message is "
                            "damaged, or was written by another build",
                            number, count_));
}

const read_objects::entry& read_objects::expect(std::uint32_t number, const shared_type& type) const {
  const entry& found = objects_[number - 1];
  if (found.type != &type)
    throw_error(errc::bad_message,
                fmt::format("a pointer to a {} names shared object {}, which is a {}: the message is damaged, or was "
                            "written by another build",
                            type.name, number, found.type->name));
  return found;
}

void read_objects::finish() {
  if (objects_.size() > count_)
    throw_error(errc::bad_message,
                fmt::format("a std::weak_ptr names object {}, where {} have come: the message is damaged, or was "
                            "written by another build",
                            objects_.size(), count_));
  is_finished_ = true;
}

}  // namespace situ::detail
