#include "model/message_units/scripted_element.h"

#include <fmt/format.h>

#include <algorithm>

namespace situ::model {

std::vector<std::uint32_t> request_message::words() const {
  std::vector<std::uint32_t> all = {
      message_kind::word(handler, static_cast<unsigned>(arguments.size()), is_long, is_reply), to, at, bytes};
  if (is_long) all.push_back(from);
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

void scripted_element::send(request_message message, cycle when) {
  waiting_[message.is_reply ? 1 : 0].push_back({when, message.words()});
}

bool scripted_element::step(cycle now, node_ports& node) {
  bool changed = false;
  for (unsigned of = 0; of < lanes; ++of) {
    changed |= write(of, now, node);
    if (!node.fsls.sent[of].has_word(now)) continue;
    (void)node.fsls.sent[of].take(now);
    ++sent_;
    changed = true;
  }
  if (!holds_tokens_ && !tokens_.empty() && node.fsls.tokens.has_room(now)) {
    node.fsls.tokens.put({tokens_.front(), false}, now);
    tokens_.pop_front();
    changed = true;
  }
  if (node.fsls.calls.has_word(now)) {
    take_word(node.fsls.calls.take(now).word, now);
    changed = true;
  }
  return changed;
}

bool scripted_element::write(unsigned of, cycle now, node_ports& node) {
  if (waiting_[of].empty() || waiting_[of].front().when > now || !node.fsls.requests[of].has_room(now)) return false;
  const std::vector<std::uint32_t>& words = waiting_[of].front().words;
  node.fsls.requests[of].put({words[written_[of]], false}, now);
  if (++written_[of] < words.size()) return true;
  waiting_[of].pop_front();
  written_[of] = 0;
  return true;
}

void scripted_element::take_word(std::uint32_t word, cycle now) {
  switch (call_words_) {
    case 0: call_ = {.when = 0, .kind = word, .token = 0, .at = 0, .bytes = 0, .arguments = {}}; break;
    case 1: call_.token = word; break;
    case 2: call_.at = word; break;
    case 3: call_.bytes = word; break;
    default: call_.arguments.push_back(word); break;
  }
  if (++call_words_ < 4 + message_kind::arguments(call_.kind)) return;
  call_words_ = 0;
  call_.when = now;
  finish_call();
}

// The token goes back with the reply, or by FSL 2 if there is none.
void scripted_element::finish_call() {
  calls_.push_back(call_);
  bool is_answered = false;
  if (handles_)
    for (request_message& reply : handles_(call_)) {
      if (reply.is_reply) reply.to |= token_word::is_done;
      is_answered = is_answered || reply.is_reply;
      send(std::move(reply));
    }
  if ((call_.kind & message_kind::is_reply) == 0 && !is_answered) tokens_.push_back(call_.token);
}

cycle scripted_element::wakes_at() const noexcept {
  cycle first = never;
  for (const auto& all : waiting_)
    if (!all.empty()) first = std::min(first, all.front().when);
  return first;
}

bool scripted_element::is_done() const noexcept { return waiting_[0].empty() && waiting_[1].empty(); }

std::string scripted_element::where() const {
  return fmt::format("{} requests and {} replies are not written, {} calls have come", waiting_[0].size(),
                     waiting_[1].size(), calls_.size());
}

}  // namespace situ::model
