#include <situ/spread/detail/queue_core.h>

#include <situ/base/error_code.h>

namespace situ::detail {

bool was_taken(push_outcome outcome) {
  if (outcome == push_outcome::closed)
    throw_error(errc::bad_argument,
                "the queue is closed: nothing can be pushed any more. Close it once all have pushed");
  return outcome == push_outcome::taken;
}

void check_capacity(std::size_t capacity) {
  if (capacity == 0) throw_error(errc::bad_argument, "a queue has room for one element or more: capacity");
}

void await_answer(const future_state_base& state, place from, const std::source_location& where) {
  current->scheduler->wait_until([&state] { return state.ready; },
                                 {.place = from.index(),
                                  .outlives_losses = true,
                                  .note = {.kind = wait_kind::call, .peer = from.index(), .where = where}});
}

void await_service(waiter& w, const bool& served) {
  if (!current->scheduler->wait_unless_lost(w) && !served) throw_loss_here();
}

}  // namespace situ::detail
