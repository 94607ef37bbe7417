// The barrier of a collection of all places, in the state that they share. A place runs its part of a collection in one
// task that lets no other tasks in between, so it waits here and answers no messages.
#pragma once

#include <situ/memory/detail/losses.h>

#include <cstdint>

#include "heap/heap_core.h"
#include "os/host.h"

namespace situ::detail {

class meeting {
 public:
  explicit meeting(heap_shared& shared, std::uint32_t places) noexcept : shared_{shared}, places_{places} {}

  // Throws place_lost_error if a place is lost.
  static void check_all_live() {
    for (std::uint32_t p = 0; p < current->place_count; ++p)
      if (has_ended(*current->job, p)) throw_loss_of(*current->job, p);
  }

  // Returns when all places have come. Throws place_lost_error if one does not come since it is lost.
  void meet() {
    meet([] {});
  }
  // The last one to come calls `last`, before the others go on.
  template <class F>
  void meet(const F& last) {
    const std::uint32_t phase = shared_.phase.look();
    write_back_all();
    if (shared_.arrived.add(1) + 1 == places_) {
      last();
      shared_.arrived.set(0);
      shared_.phase.add(1);
      wake_on_word(shared_.phase.word(), static_cast<int>(places_));
      return;
    }
    while (shared_.phase.look() == phase) {
      wait_on_word(shared_.phase.word(), phase, 10'000'000);
      if (shared_.phase.look() == phase) check_all_live();
    }
  }

 private:
  heap_shared& shared_;
  std::uint32_t places_;
};

}  // namespace situ::detail
