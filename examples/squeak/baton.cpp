#include "baton.h"

#include <situ/base/detail/raw_channel.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/collective.h>
#include <situ/runtime/runtime.h>
#include <situ/runtime/task.h>
#include <situ/runtime/wait.h>

#include <atomic>
#include <cstddef>

namespace squeak {

baton::baton(bool one_heap, std::uint32_t clock_call)
    : one_heap_{one_heap},
      clock_call_{clock_call},
      here_{situ::here().index()},
      base_{situ::detail::current->base},
      slice_shift_{static_cast<std::uint32_t>(situ::detail::current->slice_shift)} {
#if defined(SITU_MODEL)
  has_raw_channels_ = situ_model_has_raw_channels();
#endif
  const std::vector<std::uint64_t> all = [] {
    const situ::ptr<situ::signal> signals = situ::allocate_signals(2 + baton_words);
    const situ::ptr<baton_message> message = situ::allocate<baton_message>(1);
    std::vector<std::uint64_t> addresses;
    for (const std::vector<std::uint64_t>& each :
         situ::all_gather(std::vector<std::uint64_t>{message.address(), signals.address()}))
      addresses.insert(addresses.end(), each.begin(), each.end());
    return addresses;
  }();
  for (std::size_t i = 0; i < all.size(); i += 2) {
    const situ::ptr<situ::signal> signals{reinterpret_cast<situ::signal*>(all[i + 1])};
    boxes_.push_back(
        {situ::ptr<baton_message>{reinterpret_cast<baton_message*>(all[i])}, signals, signals + 1, signals + 2});
  }
}

baton::~baton() {
  situ::deallocate(boxes_[here_].message);
  situ::deallocate(boxes_[here_].arrived);
}

// Stands for the system call that reads a clock: it takes instructions, and nothing else.
void baton::call_clock() const {
  for (std::uint32_t i = 0; i < clock_call_; ++i) asm volatile("" : "+r"(i));
}

void baton::send(std::uint32_t to, const baton_message& message) {
#if defined(SITU_MODEL)
  if (has_raw_channels_) return situ_model_raw_send(to, &message, sizeof(message));
#endif
  situ::put_signal(boxes_[to].message, message, boxes_[to].arrived, 1, situ::signal_by::add);
}

void baton::pass(std::uint32_t to) {
  ++passes_;
  if (clock_call_ != 0) call_clock();
  send(to, next_);
}

const baton_message& baton::receive(object_memory& memory) {
#if defined(SITU_MODEL)
  while (has_raw_channels_) {
    (void)situ_model_raw_receive(&received_, sizeof(received_));
    if (received_.step() != baton_step::attend) return received_;
    memory.leave();
    attend(received_.header);
    memory.enter();
  }
#endif
  memory.leave();
  seen_ = situ::wait_until(boxes_[here_].arrived, [this](std::uint64_t n) { return n != seen_; });
  received_ = *boxes_[here_].message.local();
  memory.enter();
  return received_;
}

std::uint64_t baton::word(baton_word which) const {
  return situ::atomic_load(situ::word(boxes_[0].words + static_cast<int>(which)));
}
void baton::set_word(baton_word which, std::uint64_t value) {
  situ::atomic_store(situ::word(boxes_[0].words + static_cast<int>(which)), value);
}

void baton::attend(std::uint64_t number) const {
  const std::atomic_ref<std::uint64_t> over{boxes_[here_].attention.local()->value};
  while (over.load(std::memory_order_acquire) < number) situ::progress();
}

void baton::ask_for_attention() {
  if (!has_raw_channels_) return;
  attention_ = word(baton_word::attentions) + 1;
  set_word(baton_word::attentions, attention_);
  for (std::uint32_t p = 0; p < boxes_.size(); ++p)
    if (p != here_)
      send(p, {.what = baton_message::what_of(baton_step::attend), .header = static_cast<std::uint32_t>(attention_)});
}

void baton::end_attention() {
  if (!has_raw_channels_) return;
  for (std::uint32_t p = 0; p < boxes_.size(); ++p)
    if (p != here_) situ::send_signal(boxes_[p].attention, attention_);
}

void baton::end(bool by_error) {
  for (std::uint32_t p = 0; p < boxes_.size(); ++p)
    if (p != here_) send(p, {.header = by_error ? 1U : 0U});
}

}  // namespace squeak
