#include "rmem/capability_slots.h"

#include <algorithm>
#include <utility>

#include "rmem/handshake.h"

namespace situ::rmem::detail {

const capability_slots::slot* capability_slots::find(std::uint64_t number,
                                                     const capability_secret& secret) const noexcept {
  const auto index = static_cast<std::uint32_t>(number);
  if (index >= slots_.size()) return nullptr;
  const slot& found = slots_[index];
  const bool is_it = found.uses % 2 == 1 && found.uses == number >> 32;
  return is_it && same_secret(found.secret, secret) ? &found : nullptr;
}

const capability_slots::slot* capability_slots::find(std::uint64_t number) const noexcept {
  const auto index = static_cast<std::uint32_t>(number);
  return is_used(index) && number_of(index) == number ? &slots_[index] : nullptr;
}

std::uint32_t capability_slots::take() {
  if (first_free_ == none) {
    slots_.emplace_back();
    add_free(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  const std::uint32_t index = first_free_;
  take_free(index);
  ++slots_[index].uses;
  return index;
}

capability_slots::slot& capability_slots::take(std::uint64_t number) {
  const auto index = static_cast<std::uint32_t>(number);
  while (slots_.size() <= index) {
    slots_.emplace_back();
    add_free(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  take_free(index);
  slots_[index].uses = static_cast<std::uint32_t>(number >> 32);
  return slots_[index];
}

void capability_slots::release(std::uint32_t index) noexcept {
  slot& ends = slots_[index];
  ends.sharing = 0;
  ++ends.uses;
  ends.secret = {};
  ends.of = nullptr;
  std::vector<std::uint32_t>{}.swap(ends.children);
  --in_use_;
  add_free(index);
}

std::vector<std::uint32_t> capability_slots::uses() const {
  std::vector<std::uint32_t> all;
  for (const slot& each : slots_) all.push_back(each.uses);
  return all;
}

void capability_slots::set_uses(std::span<const std::uint32_t> uses) {
  slots_.resize(std::max(slots_.size(), uses.size()));
  first_free_ = none;
  for (std::size_t i = slots_.size(); i-- > 0;) {
    if (slots_[i].of != nullptr) continue;
    if (i < uses.size()) slots_[i].uses = uses[i] + uses[i] % 2;
    add_free(static_cast<std::uint32_t>(i));
  }
}

void capability_slots::clear() noexcept {
  slots_.clear();
  first_free_ = none;
  in_use_ = 0;
}

void capability_slots::add_free(std::uint32_t index) noexcept {
  slots_[index].last_free = none;
  slots_[index].next_free = first_free_;
  if (first_free_ != none) slots_[first_free_].last_free = index;
  first_free_ = index;
}

void capability_slots::take_free(std::uint32_t index) noexcept {
  const auto [next, last] = std::pair{slots_[index].next_free, slots_[index].last_free};
  (last != none ? slots_[last].next_free : first_free_) = next;
  if (next != none) slots_[next].last_free = last;
  ++in_use_;
}

}  // namespace situ::rmem::detail
