// The engine of a conveyor: for each target a buffer that is being filled, and buffers that are under way.
//
//   push -> | items ...      free | --- full, or the place idle: a call with the buffer's address ---> read in place,
//             in this segment                                                                          then free again
//
// Invariants
//   1. Items from a place to a target are handled in the order in which they were pushed (calls of one channel begin in
//      order), unless a handler waits. Items that a place pushes to itself outside of handlers need no call: the outbox
//      handles them where it would send them. (A caller that asks handles_here() may handle an item without a buffer.)
//   2. A target has at most `buffers` buffers: a push outside of a handler waits for one. Handlers do not wait but get
//      further buffers, since two places whose handlers wait for each other's buffers would deadlock.
//   3. All buffered items belong to one finish scope, that of flusher_. The flusher is a task of that scope and sends
//      the items when the scheduler runs it, so the scope does not end before its items are handled.
//
// The receiver reads a buffer in place: on one host nothing is copied. It checks the address against the sender's
// segment. Not thread-safe: an outbox belongs to its place's thread.
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
#include <source_location>
#include <vector>

namespace situ::detail {

[[noreturn]] void throw_no_such_place(std::uint32_t index);  // fabric

class outbox {
 public:
  // Handles the items of a batch.
  using batch_handler = void (*)(void* self, const std::byte* items, std::size_t bytes);

  outbox(const object_id& id, batch_handler handler, void* self, std::size_t buffer_bytes, std::uint32_t buffers,
         const team& members);
  // pre: all batches are settled, or given up.
  ~outbox();
  outbox(const outbox&) = delete;
  outbox& operator=(const outbox&) = delete;

  // Throws bad_argument if `to` is not a place, or not a member of the team.
  void check_target(place to) const {
    if (to.index() >= lanes_.size() || !lanes_[to.index()].is_member) [[unlikely]]
      throw_no_target(to);
  }
  // Returns room for one item, which the caller must write before it does anything else. May wait. Throws
  // place_lost_error, out_of_memory, and errors of earlier batches' handlers.
  [[nodiscard]] std::byte* reserve(std::uint32_t target, std::size_t bytes) {
    lane& to = lanes_[target];
    if (bytes > static_cast<std::size_t>(to.end - to.at) || scope_ != running_scope()) [[unlikely]]
      make_room(to, bytes);
    ++pushed_;
    std::byte* const at = to.at;
    to.at += bytes;
    return at;
  }
  // Returns true if the caller should handle an item for this place at once, and count it with note_handled().
  [[nodiscard]] bool handles_here(std::uint32_t target) const noexcept {
    return target == current->place && (handling_.empty() || !is_handling());
  }
  void note_handled() noexcept { ++pushed_; }

  // Sends the buffered items, to one place or to all.
  void send(std::uint32_t target);
  void send_all() { send_all(own_items::handled); }
  // Waits until all items that this place has pushed, for one target or for all, are handled. Throws the first error
  // when all are done.
  void settle(std::uint32_t target);
  void settle_all();
  // As settle_all(), together with the other members: waits for them, too. Collective. Losses as in drain().
  void settle_together(const team& members, const std::source_location& where);
  // Returns true if items for a target are not known to be handled.
  [[nodiscard]] bool is_pending(std::uint32_t target) noexcept;
  // Abandons the batches under way without waiting. `failure`, if there is one, and unreported errors go to the running
  // finish scope.
  void give_up(std::exception_ptr failure) noexcept;
  // Waits until all items that the members of a team have pushed are handled, including those that handlers push.
  // Collective: throws a handler's error when all members are done, even if the error is the loss of a place that is
  // not a member. The loss of such a place ends no wait of this call: the task is told of it by its next wait.
  void drain(const team& members);

  // The object that the handler is called with.
  [[nodiscard]] void* self() const noexcept { return self_; }
  // Size of the buffers that are allocated now, in bytes.
  [[nodiscard]] std::size_t buffer_bytes() const noexcept { return held_bytes_; }

  // Handles a batch; for the call that carries it.
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
  // How send() treats a batch for this place itself: the sender handles it if all earlier ones are handled, or it is
  // sent as a call.
  enum class own_items : std::uint8_t { handled, called };

  // The first error of several steps.
  struct outcome {
    std::exception_ptr first;
    template <class Step>
    void keep(Step step) noexcept;
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
  std::uint64_t scope_ = no_scope_;  // the finish scope of the buffered items
  flusher* flusher_ = nullptr;
  std::vector<const void*> handling_;  // the tasks that are handling batches
  std::uint64_t pushed_ = 0;
  std::size_t held_bytes_ = 0;
  std::uint32_t waiting_ = 0;  // pushes that wait for a buffer; while there are any, the place is not idle
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
