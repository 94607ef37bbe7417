// The interpreter of Squeak's bytecodes, as of image format 6502: contexts are objects, blocks are BlockContexts.
//
// All state of one place's interpreter is in one object. While loop() runs, the registers of the active context are in
// its variables; everything else (primitives, safe points, process switches) sees them in `sp_`, `ip_` and the frame.
// Two steps matter at a safe point, where addresses change: store_frame() writes the registers into the active
// context, load_frame() reads them again.
//
// With several places, each has an interpreter, and one at a time runs: baton.h, interpreter_baton.cpp.
//
// Contexts are used again after a return if nothing can refer to them: `reclaimable_` counts the activations since a
// reference to a context got out (a block was made, thisContext pushed, the process changed, a collection was done).
#pragma once

#include "baton.h"
#include "method_cache.h"
#include "object_memory.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace squeak {

struct interpreter_options {
  std::uint64_t most_bytes = std::uint64_t{1} << 30;  // that objects may take: then space is low
  std::string image_path;                             // what the image is told of its file's name
  std::string vm_path;
  std::vector<std::string> attributes;   // what the image is told of its arguments, from number 2 on
  std::optional<std::uint32_t> seconds;  // since 1901, local time: the image's clock, if it is to stand still
  bool counts = false;                   // whether bytecodes and primitives are counted
};

// Counts since the last call of reset_counts().
struct run_counts {
  std::uint64_t bytecodes = 0;
  std::uint64_t sends = 0;       // of messages, and evaluations of blocks
  std::uint64_t primitives = 0;  // calls, also those that failed
  std::uint64_t collections = 0;
  std::uint64_t batons = 0;  // times that this place has passed it
};

// Why an evaluation has no answer.
struct run_failure {
  std::string reason;
  std::vector<std::string> stack;  // innermost first: "Class>>selector"
};

// not_yet: this place goes on. job_done: the main place has ended.
enum class run_end : std::uint8_t { answered, failed, quit, not_yet, job_done };

class named_primitives;

// Sends and bytecodes between two services: some 0.2 ms.
inline constexpr std::int64_t sends_between_services = 10'000;
// Bytes that are made between two services, at most about.
inline constexpr std::uint64_t bytes_between_services = std::uint64_t{1} << 20;

class interpreter {
 public:
  // pre: memory holds an image (load_image). Begins in the active process's context. of_all: with the interpreters of
  // other places; null if there are none.
  interpreter(object_memory& memory, interpreter_options options, baton* of_all = nullptr);
  ~interpreter();
  interpreter(const interpreter&) = delete;
  interpreter& operator=(const interpreter&) = delete;

  // Sends a message from the context that is active, and runs until it is answered. A failure leaves the interpreter as
  // it was before. answered: the answer is in answer().
  run_end send(oop receiver, oop selector, const std::vector<oop>& arguments);
  [[nodiscard]] oop answer() const { return answer_; }
  [[nodiscard]] const run_failure& failure() const { return failure_; }

  // Runs whenever this place has the baton, until the main place ends the job. For all places but the main one.
  void help();

  [[nodiscard]] run_counts counts() const;
  void reset_counts();
  void set_counts(bool counts) { options_.counts = counts; }

  // Entering this method is a failure. The function gets the receiver and the arguments, and returns why, and in which
  // context.
  struct entry_failure {
    std::string reason;
    oop context;
  };
  using reason_of = std::function<entry_failure(interpreter&, const std::vector<oop>&)>;
  void fail_on_entry(oop method, reason_of reason);
  [[nodiscard]] std::vector<oop> guarded_methods() const;

  // --- for primitives; the registers are in the members
  object_memory& memory() { return memory_; }
  [[nodiscard]] const interpreter_options& options() const { return options_; }
  [[nodiscard]] oop stack(int down = 0) const { return sp_[-down]; }
  // Puts the answer in the place of the receiver and its arguments.
  void answer_with(int arguments, oop value) {
    refresh_addresses();
    sp_ -= arguments;
    *sp_ = value;
  }
  void push(oop value) { *++sp_ = value; }
  [[nodiscard]] oop context() const { return context_; }
  [[nodiscard]] oop method() const { return method_; }
  // The method whose primitive runs.
  [[nodiscard]] oop primitive_method() const { return primitive_method_; }
  [[nodiscard]] named_primitives& named() { return *named_; }
  void store_frame() {
    refresh_addresses();
    frame_->body()[1] = word_of(static_cast<std::int32_t>(ip_ - bytes_of(*code_)) + 1);
    frame_->body()[2] = word_of(static_cast<std::int32_t>(sp_ - frame_->body()) - 5);
  }
  // Finds the active context and its method again, if a barrier has waited for a move.
  void refresh_addresses() {
    if (memory_.addresses_changed()) [[unlikely]]
      find_addresses();
  }
  void load_frame(oop context);
  // Returns the instance of a class with the smallest reference above `after`; 0: there is none. Instances that were
  // made since the first call for this class may be left out, until a collection.
  [[nodiscard]] oop next_instance(oop of_class, oop after);
  // For primitives that change what addresses mean: become: and collections.
  void flush_method_cache() {
    cache_.flush();
    ++epoch_;
  }
  // Has all places know other special objects.
  void change_specials(oop specials);
  // Exchanges the objects of each two references; their hashes stay.
  void exchange(const std::vector<oop>& from, const std::vector<oop>& to);
  void collect();
  // Calls f() outside the heap's section: objects may move.
  template <class F>
  void outside(const F& f) {
    store_frame();
    memory_.outside(f);
    load_frame(context_);
  }
  void quit() {
    wants_quit_ = true;
    request_service();
  }
  // Has loop() call service() soon.
  void request_service() { until_service_ = -1; }
  [[nodiscard]] std::uint64_t bytes_free() const;
  // Returns whether there is room for an object. Small ones always: service() finds out that space is low.
  [[nodiscard]] bool has_room(std::uint64_t bytes) const {
    return bytes < bytes_between_services || bytes < bytes_free();
  }
  void set_low_space_threshold(std::uint64_t bytes) { set_low_space({bytes, low_space().was_low}); }

  // --- processes (scheduler.cpp)
  // Has the active process refer to its context, as a process in a snapshot does.
  void store_active_process();
  [[nodiscard]] oop active_process() const;
  void signal(oop semaphore);
  void wait(oop semaphore);
  void resume(oop process);
  void suspend_active();
  // No process has something to do: waits until a timer, and fails if none is set.
  void idle();
  void set_wake_up(oop semaphore, std::uint32_t milliseconds);
  [[nodiscard]] static std::uint32_t milliseconds();

  // Makes all objects of all places read-mostly, but contexts; returns how many. Outside the heap's section.
  std::function<std::uint64_t()> make_all_read_mostly;
  // Writes the snapshot that the image asks for; returns whether that succeeded.
  std::function<bool(const std::string& path)> write_snapshot;

 private:
  // Places: whether there are others.
  template <bool Counts, bool Places>
  run_end loop();
  // Runs from the active context on.
  run_end run_loop();
  // Begins by start(), and runs until this place or another one has ended the evaluation. start() returns whether this
  // place goes on; otherwise another one has the baton.
  template <class F>
  run_end run(const F& start);
  // Calls step(). If that finds no room for an object, the evaluation fails: in the active context, or in the one that
  // came with the baton.
  template <class F>
  run_end with_low_space(const F& step);
  // Returns whether the primitive succeeded: the answer is on the stack, in another context perhaps.
  bool run_primitive(std::uint32_t number, int arguments);
  bool run_control_primitive(std::uint32_t number, int arguments);

  // The answer of a method that has a primitive from 256 to 519: the receiver, a constant, a field.
  [[nodiscard]] oop quick_answer(std::uint32_t primitive, oop receiver) const;
  // The cache's entry for a message; nullptr if the class does not understand it.
  method_cache::entry* find_method(oop selector, oop of_class);
  void fill(method_cache::entry& to, oop selector, oop of_class, oop method);
  [[nodiscard]] object* new_context(bool is_large);
  void find_addresses();
  void set_frame(oop context, object* frame, oop home_context, object* home);
  // Makes a context for a method whose receiver and arguments are on the stack, and makes it active.
  void activate(oop method, method_header header, int arguments);
  // As above, for a receiver at `from` and the arguments behind it, which are above the caller's stack.
  void activate_above(oop caller, const std::uint32_t* from, oop method, method_header header, int arguments);
  bool activate_block(int arguments);
  // Replaces the arguments on the stack by a Message.
  void make_message(oop selector, int arguments);

  // --- the baton (interpreter_baton.cpp)
  [[nodiscard]] bool is_main() const { return baton_ == nullptr || baton_->is_main(); }
  // Returns the place where a method for this receiver runs.
  [[nodiscard]] std::uint32_t place_for(oop receiver) const {
    return place_for(receiver, is_integer(receiver) ? 0 : memory_.entry(receiver));
  }
  [[nodiscard]] std::uint32_t place_for(oop receiver, std::uint64_t entry) const {
    if (is_integer(receiver)) return baton_->here();
    const object* const at = situ::detail::object_of_entry(entry);
    if ((entry & situ::detail::entry_is_read_mostly) != 0 &&
        (baton_->has_one_heap() || !memory_.layouts().gets_baton(*at)))
      return baton_->here();
    return baton_->home_of(at);
  }
  // Passes the baton to the place where the method is to run. The receiver and the arguments are on the stack.
  void pass_activation(std::uint32_t to, oop method, std::uint32_t header, int arguments);
  // Each of these passes the baton if the next step is another place's, and returns whether it has: that of the block;
  // that of the context that gets an answer; the main place, for some primitives; that of the active context, whose
  // registers are stored.
  [[nodiscard]] bool passes_block(int arguments) {
    const std::uint32_t to = baton_->home_of(memory_.at(sp_[-arguments]));
    return to != baton_->here() && passes_block_to(to, arguments);
  }
  [[nodiscard]] bool passes_answer(oop context, oop value) {
    const std::uint32_t to = baton_->home_of(memory_.at(context));
    if (to == baton_->here()) return false;
    pass(to, baton_step::answer, context, value);
    return true;
  }
  [[nodiscard]] bool passes_primitive(oop method, std::uint32_t primitive, int arguments) {
    if (is_main() || !is_for_main(method, primitive)) return false;
    pass_primitive(method, primitive, arguments);
    return true;
  }
  [[nodiscard]] bool passes_context();
  // Takes the receiver and the arguments off the stack, and returns what the caller's frame holds below them.
  [[nodiscard]] std::uint32_t depth_without(int arguments);
  [[nodiscard]] bool is_for_main(oop method, std::uint32_t primitive) const;
  [[nodiscard]] bool passes_block_to(std::uint32_t to, int arguments);
  void pass_primitive(oop method, std::uint32_t primitive, int arguments);
  void pass(std::uint32_t to, baton_step step, oop context, oop subject, std::uint32_t arguments = 0,
            std::uint32_t depth = 0);
  // Waits for the baton until this place goes on (not_yet), or until the evaluation has ended.
  run_end wait_for_baton();
  // Does what a message says; nothing if the baton has gone on.
  std::optional<run_end> go_on_with(const baton_message& message);
  std::optional<run_end> run_primitive_of_others(const baton_message& message);
  void pass_failure();
  // Makes the method's context active here, or passes the baton; returns whether it is here.
  bool activate_or_pass(oop method, std::uint32_t header, int arguments);

  // Unwinds the contexts up to the sender of the active method, and returns that sender; nil if there is none.
  [[nodiscard]] oop unwind_to_sender();
  void forget_contexts();
  // Forgets all references and addresses that are no roots, before a collection or an exchange.
  void forget_all();

  // Safe point, timer, low space. Registers are stored before, and loaded after.
  void service();
  void check_space();
  void wake_up_if_due();
  void sleep_until_wake_up();
  [[nodiscard]] oop take_next_process();
  void transfer_to(oop process);
  void put_to_sleep(oop process);
  // Makes the context active again from which send() was called.
  void return_to_base();
  // Makes the process of send() active again; the one that failed is over.
  void end_active_process();
  void add_last(oop list, oop process);
  [[nodiscard]] oop remove_first(oop list);
  [[nodiscard]] oop scheduler() const;

  // The message of perform:, or the arguments of valueWithArguments:, that run_control_primitive() has put on the
  // stack.
  oop control_selector_ = 0;
  int control_arguments_ = 0;

  run_end fail(std::string reason);
  run_end fail_at(std::string reason, oop context);
  bool fail_on_guarded_entry(int arguments);
  [[nodiscard]] bool is_answered() const { return context_ == base_context_ && sp_ == base_sp() + 1; }
  [[nodiscard]] std::uint32_t* base_sp() const { return memory_.at(base_context_)->body() + 5 + base_depth_; }
  void visit_roots(const situ::heap_thread::root_visitor& visit);

  object_memory& memory_;
  interpreter_options options_;
  baton* baton_;
  std::unique_ptr<named_primitives> named_;
  std::size_t roots_number_;

  // The active context, and its addresses.
  oop context_ = 0;
  oop home_context_ = 0;
  oop method_ = 0;
  oop receiver_ = 0;
  bool is_active_ = true;  // false: another place has the baton, and this place knows no context
  object* frame_ = nullptr;
  object* home_ = nullptr;
  object* code_ = nullptr;
  const std::uint8_t* ip_ = nullptr;
  std::uint32_t* sp_ = nullptr;

  method_cache cache_;
  object* free_contexts_[2] = {nullptr, nullptr};  // small and large, linked by address in their bodies
  std::int64_t reclaimable_ = 0;
  std::int64_t until_service_ = 0;
  std::uint32_t epoch_ = 0;  // another one: methods or addresses have changed, so all places forget what they know

  oop base_process_ = 0;
  oop base_context_ = 0;
  std::int32_t base_depth_ = 0;
  oop answer_ = 0;
  oop primitive_method_ = 0;
  run_failure failure_;
  run_counts counts_;
  bool has_failed_ = false;
  bool found_no_room_ = false;  // in this evaluation, at any place
  bool wants_quit_ = false;

  struct guard {
    oop method;
    reason_of reason;
  };
  std::vector<guard> guards_;
  oop class_of_instances_ = 0;  // 0: instances_ is not known
  std::vector<oop> instances_;  // ascending
  // One of all places, if there are several: baton_word.
  struct low_space_state {
    std::uint64_t bytes = 0;
    bool was_low = false;
  };
  [[nodiscard]] std::uint32_t wake_up_at() const;  // 0: no timer
  void set_wake_up_at(std::uint32_t at);
  [[nodiscard]] low_space_state low_space() const;
  void set_low_space(low_space_state state);
  std::uint32_t wake_up_at_ = 0;
  low_space_state low_space_;
};

inline void interpreter::set_frame(oop context, object* frame, oop home_context, object* home) {
  context_ = context;
  frame_ = frame;
  home_context_ = home_context;
  home_ = home;
  memory_.set_active(context, home_context);
}

inline oop interpreter::quick_answer(std::uint32_t primitive, oop receiver) const {
  const known_objects& known = memory_.known();
  if (primitive >= 264) return memory_.field(receiver, primitive - 264);
  if (primitive >= 260) return word_of(static_cast<std::int32_t>(primitive) - 261);
  return primitive == 256   ? receiver
         : primitive == 257 ? known.true_object
         : primitive == 258 ? known.false_object
                            : known.nil;
}

inline void interpreter::load_frame(oop context) {
  object* const frame = memory_.at_to_activate(context);
  memory_.know_addresses();
  const std::uint32_t* const body = frame->body();
  if (is_integer(body[3]))
    set_frame(context, frame, body[5], memory_.at_to_activate(body[5]));
  else
    set_frame(context, frame, context, frame);
  method_ = home_->body()[3];
  receiver_ = home_->body()[5];
  code_ = memory_.at(method_);
  ip_ = bytes_of(*code_) + integer_of(body[1]) - 1;
  sp_ = frame->body() + 5 + integer_of(body[2]);
}

inline object* interpreter::new_context(bool is_large) {
  object*& list = free_contexts_[is_large];
  if (list == nullptr) [[unlikely]]
    return memory_.allocate_context(memory_.known().class_method_context, 6 + (is_large ? 56 : 16));
  object* const again = list;
  std::memcpy(&list, again->body(), sizeof(list));
  return again;
}

inline void interpreter::activate(oop method, method_header header, int arguments) {
  sp_ -= arguments + 1;
  frame_->body()[2] = word_of(static_cast<std::int32_t>(sp_ - frame_->body()) - 5);
  activate_above(context_, sp_ + 1, method, header, arguments);
}

inline void interpreter::activate_above(oop caller, const std::uint32_t* from, oop method, method_header header,
                                        int arguments) {
  object* const made = new_context(header.has_large_frame());
  std::uint32_t* const body = made->body();
  const oop nil = memory_.known().nil;
  body[0] = caller;
  body[1] = word_of(0);
  body[2] = word_of(0);
  body[3] = method;
  body[4] = nil;
  for (int i = 0; i <= arguments; ++i) body[5 + i] = from[i];
  const int temporaries = static_cast<int>(header.temporaries());
  for (int i = arguments; i < temporaries; ++i) body[6 + i] = nil;
  set_frame(made->self, made, made->self, made);
  method_ = method;
  receiver_ = body[5];
  code_ = memory_.at(method);
  ip_ = bytes_of(*code_) + 4 * (header.literals() + 1);
  sp_ = body + 5 + temporaries;
  ++reclaimable_;
}

}  // namespace squeak
