// The interpreter with others at other places: when it passes the baton, and how it goes on when it gets it.
//
// A method runs at its receiver's home, a block at its context's home, and so does a context that gets an answer. A receiver
// that is a SmallInteger is as good everywhere; so is one that says that it gets no baton, and, with one heap of
// read-mostly objects, each of these. Methods are looked up, and primitives run, before the baton goes,
// by the sender's place. The main place does all that belongs to a place: files, processes, timers, collections that the
// image asks for.
#include "interpreter.h"
#include "named_primitives.h"

#include <situ/base/error.h>

#include <string>

namespace squeak {
namespace {

// Collections, processes and their timers, snapshots and the clock, what the image is told of its surroundings.
bool is_of_main_place(std::uint32_t primitive) {
  switch (primitive) {
    case 85 ... 88:
    case 97:
    case 112:
    case 113:
    case 115:
    case 121:
    case 124:
    case 125:
    case 129:
    case 130:
    case 131:
    case 135 ... 137:
    case 142:
    case 149:
    case 230:
    case 605:
    case guarded_entry: return true;
    default: return false;
  }
}

}  // namespace

bool interpreter::is_for_main(oop method, std::uint32_t primitive) const {
  return primitive == 117 ? named_primitives::uses_place(memory_, method) : is_of_main_place(primitive);
}

void interpreter::pass(std::uint32_t to, baton_step step, oop context, oop subject, std::uint32_t arguments,
                       std::uint32_t depth) {
  baton_message& message = baton_->next();
  message.what = baton_message::what_of(step, arguments, depth);
  message.context = context;
  message.subject = subject;
  message.reclaimable = static_cast<std::uint32_t>(reclaimable_);
  message.epoch = epoch_;
  message.hash_state = memory_.hash_state();
  is_active_ = false;
  baton_->pass(to);
}

std::uint32_t interpreter::depth_without(int arguments) {
  sp_ -= arguments + 1;
  const auto depth = static_cast<std::int32_t>(sp_ - frame_->body()) - 5;
  frame_->body()[2] = word_of(depth);
  return static_cast<std::uint32_t>(depth);
}

void interpreter::pass_activation(std::uint32_t to, oop method, std::uint32_t header, int arguments) {
  const std::uint32_t depth = depth_without(arguments);
  baton_message& message = baton_->next();
  message.header = header;
  for (int i = 0; i < baton_message::most_values && i <= arguments; ++i)
    message.values[static_cast<std::size_t>(i)] = sp_[1 + i];
  pass(to, baton_step::activate, context_, method, static_cast<std::uint32_t>(arguments), depth);
}

bool interpreter::passes_block_to(std::uint32_t to, int arguments) {
  const oop block = sp_[-arguments];
  if (memory_.field(block, 3) != word_of(arguments)) return false;
  store_frame();
  const std::uint32_t depth = depth_without(arguments);
  baton_message& message = baton_->next();
  for (int i = 0; i < baton_message::most_values && i < arguments; ++i)
    message.values[static_cast<std::size_t>(i)] = sp_[2 + i];
  pass(to, baton_step::value, context_, block, static_cast<std::uint32_t>(arguments), depth);
  return true;
}

bool interpreter::passes_context() {
  const std::uint32_t to = baton_->home_of(memory_.at(context_));
  if (to == baton_->here()) return false;
  store_frame();
  pass(to, baton_step::go_on, context_, 0);
  return true;
}

void interpreter::pass_primitive(oop method, std::uint32_t primitive, int arguments) {
  store_frame();
  baton_->next().header = primitive;
  pass(0, baton_step::primitive, context_, method, static_cast<std::uint32_t>(arguments));
}

// Its reason goes along as a String, if there is room for one.
void interpreter::pass_failure() {
  oop reason = 0;
  try {
    reason = memory_.make_string(failure_.reason);
  } catch (const situ::error& full) {
    if (full.code() != situ::errc::out_of_memory) throw;
  }
  baton_->next().header = found_no_room_ ? 1 : 0;
  found_no_room_ = false;
  pass(0, baton_step::failed, context_, reason);
}

bool interpreter::activate_or_pass(oop method, std::uint32_t header, int arguments) {
  if (baton_ != nullptr) {
    const std::uint32_t to = place_for(stack(arguments));
    if (to != baton_->here()) {
      pass_activation(to, method, header, arguments);
      return false;
    }
  }
  activate(method, method_header{header}, arguments);
  return true;
}

run_end interpreter::wait_for_baton() {
  while (true)
    if (const std::optional<run_end> end = go_on_with(baton_->receive(memory_))) return *end;
}

std::optional<run_end> interpreter::go_on_with(const baton_message& message) {
  if (epoch_ != message.epoch && message.step() != baton_step::end) {
    forget_all();
    epoch_ = message.epoch;
    const auto specials = static_cast<oop>(baton_->word(baton_word::specials));
    if (specials != 0 && specials != memory_.known().specials) memory_.set_specials(specials);
  }
  reclaimable_ = message.reclaimable;
  memory_.set_hash_state(message.hash_state);
  context_ = message.context;  // if there is no room for another one
  switch (message.step()) {
    case baton_step::activate: {
      const int arguments = message.arguments();
      const bool has_all = arguments < baton_message::most_values;
      activate_above(message.context,
                     has_all ? message.values.data() : memory_.at(message.context)->body() + 6 + message.depth(),
                     message.subject, method_header{message.header}, arguments);
      break;
    }
    case baton_step::value: {
      const int arguments = message.arguments();
      const bool has_all = arguments <= baton_message::most_values;
      const std::uint32_t* const from =
          has_all ? message.values.data() : memory_.at(message.context)->body() + 7 + message.depth();
      std::uint32_t* const body = memory_.at_to_activate(message.subject)->body();
      for (int i = 0; i < arguments; ++i) body[6 + i] = from[i];
      body[0] = message.context;
      body[1] = body[4];
      body[2] = word_of(arguments);
      load_frame(message.subject);
      if (options_.counts) ++counts_.sends;
      break;
    }
    case baton_step::answer:
      load_frame(message.context);
      is_active_ = true;
      *++sp_ = message.subject;
      if (is_main() && is_answered()) return run_end::answered;
      break;
    case baton_step::go_on: load_frame(message.context); break;
    case baton_step::primitive: return run_primitive_of_others(message);
    case baton_step::end:
      if (message.header != 0) throw baton_abandoned{};
      return run_end::job_done;
    default:
      found_no_room_ |= message.header != 0;
      load_frame(message.context);
      is_active_ = true;
      return fail(message.subject != 0 ? std::string{text_of(*memory_.at(message.subject))}
                                       : std::string{"space is low: no place has room for an object"});
  }
  is_active_ = true;
  return run_end::not_yet;
}

std::optional<run_end> interpreter::run_primitive_of_others(const baton_message& message) {
  const oop method = message.subject;
  const int arguments = message.arguments();
  load_frame(message.context);
  is_active_ = true;
  primitive_method_ = method;
  if (!run_primitive(message.header, arguments)) {
    if (has_failed_) return run_end::failed;
    if (!activate_or_pass(method, memory_.field(method, 0), arguments)) return std::nullopt;
    return run_end::not_yet;
  }
  store_frame();
  if (until_service_ < 0 || memory_.made_bytes() > bytes_between_services) service();
  if (has_failed_) return run_end::failed;
  if (wants_quit_) return run_end::quit;
  if (passes_context()) return std::nullopt;
  return run_end::not_yet;
}

void interpreter::change_specials(oop specials) {
  memory_.set_specials(specials);
  if (baton_ != nullptr) baton_->set_word(baton_word::specials, specials);
  flush_method_cache();
}

std::uint32_t interpreter::wake_up_at() const {
  return baton_ == nullptr ? wake_up_at_ : static_cast<std::uint32_t>(baton_->word(baton_word::wake_up_at));
}
void interpreter::set_wake_up_at(std::uint32_t at) {
  wake_up_at_ = at;
  if (baton_ != nullptr) baton_->set_word(baton_word::wake_up_at, at);
}

interpreter::low_space_state interpreter::low_space() const {
  if (baton_ == nullptr) return low_space_;
  const std::uint64_t word = baton_->word(baton_word::low_space);
  return {word >> 1, (word & 1) != 0};
}
void interpreter::set_low_space(low_space_state state) {
  low_space_ = state;
  if (baton_ != nullptr) baton_->set_word(baton_word::low_space, state.bytes << 1 | (state.was_low ? 1U : 0U));
}

}  // namespace squeak
