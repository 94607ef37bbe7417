// Two places that call each other at the same time: an answer was taken in by the very look that also found a call to
// run, so the wait went to sleep on an answer that had come.
#include "support/places.h"

namespace situ {
namespace {

class answer_beside_call : public test::on_places {};

TEST_P(answer_beside_call, is_not_slept_through) {
  run([] {
    const place next{(here().index() + 1) % place_count()};
    for (int i = 0; i < test::rounds(3000); ++i) ASSERT_EQ(at(next, [](int n) { return n + 1; }, i), i + 1);
    barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, answer_beside_call, testing::ValuesIn(test::layouts({2, 3})), test::layout_name);

}  // namespace
}  // namespace situ
