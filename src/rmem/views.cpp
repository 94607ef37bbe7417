#include "rmem/views.h"

#include <fmt/format.h>

#include <algorithm>

namespace situ::rmem::detail {
namespace {

void remove(view_entry& from, std::size_t place) {
  std::copy(from.chain.begin() + static_cast<std::ptrdiff_t>(place) + 1, from.chain.begin() + from.members,
            from.chain.begin() + static_cast<std::ptrdiff_t>(place));
  from.chain[--from.members] = {};
  ++from.epoch;
}

void set_joining(view_entry& of, std::uint64_t node) {
  of.joining = node;
  ++of.epoch;
}

}  // namespace

std::size_t place_in(const view_entry& view, std::uint64_t node) noexcept {
  std::size_t at = 0;
  while (at < view.members && view.chain[at].node != node) ++at;
  return at;
}

bool is_view(const view_entry& view) noexcept {
  if (view.epoch == 0) return view.members == 0;
  if (view.members == 0 || view.members > most_members || view.replicas == 0 || view.replicas > most_replicas ||
      view.index >= 256)
    return false;
  for (std::size_t i = 0; i < view.members; ++i)
    if (view.chain[i].node == 0 || !is_word(view.chain[i].endpoint) || place_in(view, view.chain[i].node) != i)
      return false;
  return view.joining == 0 || place_in(view, view.joining) == view.members;
}

bool view_keeper::is_lost(std::uint64_t node, std::uint64_t now_ns) const {
  const auto found = processes_.find(node);
  return found == processes_.end() || now_ns - found->second.seen_ns > lease_ns();
}
// Returns true if the node was heard within the last quarter of a lease, which is longer than a few beats.
bool view_keeper::is_heard(std::uint64_t node, std::uint64_t now_ns) const {
  const auto found = processes_.find(node);
  return found != processes_.end() && now_ns - found->second.seen_ns < lease_ns() / 4;
}
bool view_keeper::drains(std::uint64_t node) const {
  const auto found = processes_.find(node);
  return found != processes_.end() && found->second.drains;
}

view_keeper::group* view_keeper::group_of(std::uint64_t node) noexcept {
  for (auto& [index, each] : groups_)
    if (each.view.joining == node || place_in(each.view, node) < each.view.members) return &each;
  return nullptr;
}

std::size_t view_keeper::spares() const {
  std::size_t all = 0;
  for (const auto& [node, each] : processes_) {
    const bool is_needed = std::any_of(groups_.begin(), groups_.end(), [&, which = node](const auto& one) {
      return one.second.view.joining == which || place_in(one.second.view, which) < one.second.view.members;
    });
    all += !is_needed && looked_ns_ - std::min(looked_ns_, each.seen_ns) <= lease_ns();
  }
  return all;
}

// --- beats ---

bool view_keeper::beat(const beat_entry& said, std::uint64_t now_ns, view_entry& told) {
  if (said.node == 0 || !is_word(said.endpoint) || !is_view(said.holds) || said.replicas > most_replicas ||
      (said.index >= 256 && said.index != any_server))
    return false;
  look(now_ns);
  process& who = processes_[said.node];
  who = {said.endpoint, said.capacity, said.index, now_ns, who.drains};
  adopt(said);
  if (const auto held = groups_.find(said.holds.index); said.holds.epoch > 0 && held != groups_.end())
    if (held->second.view.epoch == said.holds.epoch) heed(held->second, said);
  begin_group(said, now_ns);
  look(now_ns);
  group* const of = group_of(said.node);
  told = {};
  if (of == nullptr) {
    // A server that has been removed is told the view without it.
    if (const auto held = groups_.find(said.holds.index); said.holds.epoch > 0 && held != groups_.end())
      told = held->second.view;
    told.is_drained = who.drains ? 1 : 0;
    return true;
  }
  told = of->view;
  if (place_in(of->view, said.node) != 0) return true;
  // A first member that is drained loses its lease once enough other members have everything.
  if (who.drains && of->view.members > of->view.replicas) return true;
  of->granted_ns = now_ns;
  told.lease_ms = lease_ms_;
  return true;
}

// Derives the next view from the beat of a server that holds the newest view.
void view_keeper::heed(group& of, const beat_entry& said) {
  view_entry& view = of.view;
  const std::size_t place = place_in(view, said.node);
  if (place == view.members) return;
  const bool is_last = place + 1 == view.members;
  if (said.synced != 0 && is_last && said.synced == view.joining && view.members < most_members) {
    view.chain[view.members++] = {view.joining, processes_[view.joining].endpoint};
    set_joining(view, 0);
  } else if (said.lost != 0 && !is_last && view.chain[place + 1].node == said.lost) {
    const member_entry gone = view.chain[place + 1];
    remove(view, place + 1);
    report_lost(view, gone, fmt::format("{} reports that it takes no changes", text_of(said.endpoint)));
  } else if (said.lost != 0 && is_last && view.joining == said.lost) {
    set_joining(view, 0);
    report_lost(view, {said.lost, endpoint_of(said.lost)},
                fmt::format("{} reports that it takes no copy", text_of(said.endpoint)));
  }
}

// Begins a new server number's chain with the process that wants it.
void view_keeper::begin_group(const beat_entry& said, std::uint64_t now_ns) {
  if (said.index == any_server || said.replicas == 0 || now_ns - begun_ns_ < 2 * lease_ns()) return;
  if (said.holds.epoch > 0 || groups_.contains(said.index) || found_.contains(said.index) || drains(said.node)) return;
  group& made = groups_[said.index];
  made.capacity = said.capacity;
  made.view = {1, 0, said.index, said.replicas, 1, 0, 0, {}};
  made.view.chain[0] = {said.node, said.endpoint};
}

// A restarted name server knows no views. It adopts the view of the highest epoch once each process in it has reported
// the view that it holds, as one of them may have received a later view. It adopts a view only as the first of a server
// number.
void view_keeper::adopt(const beat_entry& said) {
  told_epochs_[said.node] = said.holds.epoch;
  if (said.holds.epoch == 0 || groups_.contains(said.holds.index)) return;
  view_entry& best = found_[said.holds.index];
  if (said.holds.epoch > best.epoch) best = said.holds;
  for (std::size_t i = 0; i < best.members; ++i)
    if (!told_epochs_.contains(best.chain[i].node)) return;
  group& made = groups_[said.holds.index];
  made.view = best;
  made.view.lease_ms = 0;
  made.view.is_drained = 0;
  made.capacity = processes_[best.chain[0].node].capacity;
  made.granted_ns = looked_ns_;  // the previous name server may have granted a lease a moment ago
  found_.erase(said.holds.index);
}

// --- losses and replacement ---

void view_keeper::look(std::uint64_t now_ns) {
  if (begun_ns_ == 0) begun_ns_ = looked_ns_ = now_ns;
  // The name server itself was stopped, and could hear no beat.
  if (now_ns - looked_ns_ > lease_ns() / 2)
    for (auto& [node, each] : processes_) each.seen_ns = now_ns;
  looked_ns_ = now_ns;
  for (auto& [index, each] : groups_) look_at(each, now_ns);
  // A process absent for long is forgotten, unless a chain waits for its bytes.
  std::erase_if(processes_, [&](const auto& each) {
    return now_ns - each.second.seen_ns > 100 * lease_ns() && group_of(each.first) == nullptr;
  });
}

void view_keeper::look_at(group& of, std::uint64_t now_ns) {
  view_entry& view = of.view;
  // Only while the first member is surely alive: otherwise the removed member may be the last that has everything.
  if (is_heard(view.chain[0].node, now_ns))
    for (std::size_t i = view.members; i-- > 1;)
      if (is_lost(view.chain[i].node, now_ns)) {
        const member_entry gone = view.chain[i];
        remove(view, i);
        report_lost(view, gone, silence());
      }
  if (view.joining != 0 && is_lost(view.joining, now_ns)) {
    const member_entry gone{view.joining, endpoint_of(view.joining)};
    set_joining(view, 0);
    report_lost(view, gone, silence());
  }
  if (view.joining != 0 && drains(view.joining)) set_joining(view, 0);
  replace_first(of, now_ns);
  // A drained member is removed when enough members remain.
  for (std::size_t i = view.members; i-- > 1;)
    if (view.members > view.replicas && drains(view.chain[i].node)) remove(view, i);
  find_joining(of, now_ns);
}

// Invariant 2. The first of the others that is not lost becomes the first member, and only if it is surely alive.
void view_keeper::replace_first(group& of, std::uint64_t now_ns) {
  view_entry& view = of.view;
  const std::uint64_t first = view.chain[0].node;
  const bool is_first_lost = is_lost(first, now_ns);
  const bool goes = is_first_lost || (drains(first) && view.members > view.replicas);
  if (!is_first_lost) note_silence(of, false);
  if (!goes || now_ns - of.granted_ns <= lease_ns()) return;
  std::size_t next = 1;
  while (next < view.members && is_lost(view.chain[next].node, now_ns)) ++next;
  if (next == view.members) return note_silence(of, is_first_lost);
  if (!is_heard(view.chain[next].node, now_ns)) return;
  std::vector<member_entry> gone(view.chain.begin(), view.chain.begin() + static_cast<std::ptrdiff_t>(next));
  for (std::size_t i = 0; i < next; ++i) remove(view, 0);
  std::erase_if(gone, [&](const member_entry& each) { return !is_lost(each.node, now_ns); });
  for (const member_entry& each : gone) report_lost(view, each, silence());
  of.is_silent = false;
}

// --- reports ---

std::string view_keeper::silence() const { return fmt::format("it has sent no heartbeat for {} ms", lease_ms_); }

endpoint_text view_keeper::endpoint_of(std::uint64_t node) const {
  const auto found = processes_.find(node);
  return found == processes_.end() ? endpoint_text{} : found->second.endpoint;
}

// Reports the loss of a process that `now` does not have any more.
void view_keeper::report_lost(const view_entry& now, const member_entry& who, std::string_view why) const {
  if (!report_) return;
  report_(fmt::format("server {}: the replica at {} is lost: {}; {} serves, and {} of {} replicas are left", now.index,
                      text_of(who.endpoint), why, text_of(now.chain[0].endpoint), now.members, now.replicas));
}

// Reports that no process with the memory of a server number is heard, or that one is heard again.
void view_keeper::note_silence(group& of, bool is_silent) {
  if (of.is_silent == is_silent) return;
  of.is_silent = is_silent;
  if (!report_) return;
  report_(is_silent
              ? fmt::format("server {}: the replica at {} is lost: {}, and no other is heard that has its memory; "
                            "the name server waits for it",
                            of.view.index, text_of(of.view.chain[0].endpoint), silence())
              : fmt::format("server {}: the replica at {} is heard again, and serves", of.view.index,
                            text_of(of.view.chain[0].endpoint)));
}

void view_keeper::find_joining(group& of, std::uint64_t now_ns) {
  view_entry& view = of.view;
  const auto begin = view.chain.begin();
  const auto drained = std::count_if(begin, begin + view.members, [&](const auto& each) { return drains(each.node); });
  const std::size_t wanted = std::min<std::size_t>(view.replicas + (drained > 0 ? 1 : 0), most_members);
  if (view.joining != 0 || view.members >= wanted) return;
  for (const auto& [node, each] : processes_) {
    if (each.drains || each.capacity < of.capacity || is_lost(node, now_ns) || group_of(node) != nullptr) continue;
    if (each.index != any_server && each.index != view.index) continue;
    return set_joining(view, node);
  }
}

outcome view_keeper::drain(std::string_view endpoint, std::uint64_t now_ns) {
  look(now_ns);
  for (auto& [node, each] : processes_) {
    if (text_of(each.endpoint) != endpoint || is_lost(node, now_ns)) continue;
    each.drains = true;
    look(now_ns);
    return {};
  }
  return {status::unknown_name, fmt::format("no server of replicas is at {}", endpoint)};
}

const view_entry* view_keeper::find(std::uint32_t index, std::uint64_t now_ns) {
  look(now_ns);
  const auto found = groups_.find(index);
  return found == groups_.end() ? nullptr : &found->second.view;
}
std::vector<view_entry> view_keeper::all(std::uint64_t now_ns) {
  look(now_ns);
  std::vector<view_entry> made;
  for (const auto& [index, each] : groups_) made.push_back(each.view);
  return made;
}

}  // namespace situ::rmem::detail
