#include <situ/base/detail/assert.h>
#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/fabric/detail/awaited.h>
#include <situ/fabric/detail/endpoint.h>
#include <situ/fabric/detail/far.h>
#include <situ/memory/allocate.h>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "fabric/modules.h"
#include "fabric/observe.h"
#include "memory/liveness.h"
#include "os/host.h"

namespace situ::detail {
namespace {

// up to this many places, every channel is looked at in each poll (2 lines each, in cache)
constexpr std::uint32_t places_polled_all = 16;
constexpr std::uint32_t polls_a_look_there = 64;  // between two looks at the network while nothing is expected from it
constexpr std::uint32_t rotation_step = 8;        // with more places, this many channels besides the likely ones

// Returns whether a header's lower half says a short or medium message or a call, at most 7 arguments, and no source.
constexpr bool is_plain_form(std::uint64_t header) noexcept {
  constexpr std::uint32_t kinds = 1U << static_cast<int>(message_kind::short_message) |
                                  1U << static_cast<int>(message_kind::medium_message) |
                                  1U << static_cast<int>(message_kind::call);
  const auto form = static_cast<std::uint32_t>(header);
  return (form & 0xfffe'f8f8) == 0 && (kinds >> (form >> 8 & 7) & 1) != 0;
}

void wait_by_polling(endpoint& self, outgoing& out, std::uint32_t record_bytes) {
  while (!self.has_room(out, record_bytes)) {
    if (!self.poll(true)) give_way();
  }
}

}  // namespace

channel_pair& endpoint::channels_of_server(const place_context& context, std::uint32_t place) noexcept {
  const std::uintptr_t slice = context.base + (std::uintptr_t{place} << context.slice_shift);
  return reinterpret_cast<channel_pair*>(slice)[context.place_count];
}

endpoint::endpoint(place_context& context, std::uint64_t channel_offset)
    : context_{context},
      job_{context.job},
      room_waiter_{&wait_by_polling},
      fences_{context.job->sender_fences},
      publishes_apart_{context.observed} {
  const auto channels_at = [&](std::uint32_t receiver, std::uint32_t sender) -> channel_pair& {
    const std::uintptr_t slice = context.base + (std::uintptr_t{receiver} << context.slice_shift);
    return reinterpret_cast<channel_pair*>(slice + channel_offset)[sender];
  };
  peers_.reserve(context.place_count);
  sleeping_.reserve(context.place_count);
  for (std::uint32_t p = 0; p < context.place_count; ++p) {
    channel_pair& out = channels_at(p, context.place);
    channel_pair& in = channels_at(context.place, p);
    peers_.push_back({.request_in = incoming{in.request},
                      .reply_in = incoming{in.reply},
                      .request_out = {.to = &out.request, .target = p},
                      .reply_out = {.to = &out.reply, .target = p, .is_reply = true}});
    sleeping_.push_back(&job_->slot(p).sleeping);
    if (!job_->is_here(p)) close(peers_.back());
  }
  if (job_->host_count > 1) hear_server(channels_of_server(context, context.place), job_->slot(context.place_count));
#if defined(SITU_MODEL)
  context.give_back_elsewhere = &give_back_later;
#endif
  if (!fences_) (void)join_order_of_processes();  // this process: the creator of the job has found that the kernel can
}

#if defined(SITU_MODEL)
namespace {
// Runs at the owner. An address that is no live block is the sender's bug, but the sender does not wait for an answer.
void take_given_back(message& m) {
  try {
    deallocate_bytes(reinterpret_cast<void*>(m.argument(0)));
  } catch (const error& e) {
    log(log_level::error,
        fmt::format("place {}: place {} gives back what it cannot: {}", current->place, m.source, e.message()));
  }
}
const function_id take_given_back_id = name_function(reinterpret_cast<const void*>(&take_given_back));
}  // namespace

// The caller may be in a handler, or must not wait. A registered thread has no endpoint: it gives back by the heap's
// shared words.
bool endpoint::give_back_later(place_context& context, std::uintptr_t block) {
  if (context.endpoint == nullptr) return false;
  context.endpoint->given_back_.push_back(block);
  return true;
}

void endpoint::send_given_back() {
  if (in_handler()) return;
  std::erase_if(given_back_, [this](std::uintptr_t block) {
    outgoing& out = requests_to(static_cast<std::uint32_t>((block - context_.base) >> context_.slice_shift));
    if (out.closed) return true;  // a lost place's memory goes with the job
    if (!has_room(out, 0)) return false;
    const std::uint64_t argument = block;
    send_short(out, take_given_back_id, &argument, 1);
    return true;
  });
}
#endif

void endpoint::hear_server(channel_pair& from, place_slot& server) {
  server_.reset(new host_server_end{incoming{from.request, true}, incoming{from.reply, true}, server});
  if (context_.observed) server_->handled.resize(peers_.size());
}

void endpoint::send_by_hosts() {
  if (!scratch_) scratch_ = std::make_unique<channel>();
  by_channels_.clear();
  for (std::uint32_t p = 0; p < peers_.size(); ++p) {
    peer& to = peers_[p];
    by_channels_.emplace_back(to.request_out, to.reply_out);
    if (!context_.far->is_far(p)) continue;
    for (outgoing* out : {&to.request_out, &to.reply_out}) {
      const bool is_lost = has_ended(job_->slot(p).state.load(std::memory_order_acquire));
      // "full", like a closed channel: the fast path then calls has_room, which opens the window
      *out = {.to = scratch_.get(),
              .seen = 0 - std::uint64_t{channel::cell_count},
              .target = p,
              .is_reply = out->is_reply,
              .closed = is_lost,
              .is_far = true};
    }
  }
  publishes_apart_ = true;
}

void endpoint::send_by_channels() noexcept {
  for (std::uint32_t p = 0; p < by_channels_.size(); ++p) {
    peer& to = peers_[p];
    if (!to.request_out.is_far) continue;
    std::tie(to.request_out, to.reply_out) = by_channels_[p];
    if (has_ended(job_->slot(p).state.load(std::memory_order_acquire))) close(to);
  }
  by_channels_.clear();
  publishes_apart_ = context_.observed;
}

// Opens the window before the first message; later takes in credits.
void endpoint::look_for_room_there(outgoing& out) {
  if (out.to == scratch_.get()) {
    out.to = &context_.far->window(out.target, out.is_reply);
  } else {
    context_.far->poll();
  }
}

bool endpoint::has_room(outgoing& out, std::uint32_t record_bytes) noexcept {
  const auto fits = [&] {
    return out.sent - out.seen < channel::cell_count &&
           (record_bytes == 0 || next_record(out.data_sent, record_bytes).end - out.data_seen <= channel::data_bytes);
  };
  if (fits()) return true;
  if (out.closed) return false;  // the counts of the scratch channel mean nothing
  if (out.is_far) [[unlikely]]
    look_for_room_there(out);
  // acquire: the consumer's reads of the ring come before our writes to it
  out.seen = out.to->consumed.cells.load(std::memory_order_acquire);
  out.data_seen = out.to->consumed.data.load(std::memory_order_acquire);
  const bool fits_now = fits();
  if (!fits_now && out.is_far) context_.far->want_room(out);
  return fits_now;
}

void endpoint::ask_for_wake(outgoing& out) noexcept {
  if (out.is_far) return;  // the wire ends the sleep
  out.to->producer_waits.set(1, std::memory_order_seq_cst);
  SITU_POINT(room_asked_for);
}

void endpoint::wait_for_room(outgoing& out, std::uint32_t record_bytes) {
  SITU_POINT(room_wanted);
  if (out.closed) {
    if (!out.is_reply) throw_place_lost(*job_, context_.place);
    out.seen = out.sent;
    out.data_seen = out.data_sent;
    return;
  }
  SITU_ASSERT(1, out.is_reply || !in_handler(),
              "a handler of an active message may only reply, and a call that takes a situ::payload send nothing: "
              "start an async task to send requests from");
  while (!out.closed && !has_room(out, record_bytes)) {  // again, since another fiber may have taken the room first
    if (in_handler()) {
      if (!poll_replies()) give_way();
    } else {
      room_waiter_(*this, out, record_bytes);
    }
  }
  if (out.closed) wait_for_room(out, record_bytes);
}

draft endpoint::begin(outgoing& out, std::uint32_t arguments, std::uint32_t payload_bytes,
                      std::uint32_t words_in_cell) {
  SITU_ASSERT(1, arguments <= max_arguments, "an active message takes at most am::max_arguments() arguments");
  SITU_ASSERT(1, payload_bytes <= max_medium_bytes,
              "a medium message carries at most am::max_medium_bytes() bytes: send more than one, or a long message");
  const std::uint32_t in_cell = std::min(arguments, words_in_cell);
  const bool payload_in_cell =
      arguments <= words_in_cell && payload_bytes <= (words_in_cell - in_cell) * sizeof(std::uint64_t);
  const std::uint32_t more_bytes = (arguments - in_cell) * sizeof(std::uint64_t);
  const std::uint32_t payload_offset = (more_bytes + 15) & ~15U;
  const std::uint32_t record_bytes = payload_in_cell ? more_bytes : payload_offset + payload_bytes;

  if (!has_room(out, record_bytes)) [[unlikely]]
    wait_for_room(out, record_bytes);
  cell& c = out.to->cells[out.sent % channel::cell_count];
  const record_place record =
      record_bytes == 0 ? record_place{out.data_sent, out.data_sent} : next_record(out.data_sent, record_bytes);
  std::byte* const data = out.to->data + record.begin % channel::data_bytes;
  return draft{.out = out,
               .head = c,
               .more_words = reinterpret_cast<std::uint64_t*>(data),
               .payload = payload_in_cell ? reinterpret_cast<std::byte*>(c.words + in_cell) : data + payload_offset,
               .data_end = record.end,
               .words_in_cell = words_in_cell,
               .argument_count = arguments,
               .payload_in_cell = payload_in_cell};
}

namespace {
// Writes back the record: from its further arguments to the end of its payload, if the record has it.
[[maybe_unused]] void write_back_record(const draft& message, std::uint32_t payload_bytes) noexcept {
  const auto* const begin = reinterpret_cast<const std::byte*>(message.more_words);
  const std::uint32_t more = message.argument_count - std::min(message.argument_count, message.words_in_cell);
  const std::byte* const end =
      message.payload_in_cell ? begin + more * sizeof(std::uint64_t) : message.payload + payload_bytes;
  write_back(begin, static_cast<std::size_t>(end - begin));
}
}  // namespace

void endpoint::send(const draft& message, message_kind kind, function_id handler,
                    std::uint32_t payload_bytes) noexcept {
  if (!message.payload_in_cell) SITU_POINT(record_filled);
  if constexpr (!has_coherent_places) write_back_record(message, payload_bytes);
  message.head.handler = std::uint64_t{payload_bytes} << 48 | handler;
  message.out.data_sent = message.data_end;
  publish(message.out, message.head, kind, message.argument_count, message.payload_in_cell, payload_bytes);
}

void endpoint::publish_apart(outgoing& out, cell& c, message_kind kind, std::uint32_t arguments, bool payload_in_cell,
                             std::uint32_t payload_bytes) noexcept {
  if (context_.observed) return publish_observed(out, c, kind, arguments, payload_in_cell, payload_bytes);
  publish_to_any(out, c, kind, arguments, payload_in_cell, payload_bytes);
}

void endpoint::publish_to_any(outgoing& out, cell& c, message_kind kind, std::uint32_t arguments, bool payload_in_cell,
                              std::uint32_t payload_bytes) noexcept {
  if (!out.is_far || out.closed) return publish_unobserved(out, c, kind, arguments, payload_in_cell);
  ++out.sent;
  context_.far->carry(
      out, c,
      {.kind = kind, .arguments = arguments, .payload_bytes = payload_bytes, .payload_in_cell = payload_in_cell});
}

void endpoint::publish_observed(outgoing& out, cell& c, message_kind kind, std::uint32_t arguments,
                                bool payload_in_cell, std::uint32_t payload_bytes) noexcept {
  const std::uint64_t begin_ns = observed_span::begin(context_);  // before its receiver can handle the message
  publish_to_any(out, c, kind, arguments, payload_in_cell, payload_bytes);
  const std::uint64_t bytes = payload_bytes + arguments * sizeof(std::uint64_t);
  pair_counts& counts = counts_towards(context_, out.target);
  ++counts.messages;
  counts.message_bytes += bytes;
  record_event(context_, {.begin_ns = begin_ns,
                          .bytes = bytes,
                          .peer = out.target,
                          .sequence = static_cast<std::uint32_t>(out.sent),
                          .kind = event_kind::message,
                          .is_reply = out.is_reply});
}

// A call is a task, which records itself under its name (arrived_call).
void endpoint::run_observed(message_handler handler, message& m) {
  if (m.in.is_servers) ++server_->handled[m.source][m.is_reply ? 1 : 0];
  if (m.kind == message_kind::call) return handler(m);
  const std::uint64_t begin_ns = observed_span::begin(context_);
  const std::uint32_t sequence = sequence_of(m);
  handler(m);
  record_event(context_, {.begin_ns = begin_ns,
                          .bytes = m.payload_bytes + m.argument_count * sizeof(std::uint64_t),
                          .peer = m.source,
                          .sequence = sequence,
                          .kind = event_kind::handler,
                          .is_reply = m.is_reply});
}

void endpoint::publish_consumed(incoming& in, std::uint32_t source) noexcept {
  in.published = in.taken;
  in.data_published = in.data_taken;
  // release: our reads of the ring come before the producer's next writes to it
  in.from->consumed.data.store(in.data_taken, std::memory_order_release);
  in.from->consumed.cells.store(in.taken, std::memory_order_release);
  SITU_POINT(consumption_published);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (fences_) std::atomic_thread_fence(std::memory_order_seq_cst);
  if (in.from->producer_waits.look(std::memory_order_relaxed) != 0) [[unlikely]] {
    in.from->producer_waits.set(0, std::memory_order_relaxed);
    SITU_POINT(producer_forgotten);
    if (in.is_servers)
      detail::wake(server_->slot);
    else
      wake(source);
  }
}

// A message to code of a module that the job knows and this place does not have is not damaged. A call is answered
// with the error; no place waits for the answer to any other message.
message_handler endpoint::handler_for_missing(function_id function, message_kind kind, std::uint32_t source) const {
  if (!is_known_to_job(function)) return nullptr;
  if (kind == message_kind::call) return missing_code_handler_;
  throw_error(errc::bad_message, fmt::format("a message from place {} cannot be handled: {}", source,
                                             describe_missing_function(function)));
}

inline void endpoint::run(message_handler handler, message& m) {
#if defined(__SANITIZE_THREAD__)
  // Accesses that this place's agent made for other places happened before it answered them. If places are processes,
  // ThreadSanitizer does not see that.
  (void)job_->slot(context_.place).read_by_agent.load(std::memory_order_acquire);
#endif
  if (context_.observed) [[unlikely]]
    run_observed(handler, m);
  else
    handler(m);
  SITU_POINT(handler_returned);
  m.release();
}

// Every field is checked before use: a damaged message must not direct this place outside the channel or its own code.
// Most messages lie wholly in their cell; these are found by few comparisons, and dispatch_any() checks all others.
inline void endpoint::dispatch(incoming& in, std::uint32_t source, bool is_reply) {
  SITU_POINT(message_found);
  const cell& c = *in.next;
  invalidate_all();
  invalidate(&c, sizeof c);
  const std::uint64_t header = c.header.load(std::memory_order_relaxed);  // is_ready() has acquired it
  const auto arguments = static_cast<std::int32_t>(header & 0xff);
  const auto payload_bytes = static_cast<std::int32_t>(c.handler >> 48);
  const bool has_record_of_payload = (header >> 16 & 1) == 0 && payload_bytes != 0;
  const auto handler =
      reinterpret_cast<message_handler>(const_cast<void*>(find_function(c.handler & 0xffff'ffff'ffff)));
  if (!is_plain_form(header) || has_record_of_payload || handler == nullptr ||
      payload_bytes > (std::int32_t{cell::word_count} - arguments) * std::int32_t{sizeof(std::uint64_t)}) [[unlikely]]
    return dispatch_any(in, source, is_reply);
  message m{.self = *this,
            .in = in,
            .head = c,
            .more_words = nullptr,
            .payload = reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(c.words + arguments)),
            .payload_bytes = static_cast<std::uint64_t>(payload_bytes),
            .data_end = in.data_taken,
            .source = source,
            .argument_count = static_cast<std::uint32_t>(arguments),
            .words_in_cell = cell::word_count,
            .kind = static_cast<message_kind>(header >> 8 & 0xff),
            .is_reply = is_reply};
  run(handler, m);
}

void endpoint::dispatch_any(incoming& in, std::uint32_t source, bool is_reply) {
  const cell& c = *in.next;
  const std::uint64_t header = c.header.load(std::memory_order_relaxed);
  const auto arguments = static_cast<std::uint32_t>(header & 0xff);
  const auto kind = static_cast<message_kind>(header >> 8 & 0xff);
  const bool payload_in_cell = (header >> 16 & 1) != 0;
  const std::uint32_t words_in_cell = kind == message_kind::long_message ? cell::word_count - 2 : cell::word_count;
  const auto payload_bytes = static_cast<std::uint32_t>(c.handler >> 48);
  const std::uint32_t in_cell = std::min(arguments, words_in_cell);
  const std::uint32_t said_source = source_in(header);
  if (in.is_servers) source = said_source;
  const function_id function = c.handler & 0xffff'ffff'ffff;
  auto handler = reinterpret_cast<message_handler>(const_cast<void*>(find_function(function)));
  if (handler == nullptr) [[unlikely]]
    handler = handler_for_missing(function, kind, source);
  const bool bad = handler == nullptr || (in.is_servers ? source >= peers_.size() : said_source != 0) ||
                   arguments > max_arguments || payload_bytes > max_medium_bytes ||
                   kind < message_kind::short_message || kind > message_kind::call ||
                   (payload_in_cell && payload_bytes > (cell::word_count - in_cell) * sizeof(std::uint64_t));
  if (bad) [[unlikely]] {
    throw_error(errc::bad_message,
                fmt::format("message {} from place {} is damaged (header {:#x}, handler {:#x}): a stray write into the "
                            "channels of place {}, or places of different builds",
                            in.taken, source, header, c.handler, context_.place));
  }
  message m{.self = *this,
            .in = in,
            .head = c,
            .more_words = nullptr,
            .payload = reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(c.words + in_cell)),
            .payload_bytes = payload_bytes,
            .data_end = in.data_taken,
            .source = source,
            .argument_count = arguments,
            .words_in_cell = words_in_cell,
            .kind = kind,
            .is_reply = is_reply};
  const std::uint32_t more_bytes = (arguments - in_cell) * static_cast<std::uint32_t>(sizeof(std::uint64_t));
  const std::uint32_t payload_offset = (more_bytes + 15) & ~15U;
  const std::uint32_t record_bytes = payload_in_cell ? more_bytes : payload_offset + payload_bytes;
  if (record_bytes != 0) {
    const record_place record = next_record(in.data_taken, record_bytes);
    std::byte* const data = in.from->data + record.begin % channel::data_bytes;
    m.more_words = reinterpret_cast<const std::uint64_t*>(data);
    if (!payload_in_cell) m.payload = data + payload_offset;
    m.data_end = record.end;
    invalidate(data, record_bytes);
  }
  run(handler, m);
}

// Returns whether it has taken in any. pre: in.is_ready().
template <endpoint::taking What>
bool endpoint::drain(incoming& in, std::uint32_t source, bool is_reply) {
  const std::uint32_t poll = polls_;
  std::uint32_t count = 0;
  do {
    if constexpr (What == taking::handlers) {
      if (in.is_call_next()) {
        met_call_ = true;
        if (count == 0) return false;
        break;
      }
    }
    dispatch(in, source, is_reply);
    // Stop if a handler has waited: another poll has begun by then, and that poll looks at the other channels.
  } while (++count < messages_a_turn && poll == polls_ && in.is_ready());
  // Fewer than a quarter of the cells may stay unpublished without blocking the producer. Data may not: a record needs
  // contiguous room.
  if (in.data_published != in.data_taken) publish_consumed(in, source);
  return true;
}

template <endpoint::taking What>
bool endpoint::look_at_hosts(bool all) {
  host_server_end& from = *server_;
  bool any = false;
  // Credits can wait unless somebody waits for them.
  if (context_.far != nullptr && (all || polls_ % polls_a_look_there == 0 || context_.far->is_outstanding()))
    any |= context_.far->poll();
  if (from.reply_in.is_ready()) any |= drain<What>(from.reply_in, 0, true);
  if (from.request_in.is_ready()) any |= drain<What>(from.request_in, 0, false);
  return any;
}

bool endpoint::poll(bool all) {
  ++polls_;
#if defined(SITU_MODEL)
  if (!given_back_.empty()) send_given_back();
#endif
  if (SITU_LOSS_CHECK(poll) && job_->failure_epoch.load(std::memory_order_relaxed) != failure_epoch_) [[unlikely]]
    note_failures();
  const auto look_at = [this](peer& from, std::uint32_t p) {
    bool found = false;
    if (from.reply_in.is_ready()) found = drain<taking::all>(from.reply_in, p, true);
    if (from.request_in.is_ready()) found = drain<taking::all>(from.request_in, p, false);
    return found;
  };
  const std::uint32_t places = context_.place_count;
  bool any = server_ != nullptr && look_at_hosts<taking::all>(all);
  if (places <= places_polled_all || all) {
    std::uint32_t p = 0;
    for (peer& from : peers_) any |= look_at(from, p++);
    return any;
  }
  for (const std::uint32_t p : likely_) any |= look_at(peers_[p], p);
  for (std::uint32_t i = 0; i < rotation_step; ++i) {
    rotation_ = rotation_ + 1 < places ? rotation_ + 1 : 0;
    if (!look_at(peers_[rotation_], rotation_)) continue;
    any = true;
    std::copy_backward(likely_, likely_ + 3, likely_ + 4);
    likely_[0] = rotation_;
  }
  return any;
}

bool endpoint::poll_replies() {
  if (SITU_LOSS_CHECK(poll_replies) && job_->failure_epoch.load(std::memory_order_relaxed) != failure_epoch_)
      [[unlikely]]
    note_failures();
  bool any = server_ != nullptr && server_->reply_in.is_ready() && drain<taking::handlers>(server_->reply_in, 0, true);
  for (std::uint32_t p = 0; p < peers_.size(); ++p) {
    if (peers_[p].reply_in.is_ready()) any |= drain<taking::handlers>(peers_[p].reply_in, p, true);
  }
  return any;
}

endpoint::found endpoint::poll_handlers() {
  if (SITU_LOSS_CHECK(poll_handlers) && job_->failure_epoch.load(std::memory_order_relaxed) != failure_epoch_)
      [[unlikely]]
    note_failures();
  met_call_ = false;
  bool any = server_ != nullptr && look_at_hosts<taking::handlers>(false);
  std::uint32_t p = 0;
  for (peer& from : peers_) {
    if (from.reply_in.is_ready()) any |= drain<taking::handlers>(from.reply_in, p, true);
    if (from.request_in.is_ready()) {
      if (from.request_in.is_call_next())  // as drain finds, sooner
        met_call_ = true;
      else
        any |= drain<taking::handlers>(from.request_in, p, false);
    }
    ++p;
  }
  return met_call_ ? found::call : any ? found::messages : found::nothing;
}

void endpoint::note_failures() noexcept {
  failure_epoch_ = job_->failure_epoch.load(std::memory_order_acquire);  // pairs with mark_lost: states are set before
  for (std::uint32_t p = 0; p < peers_.size(); ++p) {
    if (!SITU_LOSS_CHECK(room) || !has_ended(job_->slot(p).state.load(std::memory_order_acquire))) continue;
    close(peers_[p]);
  }
}

void endpoint::close(peer& to) {
  if (!scratch_) scratch_ = std::make_unique<channel>();
  for (outgoing* out : {&to.request_out, &to.reply_out}) {
    if (out->closed) continue;
    out->closed = true;
    out->to = scratch_.get();
    // "full": the fast path gives way to wait_for_room, which throws or drops
    out->seen = out->sent - channel::cell_count;
  }
}

void endpoint::wake(std::uint32_t place) noexcept { detail::wake(job_->slot(place)); }

void wake_awaiting(std::uintptr_t address) noexcept {
  const place_context& context = *current;
  place_slot& slot = context.job->slot(static_cast<std::uint32_t>((address - context.base) >> context.slice_shift));
  if ((slot.awaited.words().lines.load(std::memory_order_relaxed) & awaited_bit(address)) != 0) wake(slot);
}

const std::byte* awaited_words_of(job_control& control) noexcept {
  return reinterpret_cast<const std::byte*>(&control.slot(0).awaited.words().lines);
}

void endpoint::prepare_sleep(std::uint64_t awaited) noexcept {
  place_slot& own = job_->slot(context_.place);
  by_bell_ = context_.far != nullptr && context_.far->is_outstanding();
  own.sleeping.store(by_bell_ ? asleep_by_bell : asleep_on_word, std::memory_order_seq_cst);
  if (awaited != 0) own.awaited.words().lines.store(awaited, std::memory_order_seq_cst);
  SITU_POINT(sleep_announced);
  if (!fences_) order_processes();
}

void endpoint::cancel_sleep() noexcept {
  place_slot& own = job_->slot(context_.place);
  own.sleeping.store(0, std::memory_order_relaxed);
  own.awaited.words().lines.store(0, std::memory_order_relaxed);
}

bool endpoint::sleep(std::int64_t timeout_ns) noexcept {
  SITU_POINT(about_to_sleep);
  if (context_.far != nullptr) [[unlikely]]
    if (by_bell_ || context_.far->is_outstanding()) return sleep_by_bell(timeout_ns);
  wait_on_word(job_->slot(context_.place).sleeping, asleep_on_word, timeout_ns);
  SITU_POINT(woken);
  if (timeout_ns >= 0 && job_->slot(context_.place).sleeping.load(std::memory_order_relaxed) != 0) return true;
  cancel_sleep();
  return false;
}

bool endpoint::sleep_by_bell(std::int64_t timeout_ns) noexcept {
  // If by_bell_ is false, a registered thread has begun a far operation since the sleep was announced: look again.
  const bool is_late = by_bell_ && context_.far->sleep(timeout_ns);
  SITU_POINT(woken);
  if (is_late && job_->slot(context_.place).sleeping.load(std::memory_order_relaxed) != 0) return true;
  cancel_sleep();
  return false;
}

}  // namespace situ::detail
