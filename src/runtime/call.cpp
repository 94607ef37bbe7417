// Calls in flight: the entry that at() and async_at() make at the caller, and the code that runs for their messages at
// the target.
#include <situ/base/detail/assert.h>
#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/fabric/am.h>
#include <situ/fabric/detail/access.h>
#include <situ/fabric/detail/far.h>
#include <situ/fabric/detail/observed.h>
#include <situ/fabric/rma.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/at.h>

#include <fmt/format.h>

#include "base/float_settings.h"
#include "fabric/modules.h"
#include "os/host.h"
#include "runtime/failure.h"
#include "runtime/finish.h"
#include "runtime/runtime_state.h"
#include "runtime/status_writer.h"

namespace situ::detail {

// A call that is answered but not yet over.
struct open_answer {
  call_slot slot;
  bool acknowledged;
};

namespace {

constexpr std::uint64_t answer_is_error = 1;
constexpr std::uint64_t answer_acknowledges = 2;  // no task or message of the call's scope is left at its target

// The fields of a call's id: | generation: 20 | floating-point settings of its caller: 20 | index: 24 |. The generation
// keeps a late or false answer from finding a call; the settings let the body compute as its caller does. They are
// stored as the difference from the usual settings, so that an id of 0 unmasks no traps.
constexpr int index_bits = 24;
constexpr std::uint32_t calls_at_once = std::uint32_t{1} << index_bits;
constexpr std::uint32_t settings_mask = (std::uint32_t{1} << float_settings::code_bits) - 1;

constexpr int generation_shift = index_bits + float_settings::code_bits;
void apply_settings_in(std::uint64_t id) noexcept {
  const std::uint32_t differs = static_cast<std::uint32_t>(id >> index_bits) & settings_mask;
  if (differs == 0) [[likely]]
    return float_settings::usual().apply_unless_own();
  float_settings{differs ^ float_settings::usual().code()}.apply_unless_own();
}
call_id id_of(std::uint32_t generation, std::uint32_t index) noexcept {
  const float_settings own = float_settings::of_this_thread();
  const std::uint32_t differs = own == float_settings::usual() ? 0 : own.code() ^ float_settings::usual().code();
  return std::uint64_t{generation} << generation_shift | std::uint64_t{differs} << index_bits | index;
}

// Returns the open call of this id, or null if the call was forgotten or never made.
call_slot* find_call(runtime_state& state, call_id id) noexcept {
  const auto index = static_cast<std::uint32_t>(id % calls_at_once);
  if (index >= state.calls.size()) return nullptr;
  call_slot& slot = state.calls[index];
  const std::uint64_t generation = std::uint64_t{slot.generation} << generation_shift >> generation_shift;
  const bool is_of_this_use = generation == id >> generation_shift;
  return slot.state != nullptr && is_of_this_use ? &slot : nullptr;
}

// Takes a call out of the table, so that no other answer finds it.
call_slot take_call(runtime_state& state, call_slot& slot) noexcept {
  call_slot taken = std::move(slot);
  slot.state = nullptr;  // NOLINT(bugprone-use-after-move): moving leaves the other members as they were
  ++slot.generation;
  slot.next_free = state.free_call;
  state.free_call = static_cast<std::uint32_t>(&slot - state.calls.data());
  return taken;
}

// Ends a call whose state is set: updates the scope's counter, records an exception that no future holds, and releases
// the state.
void settle_call(call_slot& slot, bool acknowledged) {
  slot.held.reset();
  if (slot.node != nullptr) {
    if (slot.detached && slot.state->error && slot.state->references == 1)
      record_failure(*slot.node, slot.state->error);
    if (acknowledged) {
      --slot.node->outstanding;
      note_done(*slot.node);
    }
  }
  if (slot.detached) slot.state->release();
}

void run_answer(message& m) {
  runtime_state& state = *current->runtime;
  const endpoint::handler_scope scope{m.self};
  const std::uint64_t flags = m.argument(1);
  const parcel received{m, 2};
  if (call_slot* const found = find_call(state, m.argument(0))) {
    SITU_POINT(answer_found);
    open_answer answer{take_call(state, *found), (flags & answer_acknowledges) != 0};
    wire_reader reader = received.reader();
    if ((flags & answer_is_error) != 0) {
      answer.slot.state->error = read_failure(reader, m.source);
    } else {
      try {
        arrived_answer arrived{reader, m.source, answer};
        if (!answer.slot.accept(*answer.slot.state, arrived)) return;
      } catch (...) {
        answer.slot.state->error = std::current_exception();
      }
    }
    answer.slot.state->fulfil();
    settle_call(answer.slot, answer.acknowledged);
  }
}
const function_id answer_id = name_function(reinterpret_cast<const void*>(&run_answer));

}  // namespace

open_answer* keep_open(open_answer& answer) { return new open_answer{std::move(answer)}; }

void close_answer(open_answer* answer, std::exception_ptr error) noexcept {
  const std::unique_ptr<open_answer> over{answer};
  if (error) {
    over->slot.state->fail(std::move(error));
  } else {
    over->slot.state->fulfil();
  }
  settle_call(over->slot, over->acknowledged);
}

transfer read_transfer(wire_reader& reader) {
  std::uint8_t how = 0;
  reader.read(&how, 1);
  if (how > static_cast<std::uint8_t>(transfer::offload))
    throw_error(errc::bad_message, fmt::format("a call asks for transfer {}, which there is not", how));
  return static_cast<transfer>(how);
}

ptr<std::byte> try_buffer(std::size_t bytes) {
  try {
    return situ::allocate_bytes(bytes);
  } catch (const error& e) {
    if (e.code() != errc::out_of_memory) throw;
    return {};
  }
}

namespace {
// Copies a buffer into this place's segment and gives the original back.
ptr<std::byte> fetched(ptr<std::byte> buffer, std::size_t bytes) {
  const ptr<std::byte> copy = situ::allocate_bytes(bytes);
  try {
    if (!is_far(*current, buffer.place().index()))
      fetch_parcel(copy.local(), buffer.local(), bytes);
    else
      situ::get(copy.local(), buffer, bytes);
    deallocate(buffer);
  } catch (...) {
    deallocate(copy);
    throw;
  }
  return copy;
}
}  // namespace

void parcel::open_buffer(const message& m, std::uint32_t words) {
  SITU_POINT(buffer_opened);
  const std::uintptr_t address = m.argument(words);
  const std::size_t bytes = m.argument(words + 1);
  if (!is_far(*current, m.source)) check_access(access::get, address, bytes);  // else its host checks it
  const ptr<std::byte> buffer{reinterpret_cast<std::byte*>(address)};
  if (buffer.place().index() != m.source)
    throw_error(errc::bad_message,
                fmt::format("a parcel from place {} names a buffer at place {}", m.source, buffer.place().index()));
  if (reads_in_place(*current, m.source)) {
    buffer_ = buffer;
  } else {
    // The message is not released yet: if this waited as a task, another worker would handle the message again.
    const endpoint::handler_scope scope{m.self};
    buffer_ = fetched(buffer, bytes);
  }
  bytes_ = buffer_.local();
  size_ = bytes;
}

void parcel::close_buffer() noexcept {
  try {
    deallocate(buffer_);
  } catch (const error& e) {
    log(log_level::error,
        fmt::format("place {}: the buffer of a parcel cannot be given back: {}", current->place, e.what()));
  }
  buffer_ = {};
}

outgoing& call_channel(place target) { return request_channel(target); }

std::uint64_t running_finish_key() noexcept {
  const task_context* const task = current->scheduler->task();
  return task == nullptr ? 0 : task->finish_key;
}

call_id open_call(future_state_base& state, accept_answer accept, std::uint32_t target, bool detached) {
  if (current->runtime == nullptr) throw_no_runtime("at()");
  runtime_state& here = *current->runtime;
  task_context* const task = current->scheduler->task();
  if (here.free_call == UINT32_MAX) {
    here.free_call = static_cast<std::uint32_t>(here.calls.size());
    if (here.free_call == calls_at_once) {
      here.free_call = UINT32_MAX;
      throw_error(errc::out_of_memory, fmt::format("place {} has {} calls under way, the most that a place can have: "
                                                   "wait for some before it calls more",
                                                   current->place, calls_at_once));
    }
    here.calls.push_back({.next_free = UINT32_MAX});
  }
  finish_node* const node = task != nullptr ? node_of(*task) : nullptr;
  const std::uint32_t index = here.free_call;
  call_slot& slot = here.calls[index];
  here.free_call = slot.next_free;
  slot.state = &state;
  slot.accept = accept;
  slot.target = target;
  state.answered_by = static_cast<std::uint16_t>(target);
  slot.detached = detached;
  slot.node = node;
  if (slot.node != nullptr) ++slot.node->outstanding;
  if (detached) ++state.references;
  return id_of(slot.generation, index);
}

void forget_call(call_id id) noexcept {
  runtime_state& here = *current->runtime;
  call_slot* const found = find_call(here, id);
  if (found == nullptr) return;
  const call_slot slot = take_call(here, *found);
  if (slot.node != nullptr) {
    --slot.node->outstanding;
    note_done(*slot.node);
  }
  if (slot.detached) slot.state->release();
}

void leave_call(call_id id) noexcept {
  runtime_state& here = *current->runtime;
  call_slot* const found = find_call(here, id);
  if (found == nullptr) return;
  found->state = &here.nobody;
  found->accept = [](future_state_base&, arrived_answer&) { return true; };
}

void hold_until_over(call_id id, std::unique_ptr<held_by_call> what) noexcept {
  if (call_slot* const found = find_call(*current->runtime, id)) found->held = std::move(what);
}

void end_calls_to_lost_places(runtime_state& state) {
  for (std::size_t i = 0; i < state.calls.size(); ++i) {
    call_slot& found = state.calls[i];
    if (!SITU_LOSS_CHECK(calls) || found.state == nullptr || !current->endpoint->is_lost(found.target)) continue;
    call_slot slot = take_call(state, found);
    slot.state->fail(std::make_exception_ptr(loss_error(*current->job, slot.target)));
    settle_call(slot, true);
  }
}

void release_calls(runtime_state& state) noexcept {
  for (call_slot& each : state.calls) {
    if (each.state == nullptr) continue;
    const call_slot slot = take_call(state, each);
    if (slot.detached) slot.state->release();
  }
}

arrived_call::arrived_call(message& m, const char* code_name)
    : context_{.finish_key = m.argument(1), .source = m.source, .code_name = code_name},
      before_{current->scheduler->task()},
      call_{m.argument(0)},
      begin_ns_{current->observed ? observed_span::begin(*current) : 0},
      sequence_{current->observed ? m.self.sequence_of(m) : 0} {
  current->told_of = current->endpoint->failure_epoch();
  if (!is_valid_finish_key(context_.finish_key))
    throw_error(errc::bad_message, fmt::format("a call from place {} names a finish scope of no place", m.source));
  current->scheduler->set_task(&context_);
  apply_settings_in(call_);
  SITU_POINT(call_arrived);
}

arrived_call::~arrived_call() {
  leave_scope(context_);
  current->scheduler->set_task(before_);
  current->runtime->main_settings.apply_unless_own();  // for the next handler
  if (!current->observed) return;
  record_event(*current, {.begin_ns = begin_ns_,
                          .peer = context_.source,
                          .sequence = sequence_,
                          .name = current->status->code_name(context_.code_name),
                          .kind = event_kind::task});
}

void arrived_call::drop_loss() {
  try {
    throw;
  } catch (const place_lost_error&) {}
}

arrived_call::trailing_wait::trailing_wait() noexcept { ++current->runtime->trailing_waits; }
arrived_call::trailing_wait::~trailing_wait() { --current->runtime->trailing_waits; }

outgoing& arrived_call::answer_channel() const noexcept { return current->endpoint->replies_to(context_.source); }

std::array<std::uint64_t, 2> arrived_call::answer_words(bool is_error) noexcept {
  SITU_POINT(call_returned);
  if (context_.engaging) disengage_if_alone(context_);
  return {call_, (is_error ? answer_is_error : 0) | (context_.engaging ? 0 : answer_acknowledges)};
}

function_id arrived_call::answer_handler() noexcept { return answer_id; }

void arrived_call::answer_error(std::exception_ptr failure) noexcept {
  if (is_answered_) {  // the failure came after the answer: no caller waits for it
    const failure_record record = record_of(failure);
    return log(log_level::error, fmt::format("place {}: a call from place {} failed after its answer: {}: {}",
                                             current->place, context_.source, record.type_name, record.what));
  }
  // The tasks of a place that is being lost fail because of the loss; its callers hear of the loss itself.
  if (is_lost(*current->job, current->place)) return;
  try {
    failure_record record = record_of(failure);
    add_call(record, context_, context_.source);
    send_parcel(answer_channel(), message_kind::medium_message, answer_id, answer_words(true), size_of(record),
                [&](wire_writer& writer) { write_failure(writer, record); });
    is_answered_ = true;
  } catch (const place_lost_error&) {  // this place leaves a broken job: the caller hears of that
  } catch (const std::exception& e) {
    log(log_level::error, fmt::format("place {}: the answer to a call from place {} cannot be sent: {}", current->place,
                                      context_.source, e.what()));
  }
}

const void* find_received_function(function_id id) {
  const void* const code = find_function(id);
  if (code == nullptr) throw_error(errc::bad_message, describe_missing_function(id));
  return code;
}

void refuse_call_to_missing_code(message& m) {
  arrived_call call{m, nullptr};
  const std::string why = describe_missing_function(m.head.handler & 0xffff'ffff'ffff);
  { const parcel given_back{m, arrived_call::words}; }
  m.release();
  call.answer_error(std::make_exception_ptr(error{errc::bad_message, why}));
}

}  // namespace situ::detail
