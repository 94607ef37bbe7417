// The course of a call: the caller sends it, the target runs and answers it, and the caller takes the answer.
#pragma once

#include <situ/base/detail/test_points.h>
#include <situ/runtime/detail/call_pack.h>
#include <situ/runtime/detail/parcel.h>
#include <situ/runtime/task.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

namespace situ::detail {

// Stores an arrived answer in the state of its call; returns false if the answer was taken over. Part of a call's
// entry in the caller's call table.
using accept_answer = bool (*)(future_state_base&, arrived_answer&);

struct open_answer;
class arrived_answer {
 public:
  arrived_answer(wire_reader& reader, std::uint32_t source, open_answer& open) noexcept
      : reader_{reader}, source_{source}, open_{open} {}
  [[nodiscard]] wire_reader& reader() const noexcept { return reader_; }
  [[nodiscard]] std::uint32_t source() const noexcept { return source_; }
  // Takes the answer over: finish() runs as a task of this place and sets the state (or throws), which ends the call.
  template <class Finish>
  void finish_later(Finish finish);

 private:
  wire_reader& reader_;
  std::uint32_t source_;
  open_answer& open_;
};

template <class Result>
bool accept_value(future_state_base& base, arrived_answer& answer) {
  return result_pack<Result>::accept(static_cast<future_state<typename result_pack<Result>::arrives>&>(base), answer);
}
template <class Result>
bool result_pack<Result>::accept(future_state<Result>& state, arrived_answer& answer) {
  state.value.emplace(wire<Result>::read(answer.reader()));
  return true;
}

// Keep a call open whose answer was taken over, and end it.
[[nodiscard]] open_answer* keep_open(open_answer& answer);
void close_answer(open_answer* answer, std::exception_ptr error) noexcept;
template <class Finish>
void arrived_answer::finish_later(Finish finish) {
  struct task final : ready_task {
    Finish finish;
    open_answer* answer;
    task(Finish&& f, open_answer* a) : finish{std::move(f)}, answer{a} {}
  };
  auto later = std::make_unique<task>(std::move(finish), keep_open(open_));
  later->run = [](ready_task* ready) {
    const std::unique_ptr<task> self{static_cast<task*>(ready)};
    std::exception_ptr error;
    try {
      self->finish();
    } catch (...) {
      error = std::current_exception();
    }
    close_answer(self->answer, error);
  };
  current->scheduler->spawn(later.release());
}

using call_id = std::uint64_t;

// Registers a call. The answer, or the loss of `target`, sets `state` (which the caller still owns) and forgets the
// call. A detached call owns one reference of its state. The running finish scope counts the call from now on.
call_id open_call(future_state_base& state, accept_answer accept, std::uint32_t target, bool detached);
// Forgets a call that was not sent.
void forget_call(call_id id) noexcept;
// Lets a call that was sent go on without its state: its answer tells nobody. The scope counts it until its answer or
// its acknowledgement has come, as any other call.
void leave_call(call_id id) noexcept;
// Keeps `what` (or nullptr) until the call is answered or forgotten, or its target is lost. pre: the call is open.
void hold_until_over(call_id id, std::unique_ptr<held_by_call> what) noexcept;
[[nodiscard]] std::uint64_t running_finish_key() noexcept;
[[nodiscard]] outgoing& call_channel(place target);

// A call that has arrived at its target: the context of the running task, and the means to answer.
class arrived_call {
 public:
  static constexpr std::uint32_t words = 2;  // call id, finish key
  arrived_call(message& m, const char* code_name);
  ~arrived_call();
  arrived_call(const arrived_call&) = delete;
  arrived_call& operator=(const arrived_call&) = delete;

  [[nodiscard]] place caller() const noexcept { return place{context_.source}; }
  template <class Write>
  void answer(std::size_t bytes, Write write) {
    send_parcel(answer_channel(), message_kind::medium_message, answer_handler(), answer_words(false), bytes, write);
    is_answered_ = true;
    SITU_POINT(answer_sent);
  }
  template <class Pack>
  void answer(const Pack& result) {
    const auto write = [&](wire_writer& writer) { result.write(writer); };
    if constexpr (Pack::is_unmeasured) {
      send_unmeasured_parcel(
          answer_channel(), message_kind::medium_message, answer_handler(), answer_words(false), message_room<Pack>,
          [&] { return result.size(); }, write);
      is_answered_ = true;
      SITU_POINT(answer_sent);
    } else {
      answer(result.size(), write);
    }
  }
  void answer_error(std::exception_ptr error) noexcept;
  // Sets the function, if its type does not name it; see task_context.
  void set_code(const void* code) noexcept { context_.code = code; }
  // Waits, after the answer was sent, for the work that is left; the runtime does not end before.
  template <class Pack>
  void complete(Pack& answered) {
    const trailing_wait counted;
    try {
      answered.complete();
    } catch (...) {
      drop_loss();
    }
  }

 private:
  struct trailing_wait {
    trailing_wait() noexcept;
    ~trailing_wait();
    trailing_wait(const trailing_wait&) = delete;
    trailing_wait& operator=(const trailing_wait&) = delete;
  };

  // For catch clauses: swallows a place_lost_error, since no place takes the answer any more; rethrows others.
  static void drop_loss();
  [[nodiscard]] outgoing& answer_channel() const noexcept;
  [[nodiscard]] std::array<std::uint64_t, 2> answer_words(bool is_error) noexcept;
  [[nodiscard]] static function_id answer_handler() noexcept;

  task_context context_;
  task_context* before_;
  call_id call_;
  std::uint64_t begin_ns_;
  std::uint32_t sequence_;  // the sequence number of the call's message
  bool is_answered_ = false;
};

[[nodiscard]] transfer read_transfer(wire_reader& reader);

// Calls f and sends the answer; calls ended() between the two.
template <class F, class Received, class Ended>
void invoke_and_answer(arrived_call& call, F& f, Received& arguments, transfer how, Ended ended) {
  using returned = decltype(arguments.invoke(f));
  using result = settled_t<returned>;
  if constexpr (std::is_void_v<result>) {
    if constexpr (is_future<std::decay_t<returned>>) {
      arguments.invoke(f).get(std::source_location{});
    } else {
      arguments.invoke(f);
    }
    ended();
    call.answer(0, [](wire_writer&) {});
  } else {
    const result value = [&]() -> result {
      if constexpr (is_future<std::decay_t<returned>>) {
        return arguments.invoke(f).get(std::source_location{});
      } else {
        return arguments.invoke(f);
      }
    }();
    ended();
    result_pack<result> answer{value, {call.caller(), how}};
    call.answer(answer);
    if constexpr (result_pack<result>::may_be_late) call.complete(answer);
  }
}

// The contents of a call's message, in order: the function, the transfer of its result, its arguments.
template <class F, class Pack, bool IsRouted>
struct received_call {
  F f;
  transfer how;
  typename Pack::received arguments;
  received_call(wire_reader reader, std::uint32_t source)
      : f{travelling_function<F>::read(reader)},
        how{IsRouted ? read_transfer(reader) : transfer::automatic},
        arguments{Pack::read(reader, source)} {}
};

// Runs a received call. It takes the arguments out of the message and releases the message's room before it calls f;
// if f reads arguments in place, it releases the room after f has returned.
template <class F, class... Arguments>
void run_call(message& m) {
  using pack = call_pack<Arguments...>;
  using result = settled_t<typename pack::template returned<F>>;
  using received_type = received_call<F, pack, result_pack<result>::is_routed>;
  arrived_call call{m, code_name_of<F>()};
  try {
    if constexpr (pack::reads_in_place) {
      parcel carried{m, arrived_call::words};
      received_type received{carried.reader(), m.source};
      if constexpr (is_function_pointer<F>) call.set_code(code_of(received.f));
      std::optional<endpoint::handler_scope> as_handler{m.self};
      invoke_and_answer(call, received.f, received.arguments, received.how, [&] {
        as_handler.reset();
        carried.close();
        m.release();
      });
    } else if constexpr (pack::keeps_message) {
      kept_parcel carried{m, arrived_call::words};
      m.release();
      received_type received{carried.reader(), m.source};
      if constexpr (is_function_pointer<F>) call.set_code(code_of(received.f));
      invoke_and_answer(call, received.f, received.arguments, received.how, [&] { carried.close(); });
    } else {
      received_type received{parcel{m, arrived_call::words}.reader(), m.source};
      if constexpr (is_function_pointer<F>) call.set_code(code_of(received.f));
      m.release();
      received.arguments.complete();
      invoke_and_answer(call, received.f, received.arguments, received.how, [] {});
    }
  } catch (...) {
    m.release();  // before any wait: otherwise another worker would find the message again
    call.answer_error(std::current_exception());
  }
}
template <class F, class... Arguments>
inline const function_id call_handler_id =
    name_function(reinterpret_cast<const void*>(static_cast<message_handler>(&run_call<F, Arguments...>)));

template <class F, class... Arguments>
void send_call(route target, call_id id, const F& f, const call_pack<Arguments...>& arguments) {
  constexpr bool is_routed = result_pack<call_result_t<F, Arguments...>>::is_routed;
  constexpr bool is_unmeasured =
      call_pack<Arguments...>::is_unmeasured && (!std::is_class_v<F> || std::is_empty_v<F> || is_written_by_situ<F>());
  const auto measure = [&] { return travelling_function<F>::size(f) + (is_routed ? 1 : 0) + arguments.size(); };
  const auto pack = [&](wire_writer& writer) {
    travelling_function<F>::write(writer, f);
    if constexpr (is_routed) writer.write(&target.how, 1);
    arguments.write(writer);
  };
  const function_id handler = call_handler_id<F, Arguments...>;
  const std::array<std::uint64_t, arrived_call::words> words{id, running_finish_key()};
  if constexpr (is_unmeasured) {
    SITU_POINT(call_opened);
    send_unmeasured_parcel(call_channel(target.to), message_kind::call, handler, words, message_room<F, Arguments...>,
                           measure, pack);
  } else {
    const std::size_t bytes = measure();
    SITU_POINT(call_opened);
    send_parcel(call_channel(target.to), message_kind::call, handler, words, bytes, pack);
  }
}

template <class F>
[[noreturn]] void throw_of_call_here(const std::exception_ptr& error, const F& f, const std::source_location& where) {
  const void* code = nullptr;
  if constexpr (is_function_pointer<F>) code = code_of(f);
  throw_as_remote(error, code_name_of<F>(), code, where);
}

// Lets a call go on that was sent and whose caller leaves before the answer has arrived.
struct sent_call_guard {
  call_id id;
  const future_state_base& state;
  ~sent_call_guard() {
    if (!state.ready) leave_call(id);
  }
};

struct no_scope {
  explicit no_scope(endpoint&) noexcept {}
};

// Runs a call of a place to itself: at once, on copies of the arguments, or on the caller's range for a payload.
template <class F, class... Arguments>
auto call_here(F& f, const Arguments&... arguments) {
  using result = call_result_t<F, Arguments...>;
  auto copies = call_pack<Arguments...>::copy(arguments...);
  using scope = std::conditional_t<call_pack<Arguments...>::reads_in_place, endpoint::handler_scope, no_scope>;
  [[maybe_unused]] const scope as_there{*current->endpoint};
  using returned = typename call_pack<Arguments...>::template returned<F>;
  if constexpr (is_future<std::decay_t<returned>>) {
    if constexpr (std::is_void_v<result>) {
      copies.invoke(f).get(std::source_location{});
    } else {
      return result_pack<result>::copy(copies.invoke(f).get(std::source_location{}));
    }
  } else if constexpr (std::is_void_v<result>) {
    copies.invoke(f);
  } else {
    return result_pack<result>::copy(result(copies.invoke(f)));
  }
}

template <class F, class... Arguments>
using call_arrives_t = typename result_pack<call_result_t<F, Arguments...>>::arrives;
template <class F, class... Arguments>
future<call_arrives_t<F, Arguments...>> start_call(route target, F f, call_pack<Arguments...>& pack,
                                                   std::unique_ptr<held_by_call> held = nullptr);

template <class F, class... Arguments>
auto at_decayed(route target, F f, const Arguments&... arguments) {
  check_call<F, Arguments...>();
  using result = call_result_t<F, Arguments...>;
  result_pack<result>::check();
  using arrives = typename result_pack<result>::arrives;
  if (target.to.index() == current->place && current->callable_places != 0) {
    future_state<arrives> state;
    fulfil_with(state, [&]() -> decltype(auto) {
      if constexpr (shares<F>) {
        F copy = copy_value(f);
        return call_here(copy, arguments...);
      } else {
        return call_here(f, arguments...);
      }
    });
    if (state.error) throw_of_call_here(state.error, f, target.where);
    if constexpr (!std::is_void_v<arrives>) return std::move(*state.value);
  } else if constexpr (result_pack<result>::may_be_late) {
    // The state must outlive this frame if the wait ends early.
    call_pack<Arguments...> pack{target, arguments...};
    return start_call<F, Arguments...>(target, f, pack).get(target.where);
  } else {
    future_state<arrives> state;
    const call_pack<Arguments...> pack{target, arguments...};
    const call_id id = open_call(state, &accept_value<result>, target.to.index(), false);
    try {
      send_call(target, id, f, pack);
    } catch (...) {
      forget_call(id);
      throw;
    }
    const sent_call_guard guard{id, state};
    SITU_POINT(call_sent);
    if (!state.ready) state.wait(target.where, wait_kind::call);
    if (state.error) rethrow(state.error, target.where);
    if constexpr (!std::is_void_v<arrives>) return std::move(*state.value);
  }
}

// Sends the call, which keeps `held` and the pack's lent memory until it is over. pre: check_call has checked it.
template <class F, class... Arguments>
future<call_arrives_t<F, Arguments...>> start_call(route target, F f, call_pack<Arguments...>& pack,
                                                   std::unique_ptr<held_by_call> held) {
  using result = call_result_t<F, Arguments...>;
  result_pack<result>::check();
  auto state = make_state<typename result_pack<result>::arrives>();
  future<typename result_pack<result>::arrives> outcome{state};
  const call_id id = open_call(*state.get(), &accept_value<result>, target.to.index(), true);
  try {
    if constexpr (call_pack<Arguments...>::may_lend) hold_until_over(id, pack.lend(std::move(held)));
    send_call(target, id, f, pack);
  } catch (...) {
    forget_call(id);
    throw;
  }
  SITU_POINT(call_sent);
  return outcome;
}

// `given` are the arguments in the types in which they travel; those that are handed over are rvalues.
template <class F, class... Given>
auto async_at_decayed(route target, F f, Given&&... given) {
  using pack_type = call_pack<std::remove_cvref_t<Given>...>;
  if constexpr (pack_type::may_lend) {
    return pack_type::start(target, f, std::forward<Given>(given)...);
  } else {
    pack_type pack{target, given...};
    return start_call<F, std::remove_cvref_t<Given>...>(target, f, pack);
  }
}

}  // namespace situ::detail
