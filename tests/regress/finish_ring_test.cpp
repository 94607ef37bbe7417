// finish() ended early where tasks called back with at() and both ends then started tasks: their nodes engaged each
// other in a ring that the scope's home did not know of, because a blocking call was counted only once it had been
// answered.
#include "support/places.h"

namespace situ {
namespace {

class finish_ring : public test::on_places {};

thread_local int ran = 0;

void linger(int turns) {
  for (int i = 0; i < turns; ++i) progress();
  ++ran;
}
// Runs at place 1, called from place 2 which place 1 called itself.
void start_here() { async_at(place{0}, &linger, 20); }
void call_back() {
  at(place{1}, &start_here);
  async(&linger, 20);
}
void call_out() { at(place{2}, &call_back); }

TEST_P(finish_ring, of_calls_back_is_waited_for) {
  run([] {
    for (int i = 0; i < test::rounds(100); ++i) {
      ran = 0;
      barrier();
      if (here().index() == 0) {
        finish([] { async_at(place{1}, &call_out); });
        EXPECT_EQ(ran, 1);
        EXPECT_EQ(at(place{2}, [] { return ran; }), 1);
      }
      barrier();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, finish_ring, testing::ValuesIn(test::layouts({3, 5})), test::layout_name);

}  // namespace
}  // namespace situ
