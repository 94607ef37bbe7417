#include "cluster/host_loss.h"

#include <situ/memory/detail/losses.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "cluster/host_words.h"

namespace situ::detail {
namespace {

// Marks a place as mark_lost does, without notifying others.
void mark_quietly(place_slot& slot, std::string_view reason) noexcept {
  if (slot.state.load() >= place_state::left || slot.reason_claimed.exchange(1) != 0) return;
  const std::size_t length = std::min(reason.size(), sizeof slot.reason - 1);
  std::memcpy(slot.reason, reason.data(), length);
  slot.reason[length] = '\0';
  place_state before = slot.state.load();
  while (before < place_state::left && !slot.state.compare_exchange_weak(before, place_state::lost)) {}
}

template <class Act>
void for_living_of(job_control& control, std::uint16_t host, Act act) noexcept {
  for (std::uint32_t place = 0; place < control.place_count; ++place)
    if (control.homes()[place].host == host && control.slot(place).state.load() < place_state::left) act(place);
}

}  // namespace

void mark_host_lost(job_control& control, std::uint16_t host, std::string_view reason) noexcept {
  if (host != control.host) forget_server(control, host);
  std::uint32_t last = job_control::no_place;
  for_living_of(control, host, [&](std::uint32_t place) { last = place; });
  for_living_of(control, host, [&](std::uint32_t place) {
    if (place != last) mark_quietly(control.slot(place), reason);
  });
  if (last != job_control::no_place) mark_lost(control, last, reason);  // also raises the epoch for all of them
}

}  // namespace situ::detail
