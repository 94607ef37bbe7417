// conveyor<Item>: sends many small one-way items to other places in batches.
//
//   std::vector<long> table(n);                                                  // at each place
//   situ::conveyor<update> updates{[&](update u) { table[u.index] ^= u.value; }};
//   situ::finish([&] { for (...) updates.push(owner, {index, value}); });        // all are handled
//
// push() writes an item into a buffer for its target. A buffer is sent when it is full, and when the code that pushes
// waits (finish, barrier, flush, any wait). The target then calls its handler with each item, in the order in which
// this place pushed them. Each place has its own handler, so a handler may capture. It runs as part of a task: it may
// wait, and may push. An item belongs to the finish scope in which it is pushed, as do all items that its handler
// pushes, so finish() waits for both; flush() waits for the items that this place has pushed, drain() for all items.
//
// Memory: at most `buffers` buffers of `buffer_bytes` for each target; if all are in use, push() waits, and the place
// handles arriving items. Handlers never wait in push(); their memory is bounded by the items that the items under way
// make handlers push.
//
// Collective: the members of a team construct and destroy it together, in the same order. It belongs to the thread that
// made it. Errors: exceptions of handlers, and place_lost_error, are thrown by this place's next push(), flush() or
// drain() after the batch is over; errors that are still unreported at the end go to the running finish scope. cost:
// for an item, two copies and the transfer of its bytes; for a buffer, a call (some hundred ns).
#pragma once

#include <situ/runtime/collective.h>
#include <situ/runtime/serialize.h>
#include <situ/spread/detail/outbox.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace situ {

// Buffer space that a conveyor may use for each target.
struct conveyor_options {
  std::size_t buffer_bytes = 16 * 1024;  // of one buffer; a larger item is sent alone
  std::uint32_t buffers = 4;             // one is being filled, the others are under way or free; at least 2
};

// Sends one-way items of a type that travels, in batches; see above.
template <class Item>
class conveyor {
 public:
  // handler(item) is called at this place for each item that is pushed to it, including this place's own pushes, a
  // buffer at a time. If the handler throws, the items after that one in its buffer are lost. Throws bad_argument if
  // the options are invalid. cost: a barrier.
  template <class Handler>
    requires std::invocable<Handler&, Item>
  explicit conveyor(Handler handler, const conveyor_options& options = {}, const team& members = world())
      : handler_{new Handler{std::move(handler)}, [](void* h) { delete static_cast<Handler*>(h); }},
        members_{members},
        outbox_{detail::next_object_id(members, detail::name_hash<conveyor>()),
                [](void* h, const std::byte* items, std::size_t bytes) {
                  wire_reader reader{items, bytes};
                  while (reader.left() != 0) (*static_cast<Handler*>(h))(read_item(reader));
                },
                handler_.get(),
                options.buffer_bytes,
                options.buffers,
                members} {
    static_assert(
        travels<Item>,
        "situ: the items of a conveyor travel by value, and this type does not: see situ/runtime/serialize.h");
    barrier(members_);
  }
  // Collective: drains, unless an exception or a loss ends its scope.
  ~conveyor() {
    std::exception_ptr failure;
    if (std::uncaught_exceptions() == exceptions_before_ && detail::current->runtime != nullptr) {
      try {
        drain();
      } catch (...) {
        failure = std::current_exception();
      }
    }
    outbox_.give_up(std::move(failure));
  }
  conveyor(const conveyor&) = delete;
  conveyor& operator=(const conveyor&) = delete;

  // Pushes an item for a place. Throws bad_argument if `to` is not a member, and the errors described above. cost: the
  // copy, and some ns.
  void push(place to, const Item& item) {
    outbox_.check_target(to);
    const std::size_t bytes = wire<Item>::size(item);
    wire_writer writer{outbox_.reserve(to.index(), bytes == 0 ? 1 : bytes)};
    wire<Item>::write(writer, item);
  }

  // Waits until all items that this place has pushed are handled; items that their handlers have pushed may still be
  // under way. Throws as described above. cost: a round trip to each place that has items under way.
  void flush() { outbox_.settle_all(); }

  // Waits until all items that any member has pushed are handled, including those that handlers push. Collective. cost:
  // at least two flushes, barriers and reductions.
  void drain() { outbox_.drain(members_); }

  // Returns the size of the buffers that the conveyor holds at this place now, in bytes. cost: a load.
  [[nodiscard]] std::size_t buffer_bytes() const noexcept { return outbox_.buffer_bytes(); }

 private:
  static Item read_item(wire_reader& reader) {
    const std::size_t before = reader.left();
    Item item = wire<Item>::read(reader);
    if (reader.left() == before) (void)reader.take(1);  // an item without bytes takes one byte
    return item;
  }

  int exceptions_before_ = std::uncaught_exceptions();
  std::unique_ptr<void, void (*)(void*)> handler_;
  team members_;
  detail::outbox outbox_;
};

}  // namespace situ
