// What a conveyor is made of: buffers of items, one that is being filled for each target, and some on their way.
//
//   push -> | items ...      free | --- full, or the place idle: a call with the buffer's address ---> read in place,
//             in this segment                                                                          then free again
//
// Invariants
//   1. Items from a place to a target are handled in the order in which they were pushed (calls of one channel begin in
//      order), unless a handler waits. What a place pushes to itself outside of handlers needs no call: it is handled
//      where it would be sent. (Whoever asks handles_here() may handle an item without a buffer.)
//   2. A target has at most `buffers` buffers: who pushes outside of handlers waits for one. Handlers do not wait,
//   since
//      two places whose handlers wait for each other's buffers would do so for ever: they get further buffers.
//   3. What lies in buffers belongs to one finish scope, that of flusher_, a task of it which sends them once the place
//      comes to it. So a scope does not end before its items are handled.
// A buffer is read where it lies: on one host nothing is copied. The address is held against the sender's segment.
// Not thread-safe: belongs to its place's thread.
#pragma once

#include <situ/memory/ptr.h>
#include <situ/runtime/detail/scheduler.h>
#include <situ/runtime/future.h>
#include <situ/runtime/team.h>
#include <situ/spread/detail/registry.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <vector>

namespace situ::detail {

[[noreturn]] void throw_no_such_place(std::uint32_t index);  // fabric

class outbox {
 public:
  // Handles the items of a batch.
  using batch_handler = void (*)(void* self, const std::byte* items, std::size_t bytes);

  outbox(const object_id& id, batch_handler handler, void* self, std::size_t buffer_bytes, std::uint32_t buffers,
         const team& members);
  // pre: settled, or given up.
  ~outbox();
  outbox(const outbox&) = delete;
  outbox& operator=(const outbox&) = delete;

  // Throws bad_argument where a place is none, or none of the team's.
  void check_target(place to) const {
    if (to.index() >= lanes_.size() || !lanes_[to.index()].is_member) [[unlikely]]
      throw_no_target(to);
  }
  // Room for one item, to be written before anything else is done. May wait. Throws place_lost_error, out_of_memory,
  // and what an earlier batch's handler threw.
  [[nodiscard]] std::byte* reserve(std::uint32_t target, std::size_t bytes) {
    lane& to = lanes_[target];
    if (bytes > static_cast<std::size_t>(to.end - to.at) || scope_ != running_scope()) [[unlikely]]
      make_room(to, bytes);
    ++pushed_;
    std::byte* const at = to.at;
    to.at += bytes;
    return at;
  }
  // Whether an item for this place is to be handled at once; note_handled() counts it.
  [[nodiscard]] bool handles_here(std::uint32_t target) const noexcept {
    return target == current->place && (handling_.empty() || !is_handling());
  }
  void note_handled() noexcept { ++pushed_; }

  // Sends what lies in buffers, to one place or to all.
  void send(std::uint32_t target);
  void send_all() { send_all(own_items::handled); }
  // Waits until what this place has pushed, for one target or for all, is handled. Throws what first went wrong, when
  // all is over.
  void settle(std::uint32_t target);
  void settle_all();
  // The same of all, but returns what went wrong with batches, be it the loss of a place: then all is handled. Throws
  // where a loss has ended a wait of its own: then it may not be.
  [[nodiscard]] std::exception_ptr settle_to_its_end();
  // Whether items for a target are not known to be handled.
  [[nodiscard]] bool is_pending(std::uint32_t target) noexcept;
  // Ends what is under way without waiting. `failure`, if any, and those that nobody was told of go to the running
  // finish scope.
  void give_up(std::exception_ptr failure) noexcept;
  // Waits until all that the members of a team have pushed is handled, with what handlers push. Collective: a handler's
  // error is thrown when all are through, also if it has lost a place that is no member.
  void drain(const team& members);

  // Whose items these are.
  [[nodiscard]] void* self() const noexcept { return self_; }
  // Bytes of buffers at this moment.
  [[nodiscard]] std::size_t buffer_bytes() const noexcept { return held_bytes_; }

  // For the call that carries a batch.
  void handle(const std::byte* items, std::size_t bytes);

 private:
  struct buffer {
    ptr<std::byte> at;
    std::size_t bytes = 0;
  };
  struct batch {
    buffer items;
    future<> handled;
  };
  struct lane {
    std::byte* at = nullptr;
    std::byte* end = nullptr;
    buffer filling;
    std::deque<batch> under_way;
    std::vector<buffer> free;
    std::uint32_t target = 0;
    bool is_member = false;
  };
  struct flusher;
  // A batch for this place itself: handled by who sends it, where all before it are, or by a call as any.
  enum class own_items : std::uint8_t { handled, called };

  // What first went wrong, and whether a loss has ended what this place itself did: a wait, or a call.
  struct outcome {
    std::exception_ptr first;
    bool is_ended = false;
    // Whether the step has thrown the loss of a place.
    template <class Step>
    bool keep(Step step);
  };
  [[nodiscard]] static std::uint64_t running_scope() noexcept;
  [[nodiscard]] bool is_handling() const noexcept;
  [[noreturn]] void throw_no_target(place to) const;
  void make_room(lane& to, std::size_t bytes);
  void enter_scope();
  void send_all(own_items how);
  void flush_now(flusher& of, own_items how);
  void send(lane& to, own_items how = own_items::handled);
  void handle_own(lane& here, buffer items, std::size_t bytes);
  void collect(lane& to);
  void settle(lane& to, outcome& all);
  [[nodiscard]] outcome settle_lanes();
  void send_lanes(own_items how, outcome& all);
  void get_buffer(lane& to, std::size_t bytes);
  void release(buffer& b) noexcept;
  void retire(lane& to, buffer& b) noexcept;

  std::vector<lane> lanes_;
  std::uint64_t scope_ = no_scope_;  // that what lies in buffers belongs to
  flusher* flusher_ = nullptr;
  std::vector<const void*> handling_;  // tasks that handle batches
  std::uint64_t pushed_ = 0;
  std::size_t held_bytes_ = 0;
  std::uint32_t waiting_ = 0;  // pushes that wait for a buffer: then the place is not idle
  object_id id_;
  batch_handler handler_;
  void* self_;
  std::size_t buffer_bytes_;
  std::uint32_t buffers_;
  static constexpr std::uint64_t no_scope_ = ~std::uint64_t{0};
};

inline std::uint64_t outbox::running_scope() noexcept {
  const task_context* const task = current->scheduler->task();
  return task == nullptr ? 0 : task->finish_key;
}

}  // namespace situ::detail
