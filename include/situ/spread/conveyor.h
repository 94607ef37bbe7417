// conveyor<Item>: many small one-way items to other places, carried together.
//
//   std::vector<long> table(n);                                                  // at each place
//   situ::conveyor<update> updates{[&](update u) { table[u.index] ^= u.value; }};
//   situ::finish([&] { for (...) updates.push(owner, {index, value}); });        // all are handled
//
// push() writes an item into a buffer for its target. A buffer travels when it is full, and when the code that pushes
// waits (finish, barrier, flush, any wait); there the target's handler is called with each item, in the order in which
// this place pushed them. A handler is the conveyor's own at that place, so it may capture. It runs as part of a task:
// it may wait, and may push. An item is one of the finish scope that it is pushed in, with all that its handler pushes,
// so finish() waits for both; flush() waits for what this place has pushed, drain() for everything.
//
// Memory: for each target `buffers` buffers of `buffer_bytes`; then push() waits, and the place handles what arrives.
// Only handlers never wait in push(): theirs are bounded by what the items that are on their way make handlers push.
//
// Collective: the members of a team construct and destroy it together, in the same order. Belongs to the thread that
// made it. Errors: what a handler throws, and place_lost_error, come out of this place's next push(), flush() or
// drain() after the batch is over; what nobody was told until the end goes to the running finish scope. cost: of an
// item, two copies and the crossing of its bytes; of a buffer, a call (some hundred ns).
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

// How much a conveyor holds for each target.
struct conveyor_options {
  std::size_t buffer_bytes = 16 * 1024;  // of one buffer; a larger item travels alone
  std::uint32_t buffers = 4;             // one that is filled, the others on their way or free; at least 2
};

// One-way items of a type that travels, carried together; see above.
template <class Item>
class conveyor {
 public:
  // handler(item) is called at this place for what is pushed here; for what this place pushes to itself, too, a buffer
  // at a time. Where it throws, the items behind it in its buffer are lost. Throws bad_argument for options
  // that cannot be. cost: a barrier.
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

  // Sends an item on its way. Throws bad_argument where that is no member, and what the header says. cost: the copy,
  // and some ns.
  void push(place to, const Item& item) {
    outbox_.check_target(to);
    const std::size_t bytes = wire<Item>::size(item);
    wire_writer writer{outbox_.reserve(to.index(), bytes == 0 ? 1 : bytes)};
    wire<Item>::write(writer, item);
  }

  // Waits until all that this place has pushed is handled; what handlers have pushed then may be on its way. Throws
  // what the header says. cost: a round trip to each place that something is on its way to.
  void flush() { outbox_.settle_all(); }

  // Waits until all that any member has pushed is handled, also what handlers have pushed. Collective. cost: at least
  // two flushes, barriers and reductions.
  void drain() { outbox_.drain(members_); }

  // Bytes of buffers that it holds at this place now. cost: a load.
  [[nodiscard]] std::size_t buffer_bytes() const noexcept { return outbox_.buffer_bytes(); }

 private:
  static Item read_item(wire_reader& reader) {
    const std::size_t before = reader.left();
    Item item = wire<Item>::read(reader);
    if (reader.left() == before) (void)reader.take(1);  // one without bytes takes a byte
    return item;
  }

  int exceptions_before_ = std::uncaught_exceptions();
  std::unique_ptr<void, void (*)(void*)> handler_;
  team members_;
  detail::outbox outbox_;
};

}  // namespace situ
