// A wait did not end while calls that wait themselves kept coming: each of them left the rest of its worker's turn
// undone, in which the waiting are asked, and the next worker began another turn with another call. progress() took as
// long as there were calls.
#include "support/places.h"

namespace situ {
namespace {

class starved_waiter : public test::on_places {};

thread_local int begun = 0;

void wait_a_turn() {
  ++begun;
  progress();
}

TEST_P(starved_waiter, progress_returns_although_calls_that_wait_keep_coming) {
  run([] {
    constexpr int calls = 16;  // of each place; they fit into its channel
    begun = 0;
    ptr<int> senders;
    if (here().index() == 0) {
      senders = allocate<int>(1);
      put(senders, 0);
    }
    senders = broadcast(senders);
    if (here().index() != 0) {
      finish([&] {
        for (int i = 0; i < calls; ++i) async_at(place{0}, &wait_a_turn);
        atomic_fetch_add(senders, 1);
      });
    } else {
      const int all = static_cast<int>(place_count()) - 1;
      while (atomic_load(senders) != all) {  // without a look at the channels
      }
      int most = 0;
      while (begun != all * calls) {
        const int before = begun;
        progress();
        most = std::max(most, begun - before);
      }
      EXPECT_LE(most, 4);
    }
    barrier();
    if (here().index() == 0) deallocate(senders);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, starved_waiter, testing::ValuesIn(test::layouts({2, 3})), test::layout_name);

}  // namespace
}  // namespace situ
