#include "interpreter.h"

#include "image_names.h"
#include "image_objects.h"
#include "named_primitives.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace squeak {

interpreter::interpreter(object_memory& memory, interpreter_options options, baton* of_all)
    : memory_{memory},
      options_{std::move(options)},
      baton_{of_all},
      named_{std::make_unique<named_primitives>()},
      roots_number_{memory.thread().add_roots([this](const auto& visit) { visit_roots(visit); })} {
  is_active_ = is_main();
  if (is_active_) load_frame(memory_.field(active_process(), 1));
}

interpreter::~interpreter() { memory_.thread().remove_roots(roots_number_); }

void interpreter::visit_roots(const situ::heap_thread::root_visitor& visit) {
  memory_.visit_roots(visit);
  const auto visit_all = [&](std::initializer_list<oop*> all) {
    for (oop* const each : all)
      if (*each != 0 && !is_integer(*each)) visit(*each);
  };
  visit_all({&base_process_, &base_context_, &answer_, &primitive_method_, &control_selector_});
  // If another place has the baton, these may be in use again there.
  if (is_active_) visit_all({&context_, &home_context_, &method_, &receiver_});
  for (guard& each : guards_) visit(each.method);
}

run_end interpreter::send(oop receiver, oop selector, const std::vector<oop>& arguments) {
  const int count = static_cast<int>(arguments.size());
  base_process_ = active_process();
  base_context_ = context_;
  base_depth_ = static_cast<std::int32_t>(sp_ - frame_->body()) - 5;
  failure_ = {};
  if (6 + base_depth_ + count + 1 > static_cast<std::int32_t>(frame_->words))
    return fail(fmt::format("the active context has no room for {} arguments", count));
  const method_cache::entry* const found = find_method(selector, memory_.class_of(receiver));
  if (found == nullptr)
    return fail(fmt::format("{} does not understand #{}", name_of_class(memory_, memory_.class_of(receiver)),
                            name_of_symbol(memory_, selector)));
  if (method_header{found->header}.arguments() != arguments.size())
    return fail(fmt::format("#{} takes {} arguments", name_of_symbol(memory_, selector),
                            method_header{found->header}.arguments()));
  push(receiver);
  for (const oop each : arguments) push(each);
  ++counts_.sends;
  has_failed_ = false;
  wants_quit_ = false;
  run_end end = run_end::answered;
  primitive_method_ = found->method;
  store_frame();
  if (found->primitive == 0 || !run_primitive(found->primitive, count)) {
    reclaimable_ = 0;
    end = has_failed_ ? run_end::failed : run([&] { return activate_or_pass(found->method, found->header, count); });
  } else if (wants_quit_) {
    end = run_end::quit;
  } else if (!is_answered()) {  // the primitive has changed the process
    end = run([&] { return baton_ == nullptr || !passes_context(); });
  }
  answer_ = end == run_end::answered ? *sp_ : memory_.known().nil;
  return_to_base();
  if (std::exchange(found_no_room_, false)) collect();  // what the evaluation has made is dead
  return end;
}

template <class F>
run_end interpreter::run(const F& start) {
  has_failed_ = false;
  wants_quit_ = false;
  return with_low_space([&] {
    if (start()) return run_loop();
    const run_end end = wait_for_baton();
    return end == run_end::not_yet ? run_loop() : end;
  });
}

template <class F>
run_end interpreter::with_low_space(const F& step) {
  try {
    return step();
  } catch (const situ::error& full) {
    if (full.code() != situ::errc::out_of_memory) throw;
    if (!is_active_) load_frame(context_);
    is_active_ = true;
    found_no_room_ = true;
    return fail(std::string{full.what()});
  }
}

run_end interpreter::run_loop() {
  if (baton_ != nullptr) return options_.counts ? loop<true, true>() : loop<false, true>();
  return options_.counts ? loop<true, false>() : loop<false, false>();
}

void interpreter::help() {
  run_end end = run_end::failed;
  while (end != run_end::job_done) {
    has_failed_ = false;
    end = with_low_space([&] {
      const run_end begin = wait_for_baton();
      return begin == run_end::not_yet ? run_loop() : begin;
    });
    if (end == run_end::failed) pass_failure();
  }
}

run_counts interpreter::counts() const {
  run_counts sum = counts_;
  if (baton_ != nullptr) sum.batons = baton_->passes();
  return sum;
}

void interpreter::reset_counts() {
  counts_ = {};
  if (baton_ != nullptr) baton_->reset_passes();
}

void interpreter::return_to_base() {
  reclaimable_ = 0;
  if (active_process() != base_process_) end_active_process();
  load_frame(base_context_);
  sp_ = base_sp();
  store_frame();
}

void interpreter::fail_on_entry(oop method, reason_of reason) {
  guards_.push_back({method, std::move(reason)});
  flush_method_cache();
}

std::vector<oop> interpreter::guarded_methods() const {
  std::vector<oop> all;
  for (const guard& each : guards_) all.push_back(each.method);
  return all;
}

method_cache::entry* interpreter::find_method(oop selector, oop of_class) {
  method_cache::entry& entry = cache_.at(selector, of_class);
  if (entry.selector == selector && entry.of_class == of_class) return &entry;
  const oop method = look_up(memory_, of_class, selector);
  if (method == 0) return nullptr;
  const std::uint32_t header = memory_.field(method, 0);
  const bool is_guarded = std::ranges::any_of(guards_, [&](const guard& each) { return each.method == method; });
  cache_.fill(entry,
              {selector, of_class, method, header, is_guarded ? guarded_entry : method_header{header}.primitive()});
  return &entry;
}

oop look_up(const object_memory& memory, oop of_class, oop selector) {
  const oop nil = memory.known().nil;
  for (oop each = of_class; each != nil; each = memory.field(each, 0)) {
    const object& dictionary = *memory.at(memory.field(each, 1));
    const std::uint32_t mask = dictionary.words - 2 - 1;
    const std::uint32_t* const selectors = dictionary.body() + 2;
    std::uint32_t at = hash_of(*memory.at(selector)) & mask;
    for (std::uint32_t tries = 0; tries <= mask; ++tries, at = (at + 1) & mask) {
      if (selectors[at] == selector) return memory.field(dictionary.body()[1], at);
      if (selectors[at] == nil) break;
    }
  }
  return 0;
}

bool interpreter::activate_block(int arguments) {
  const oop block = sp_[-arguments];
  object* const made = memory_.at_to_activate(block);
  std::uint32_t* const body = made->body();
  if (body[3] != word_of(arguments)) return false;
  for (int i = 0; i < arguments; ++i) body[6 + i] = sp_[1 - arguments + i];
  sp_ -= arguments + 1;
  store_frame();
  body[0] = context_;
  body[1] = body[4];
  body[2] = word_of(arguments);
  load_frame(block);
  return true;
}

void interpreter::make_message(oop selector, int arguments) {
  const oop of_class = memory_.known().class_message;
  object* const array = memory_.at(memory_.make_array(static_cast<std::uint32_t>(arguments)));
  for (int i = 0; i < arguments; ++i) array->body()[i] = sp_[1 - arguments + i];
  object* const message =
      memory_.allocate(of_class, memory_.named_fields(of_class), format::fixed, memory_.known().nil);
  message->body()[0] = selector;
  message->body()[1] = array->self;
  sp_ -= arguments;
  push(message->self);
}

void interpreter::find_addresses() {
  const std::ptrdiff_t depth = sp_ - frame_->body(), at = ip_ - bytes_of(*code_);
  frame_ = memory_.at(context_);
  home_ = memory_.at(home_context_);
  code_ = memory_.at(method_);
  sp_ = frame_->body() + depth;
  ip_ = bytes_of(*code_) + at;
  memory_.know_addresses();
}

oop interpreter::unwind_to_sender() {
  const oop nil = memory_.known().nil;
  const oop target = home_->body()[0];
  if (target == nil || !is_integer(memory_.field(target, 1))) return nil;
  if (frame_ == home_) {
    frame_->body()[0] = nil, frame_->body()[1] = nil;
    return target;
  }
  reclaimable_ = 0;
  for (oop each = context_; each != target; each = memory_.field(each, 0))
    if (each == nil) return nil;
  for (oop each = context_; each != target;) {
    const oop sender = memory_.field(each, 0);
    memory_.store(each, 0, nil);
    memory_.store(each, 1, nil);
    each = sender;
  }
  return target;
}

void interpreter::forget_contexts() {
  reclaimable_ = 0;
  free_contexts_[0] = free_contexts_[1] = nullptr;
}

void interpreter::forget_all() {
  forget_contexts();
  flush_method_cache();
  class_of_instances_ = 0;
}

oop interpreter::next_instance(oop of_class, oop after) {
  if (class_of_instances_ != of_class || after == 0) {
    store_frame();
    instances_.clear();
    for (const oop each : reachable_objects(memory_, {context_}))
      if (memory_.at(each)->type == of_class) instances_.push_back(each);
    std::ranges::sort(instances_);
    class_of_instances_ = of_class;
  }
  const auto found = std::ranges::upper_bound(instances_, after);
  return found == instances_.end() ? 0 : *found;
}

bool interpreter::run_control_primitive(std::uint32_t number, int arguments) {
  if (number == 83) {  // perform: selector with: ...
    if (arguments < 1) return false;
    const oop selector = sp_[1 - arguments];
    const method_cache::entry* const found =
        is_integer(selector) ? nullptr : find_method(selector, memory_.class_of(sp_[-arguments]));
    if (found == nullptr || method_header{found->header}.arguments() + 1 != static_cast<std::uint32_t>(arguments))
      return false;
    std::copy(sp_ + 2 - arguments, sp_ + 1, sp_ + 1 - arguments);
    --sp_;
    control_selector_ = selector, control_arguments_ = arguments - 1;
    return true;
  }
  // perform: selector withArguments: array, valueWithArguments: array
  if (!memory_.has_class(*sp_, memory_.known().class_array)) return false;
  const object& array = *memory_.at(*sp_);
  const int below = number == 84 ? 2 : 1;
  const auto room = static_cast<std::uint32_t>(frame_->body() + frame_->words - sp_);
  if (array.words > room || arguments != below) return false;
  if (number == 84) {
    control_selector_ = sp_[-1];
    const method_cache::entry* const found =
        is_integer(control_selector_) ? nullptr : find_method(control_selector_, memory_.class_of(sp_[-2]));
    if (found == nullptr || method_header{found->header}.arguments() != array.words) return false;
  } else if (!memory_.has_class(sp_[-1], memory_.known().class_block_context) ||
             memory_.field(sp_[-1], 3) != word_of(static_cast<std::int32_t>(array.words))) {
    return false;
  }
  sp_ -= below;
  for (std::uint32_t i = 0; i < array.words; ++i) push(array.body()[i]);
  control_arguments_ = static_cast<int>(array.words);
  return true;
}

void interpreter::exchange(const std::vector<oop>& from, const std::vector<oop>& to) {
  store_frame();
  forget_all();
  constexpr std::uint16_t hash_bits = 0xfff0;  // a hash belongs to the reference
  memory_.outside([&] {
    for (std::size_t i = 0; i < from.size(); ++i)
      memory_.thread().exchange(situ::ref<>{from[i]}, situ::ref<>{to[i]}, hash_bits);
  });
  load_frame(context_);
}

void interpreter::collect() {
  store_frame();
  forget_all();
  memory_.outside([&] { memory_.thread().collect(); });
  memory_.reset_made_bytes();
  ++counts_.collections;
  load_frame(context_);
}

std::uint64_t interpreter::bytes_free() const {
  const std::uint64_t held = memory_.heap().bytes_held();
  return held < options_.most_bytes ? options_.most_bytes - held : 0;
}

void interpreter::service() {
  until_service_ = sends_between_services;
  store_frame();
  memory_.reset_made_bytes();
  if (memory_.is_due()) {
    forget_all();
    memory_.outside([&] { memory_.thread().safe_point(); });
    ++counts_.collections;
    load_frame(context_);
    check_space();
  } else {
    forget_contexts();
    memory_.poll();
    load_frame(context_);
  }
  if (!has_failed_ && wake_up_at() != 0) wake_up_if_due();
}

void interpreter::check_space() {
  low_space_state state = low_space();
  if (bytes_free() > state.bytes) {
    if (state.was_low) set_low_space({state.bytes, false});
    return;
  }
  if (!state.was_low) collect();
  if (bytes_free() > state.bytes) return;
  const oop semaphore = memory_.special(special::low_space_semaphore);
  if (bytes_free() != 0 && !state.was_low && memory_.has_class(semaphore, memory_.known().class_semaphore)) {
    set_low_space({state.bytes, true});
    signal(semaphore);
  } else if (bytes_free() == 0) {
    (void)fail(fmt::format("space is low: the objects take {} MiB", memory_.heap().bytes_held() >> 20));
  }
}

run_end interpreter::fail(std::string reason) { return fail_at(std::move(reason), context_); }

run_end interpreter::fail_at(std::string reason, oop context) {
  has_failed_ = true;
  request_service();
  store_frame();
  failure_ = {std::move(reason), stack_lines(memory_, context)};
  return run_end::failed;
}

bool interpreter::fail_on_guarded_entry(int arguments) {
  const auto guard = std::ranges::find(guards_, primitive_method_, &guard::method);
  std::vector<oop> all;
  for (int i = arguments; i >= 0; --i) all.push_back(stack(i));
  const entry_failure why = guard->reason(*this, all);
  (void)fail_at(why.reason, memory_.has_pointers(why.context) ? why.context : context_);
  return false;
}

}  // namespace squeak
