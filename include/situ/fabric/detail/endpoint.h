// A place's end of all its channels: sends active messages, polls for those that arrive, sleeps when there are none.
//
// This is the shared-memory fabric. Not thread-safe: an endpoint belongs to its place's thread. Two rules keep it free
// of deadlock:
//   1. Requests and replies travel apart. A handler of a reply sends nothing, so replies always drain; a request's
//      handler may send one reply, and while there is no room for the reply it takes in replies only.
//   2. A place that waits for room to send a request goes on taking in everything (room_waiter_, which the runtime
//      replaces by one that suspends the fiber).
// Sleep: the place sets slot.sleeping, makes that visible (membarrier, or senders fence: see
// job_control::sender_fences), looks for messages once more, and only then waits on the word. A sender publishes first
// and looks at `sleeping` after, so one of the two sees the other. A place that waits for other hosts sleeps on its
// network and its bell instead (memory/bell.h); a place that wakes it rings the bell.
#pragma once

#include <situ/base/detail/test_points.h>
#include <situ/fabric/detail/carry.h>
#include <situ/fabric/detail/channel.h>
#include <situ/fabric/detail/function_id.h>
#include <situ/memory/detail/place_context.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace situ::detail {

class endpoint;
struct place_slot;  // memory/job.h

// The producer's end of a channel.
struct outgoing {
  channel* to = nullptr;
  std::uint64_t sent = 0;       // cells
  std::uint64_t seen = 0;       // cells known to be consumed
  std::uint64_t data_sent = 0;  // bytes
  std::uint64_t data_seen = 0;
  std::uint32_t target = 0;
  bool is_reply = false;
  bool closed = false;  // the target is lost
  bool is_far = false;  // on another host: `to` is this place's window, or scratch_ before the first message
};

// The consumer's end of a channel.
struct incoming {
  const cell* next = nullptr;  // the cell to look at next; `expected` is the sequence number that makes it a message
  std::uint32_t expected = 1;
  bool is_servers = false;  // it is the server's: each cell names its sender
  channel* from = nullptr;
  std::uint64_t taken = 0;  // cells
  std::uint64_t data_taken = 0;
  std::uint64_t published = 0;
  std::uint64_t data_published = 0;

  explicit incoming(channel& c, bool of_server = false) noexcept : next{c.cells}, is_servers{of_server}, from{&c} {}
  [[nodiscard]] bool is_ready() const noexcept {
    // invariant 2 of channel.h
    return static_cast<std::uint32_t>(next->header.load(std::memory_order_acquire) >> 32) == expected;
  }
  // pre: is_ready().
  [[nodiscard]] bool is_call_next() const noexcept {
    return static_cast<message_kind>(next->header.load(std::memory_order_relaxed) >> 8 & 0xff) == message_kind::call;
  }
};

// A received message, as its handler finds it. Arguments and payload are in the channel until release().
struct message {
  endpoint& self;
  incoming& in;
  const cell& head;
  const std::uint64_t* more_words;  // arguments beyond those in the cell
  std::byte* payload;
  std::uint64_t payload_bytes;
  std::uint64_t data_end;
  std::uint32_t source;
  std::uint32_t argument_count;
  std::uint32_t words_in_cell;
  message_kind kind;
  bool is_reply;
  bool answered = false;
  bool released = false;

  [[nodiscard]] std::uint64_t argument(std::uint32_t i) const noexcept {
    return i < cell::word_count && i < words_in_cell ? head.words[i] : more_words[i - words_in_cell];
  }
  // Gives the message's room back to its sender. The handler must not use arguments and payload afterwards.
  void release() noexcept;
};

using message_handler = void (*)(message&);

// Room for one message, which the caller fills and sends. The caller sends nothing else on the channel before that.
struct draft {
  outgoing& out;
  cell& head;
  std::uint64_t* more_words;
  std::byte* payload;
  std::uint64_t data_end;
  std::uint32_t words_in_cell;
  std::uint32_t argument_count;
  bool payload_in_cell;

  void set_argument(std::uint32_t i, std::uint64_t value) noexcept {
    (i < cell::word_count && i < words_in_cell ? head.words[i] : more_words[i - words_in_cell]) = value;
  }
};

inline constexpr std::uint32_t max_arguments = 16;
// Half the ring less the arguments' part, so that a record fits contiguously at any position.
inline constexpr std::uint32_t max_medium_bytes = channel::data_bytes / 2 - 512;
static_assert(max_medium_bytes <= UINT16_MAX);

class endpoint {
 public:
  static constexpr std::uint32_t messages_a_turn = 32;  // taken in from one channel before the next one is polled

  // pre: the address space is mapped and the context's geometry set.
  endpoint(place_context& context, std::uint64_t channel_offset);
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;

  // Returns the bytes at the start of every slice that the channels of a job of this size take.
  [[nodiscard]] static std::uint64_t channel_bytes(std::uint32_t place_count, bool has_servers = false) noexcept {
    return sizeof(channel_pair) * (std::uint64_t{place_count} + has_servers);
  }

  // Returns the channels by which a host's server writes to that place: at the start of the place's slice, behind
  // those of all places. pre: the job has servers.
  [[nodiscard]] static channel_pair& channels_of_server(const place_context& context, std::uint32_t place) noexcept;

  // From now on also takes in the messages that this host's server writes to `from`, and wakes the server by its slot.
  // Both outlive this, unless forget_server() is called before they end. In a job over several hosts the constructor
  // calls it.
  void hear_server(channel_pair& from, place_slot& server);
  // From now on sends to places of other hosts by context.far, which opens a window before the first message to a
  // place.
  void send_by_hosts();
  // Restores the channels that were in use before send_by_hosts(). pre: all messages sent by hosts have been
  // delivered.
  void send_by_channels() noexcept;
  // pre: no handler runs.
  void forget_server() noexcept { server_.reset(); }

  [[nodiscard]] outgoing& requests_to(std::uint32_t place) noexcept { return peers_[place].request_out; }
  [[nodiscard]] outgoing& replies_to(std::uint32_t place) noexcept { return peers_[place].reply_out; }

  // Returns room for a message; waits if there is none. pre: arguments <= max_arguments, payload_bytes <=
  // max_medium_bytes. Throws place_lost_error when the target is lost (a reply to a lost place is dropped: room in a
  // scratch cell is returned).
  [[nodiscard]] draft begin(outgoing& out, std::uint32_t arguments, std::uint32_t payload_bytes,
                            std::uint32_t words_in_cell = cell::word_count);
  void send(const draft& message, message_kind kind, function_id handler, std::uint32_t payload_bytes) noexcept;

  // The common case, without a draft. pre: arguments <= cell::word_count.
  void send_short(outgoing& out, function_id handler, const std::uint64_t* arguments, std::uint32_t count) {
    if (out.sent - out.seen >= channel::cell_count) [[unlikely]]
      wait_for_room(out, 0);
    cell& c = out.to->cells[out.sent % channel::cell_count];
    c.handler = handler;
    for (std::uint32_t i = 0; i < count; ++i) c.words[i] = arguments[i];
    publish(out, c, message_kind::short_message, count, false, 0);
  }

  // Sends a message whose words and payload fit one cell, without a draft: write(std::byte*) fills the payload. pre:
  // `Words` words and `bytes` bytes fit a cell.
  template <std::size_t Words, class Write>
  void send_in_cell(outgoing& out, message_kind kind, function_id handler,
                    const std::array<std::uint64_t, Words>& words, std::uint32_t bytes, Write write) {
    if (out.sent - out.seen >= channel::cell_count) [[unlikely]]
      wait_for_room(out, 0);
    cell& c = out.to->cells[out.sent % channel::cell_count];
    c.handler = std::uint64_t{bytes} << 48 | handler;
    for (std::size_t i = 0; i < Words; ++i) c.words[i] = words[i];
    write(reinterpret_cast<std::byte*>(c.words + Words));
    publish(out, c, kind, Words, true, bytes);
  }

  // Runs the handlers of the messages that have arrived; returns true if there were any. `all`: looks at every
  // channel, not only at the likely ones.
  bool poll(bool all = false);
  // As poll(), for messages that are no calls, and therefore on any stack; stops at the first call of each channel. It
  // looks at every channel: for small jobs.
  enum class found { nothing, messages, call };
  found poll_handlers();
  // Takes in replies only: for a handler that waits for room.
  bool poll_replies();

  // Steps of an idle loop: prepare, poll(true) and look at awaited words once more, then sleep or cancel. `awaited`:
  // the lines of these words (awaited_bit).
  void prepare_sleep(std::uint64_t awaited = 0) noexcept;
  void cancel_sleep() noexcept;
  // Sleeps until another place wakes this one, or for the given time; a negative time is no limit. Returns true if the
  // time was over: then the place is still prepared, and may sleep again after another look.
  bool sleep(std::int64_t timeout_ns = -1) noexcept;
  // Wakes a place that may be waiting for something that this place has just written.
  void wake(std::uint32_t place) noexcept;

  [[nodiscard]] bool has_room(outgoing& out, std::uint32_t record_bytes) noexcept;
  // Asks the consumer to wake this place when it makes room.
  void ask_for_wake(outgoing& out) noexcept;

  [[nodiscard]] place_context& context() const noexcept { return context_; }
  [[nodiscard]] std::uint32_t failure_epoch() const noexcept { return failure_epoch_; }
  [[nodiscard]] bool is_lost(std::uint32_t place) const noexcept { return peers_[place].request_out.closed; }
  // Messages sent to a place so far, requests and replies together.
  [[nodiscard]] std::uint64_t messages_sent(std::uint32_t place) const noexcept {
    return peers_[place].request_out.sent + peers_[place].reply_out.sent;
  }
  using room_waiter = void (*)(endpoint&, outgoing&, std::uint32_t record_bytes);
  void set_room_waiter(room_waiter waiter) noexcept { room_waiter_ = waiter; }
  // Sets the handler of calls to code of a module that this place does not have; it reports the error to the caller.
  // Without it such a call counts as damaged.
  void set_missing_code_handler(message_handler handler) noexcept { missing_code_handler_ = handler; }

  // Returns the number of the message among its sender's messages on that channel, from 1 on, as the sender counts
  // them. pre: this place is observed, and the message is being handled.
  [[nodiscard]] std::uint32_t sequence_of(const message& m) const noexcept {
    return m.in.is_servers ? server_->handled[m.source][m.is_reply ? 1 : 0]
                           : static_cast<std::uint32_t>(m.in.taken + 1);
  }

  // True inside a handler of an active message, where nothing may block or send a request.
  [[nodiscard]] bool in_handler() const noexcept { return handler_depth_ != 0; }

  // Counts one running handler while it exists.
  class handler_scope {
   public:
    explicit handler_scope(endpoint& self) noexcept : self_{self} { ++self_.handler_depth_; }
    ~handler_scope() { --self_.handler_depth_; }
    handler_scope(const handler_scope&) = delete;
    handler_scope& operator=(const handler_scope&) = delete;

   private:
    endpoint& self_;
  };

 private:
  friend struct message;
  struct peer {
    incoming request_in, reply_in;  // first, since every poll looks at them
    outgoing request_out, reply_out;
  };
  struct host_server_end {
    incoming request_in, reply_in;
    place_slot& slot;
    // In an observed job: the number of messages from each place so far, requests and replies. Messages of one pair of
    // places arrive in order.
    std::vector<std::array<std::uint32_t, 2>> handled{};
  };

  void publish(outgoing& out, cell& c, message_kind kind, std::uint32_t arguments, bool payload_in_cell,
               std::uint32_t payload_bytes) noexcept;
  void publish_unobserved(outgoing& out, cell& c, message_kind kind, std::uint32_t arguments,
                          bool payload_in_cell) noexcept;
  // Publishes a message if this place is observed, or messages to other hosts go by context.far.
  void publish_apart(outgoing& out, cell& c, message_kind kind, std::uint32_t arguments, bool payload_in_cell,
                     std::uint32_t payload_bytes) noexcept;
  void publish_to_any(outgoing& out, cell& c, message_kind kind, std::uint32_t arguments, bool payload_in_cell,
                      std::uint32_t payload_bytes) noexcept;
  // Also counts and traces the message.
  void publish_observed(outgoing& out, cell& c, message_kind kind, std::uint32_t arguments, bool payload_in_cell,
                        std::uint32_t payload_bytes) noexcept;
  void run_observed(message_handler handler, message& m);
  void look_for_room_there(outgoing& out);
  bool sleep_by_bell(std::int64_t timeout_ns) noexcept;
  void wait_for_room(outgoing& out, std::uint32_t record_bytes);
  enum class taking { all, handlers };
  template <taking What>
  bool drain(incoming& in, std::uint32_t source, bool is_reply);
  // Takes in messages of other hosts. pre: there is a server.
  template <taking What>
  bool look_at_hosts(bool all);
  inline void dispatch(incoming& in, std::uint32_t source, bool is_reply);  // in endpoint.cpp, for drain alone
  void dispatch_any(incoming& in, std::uint32_t source, bool is_reply);
  inline void run(message_handler handler, message& m);
  void publish_consumed(incoming& in, std::uint32_t source) noexcept;
  void note_failures() noexcept;
  // Stops sending to that place.
  void close(peer& to);
  [[nodiscard]] message_handler handler_for_missing(function_id function, message_kind kind,
                                                    std::uint32_t source) const;

#if defined(SITU_MODEL)
  static bool give_back_later(place_context& context, std::uintptr_t block);
  void send_given_back();
  std::vector<std::uintptr_t> given_back_;  // blocks of other places, kept until there is room and no handler runs
#endif

  place_context& context_;
  job_control* job_;
  std::vector<peer> peers_;
  std::vector<std::pair<outgoing, outgoing>>
      by_channels_;                          // the channels to all places, kept while send_by_hosts() holds
  std::unique_ptr<host_server_end> server_;  // null if all places are on this host
  room_waiter room_waiter_;
  message_handler missing_code_handler_ = nullptr;
  std::unique_ptr<channel> scratch_;  // for replies to lost places; `to` of far places before the first message
  std::uint32_t failure_epoch_ = 0;
  std::uint32_t handler_depth_ = 0;
  std::uint32_t polls_ = 0;
  std::uint32_t rotation_ = 0;  // next channel to look at when there are too many to look at all
  std::uint32_t likely_[4]{};   // recent senders
  bool fences_ = false;
  bool publishes_apart_ = false;  // this place is observed, or sends to other hosts by context.far
  bool by_bell_ = false;          // this place sleeps on its bell
  bool met_call_ = false;         // poll_handlers has left a call in its channel
  sleeping_words sleeping_;
};

inline void message::release() noexcept {
  if (released) return;
  released = true;
  ++in.taken;
  in.next = in.from->cells + in.taken % channel::cell_count;
  in.expected = static_cast<std::uint32_t>(in.taken + 1);
  in.data_taken = data_end;
  // The consumer publishes a quarter of a ring at a time: it then writes the line once in 64 messages, and the
  // producer still always finds room.
  if (in.taken - in.published >= channel::cell_count / 4 ||
      in.data_taken - in.data_published >= channel::data_bytes / 4) [[unlikely]]
    self.publish_consumed(in, source);
}

inline void endpoint::publish(outgoing& out, cell& c, message_kind kind, std::uint32_t arguments, bool payload_in_cell,
                              std::uint32_t payload_bytes) noexcept {
  if (publishes_apart_) [[unlikely]]
    return publish_apart(out, c, kind, arguments, payload_in_cell, payload_bytes);
  publish_unobserved(out, c, kind, arguments, payload_in_cell);
}

inline void endpoint::publish_unobserved(outgoing& out, cell& c, message_kind kind, std::uint32_t arguments,
                                         bool payload_in_cell) noexcept {
  SITU_POINT(cell_filled);
  const std::uint64_t header = cell_header(++out.sent, kind, arguments, payload_in_cell);
  if (carry(c, header, out.target, sleeping_, fences_)) [[unlikely]] {
    SITU_POINT(sleeper_met);
    wake(out.target);
  }
}

}  // namespace situ::detail
