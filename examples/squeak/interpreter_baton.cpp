// The interpreter with others at other places: when it passes the baton, and how it goes on when it gets it.
//
// A method runs where its receiver lives, a block where its context does, and so do those that get an answer. A receiver
// that is a SmallInteger is as good everywhere; so is one that says that it gets no baton, and, with one heap of
// read-mostly objects, each of these. Methods are looked up, and primitives run, before the baton goes: where the
// message was sent. What belongs to a place (files, processes, timers, collections that the image asks for) is done at
// the main one.
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

std::uint32_t interpreter::place_for(oop receiver) const {
  if (is_integer(receiver)) return baton_->here();
  const std::uint64_t entry = memory_.entry(receiver);
  const object* const at = situ::detail::object_of_entry(entry);
  if ((entry & situ::detail::entry_is_read_mostly) != 0 &&
      (baton_->has_one_heap() || !memory_.layouts().gets_baton(*at)))
    return baton_->here();
  return baton_->home_of(at);
}

void interpreter::pass(std::uint32_t to, baton_message&& message) {
  message.reclaimable = static_cast<std::uint32_t>(reclaimable_);
  message.epoch = epoch_;
  message.wake_up_at = wake_up_at_;
  message.hash_state = memory_.hash_state();
  message.low_space = static_cast<std::uint32_t>(low_space_bytes_ >> 10 << 1) | (space_was_low_ ? 1U : 0U);
  // What this place had is no root any more; the context may be used again there.
  set_frame(0, nullptr, 0, nullptr);
  method_ = receiver_ = 0;
  baton_->pass(to, message);
}

std::uint16_t interpreter::depth_without(int arguments) {
  sp_ -= arguments + 1;
  store_frame();
  return static_cast<std::uint16_t>(sp_ - frame_->body() - 5);
}

bool interpreter::passes_activation(oop method, std::uint32_t header, int arguments) {
  const std::uint32_t to = place_for(sp_[-arguments]);
  if (to == baton_->here()) return false;
  const std::uint16_t depth = depth_without(arguments);
  pass(to, {.step = baton_step::activate,
            .arguments = static_cast<std::uint8_t>(arguments),
            .depth = depth,
            .context = context_,
            .subject = method,
            .header = header});
  return true;
}

bool interpreter::passes_block(int arguments) {
  const oop block = sp_[-arguments];
  const std::uint32_t to = baton_->home_of(memory_.at(block));
  if (to == baton_->here() || memory_.field(block, 3) != word_of(arguments)) return false;
  const std::uint16_t depth = depth_without(arguments);
  pass(to, {.step = baton_step::value,
            .arguments = static_cast<std::uint8_t>(arguments),
            .depth = depth,
            .context = context_,
            .subject = block});
  return true;
}

bool interpreter::passes_answer(oop context, oop value) {
  const std::uint32_t to = baton_->home_of(memory_.at(context));
  if (to == baton_->here()) return false;
  pass(to, {.step = baton_step::answer, .context = context, .subject = value});
  return true;
}

bool interpreter::passes_context() {
  const std::uint32_t to = baton_->home_of(memory_.at(context_));
  if (to == baton_->here()) return false;
  store_frame();
  pass(to, {.step = baton_step::go_on, .context = context_});
  return true;
}

bool interpreter::passes_primitive(oop method, std::uint32_t primitive, int arguments) {
  if (is_main() || !is_for_main(method, primitive)) return false;
  store_frame();
  pass(0, {.step = baton_step::primitive,
           .arguments = static_cast<std::uint8_t>(arguments),
           .context = context_,
           .subject = method,
           .header = primitive});
  return true;
}

// Its reason goes along as a String, if there is room for one.
void interpreter::pass_failure() {
  oop reason = 0;
  try {
    reason = memory_.make_string(failure_.reason);
  } catch (const situ::error& full) {
    if (full.code() != situ::errc::out_of_memory) throw;
  }
  pass(0, {.step = baton_step::failed, .context = context_, .subject = reason});
}

run_end interpreter::activate_or_pass(oop method, std::uint32_t header, int arguments) {
  if (baton_ != nullptr && passes_activation(method, header, arguments)) return run_end::passed;
  activate(method, method_header{header}, arguments);
  return run_loop();
}

run_end interpreter::go_on_with(const baton_message& message) {
  if (epoch_ != message.epoch) {
    forget_all();
    epoch_ = message.epoch;
  }
  reclaimable_ = message.reclaimable;
  wake_up_at_ = message.wake_up_at;
  memory_.set_hash_state(message.hash_state);
  low_space_bytes_ = std::uint64_t{message.low_space >> 1} << 10;
  space_was_low_ = (message.low_space & 1) != 0;
  switch (message.step) {
    case baton_step::activate: {
      const std::uint32_t* const from = memory_.at(message.context)->body() + 6 + message.depth;
      activate_above(message.context, from, message.subject, method_header{message.header}, message.arguments);
      break;
    }
    case baton_step::value: {
      const std::uint32_t* const from = memory_.at(message.context)->body() + 7 + message.depth;
      std::uint32_t* const body = memory_.at_to_activate(message.subject)->body();
      for (int i = 0; i < message.arguments; ++i) body[6 + i] = from[i];
      body[0] = message.context;
      body[1] = body[4];
      body[2] = word_of(message.arguments);
      load_frame(message.subject);
      if (options_.counts) ++counts_.sends;
      break;
    }
    case baton_step::answer:
      load_frame(message.context);
      *++sp_ = message.subject;
      if (is_main() && is_answered()) return run_end::answered;
      break;
    case baton_step::go_on: load_frame(message.context); break;
    case baton_step::primitive: return run_primitive_of_others(message);
    default:
      load_frame(message.context);
      return fail(message.subject != 0 ? std::string{text_of(*memory_.at(message.subject))}
                                       : std::string{"space is low: no place has room for an object"});
  }
  return run_loop();
}

run_end interpreter::run_primitive_of_others(const baton_message& message) {
  load_frame(message.context);
  primitive_method_ = message.subject;
  if (!run_primitive(message.header, message.arguments)) {
    if (has_failed_) return run_end::failed;
    return activate_or_pass(message.subject, memory_.field(message.subject, 0), message.arguments);
  }
  store_frame();
  if (until_service_ < 0 || memory_.made_bytes() > bytes_between_services) service();
  if (has_failed_) return run_end::failed;
  if (wants_quit_) return run_end::quit;
  return passes_context() ? run_end::passed : run_loop();
}

}  // namespace squeak
