// What a handler must not do ends its place, with a message that says what to do instead; the others get
// place_lost_error.
#include "support/places.h"

#include <sys/prctl.h>

#include <csignal>
#include <stdexcept>

namespace situ {
namespace {

void on_reply(am::reply_token&) {}
void answer_twice(am::token& t) {
  t.reply_short<on_reply>();
  t.reply_short<on_reply>();
}
void nothing(am::token&) {}
void send_on(am::token& t) { am::request_short<nothing>(t.source()); }
void wait_inside(am::token&) {
  const promise<int> never;
  never.get_future().wait();
}
void call_inside(am::token& t) {
  at(t.source(), [] {});
}
void throw_inside(am::token&) { throw std::runtime_error("no handler for this"); }
void throw_number(am::token&) { throw 42; }

struct outcome {
  launch_result result;
  std::string log;
};

// Place 0 sends place 1 a message with this handler, and must learn that place 1 is lost.
template <auto Handler>
outcome misuse() {
  testing::internal::CaptureStderr();
  launch_result result = test::launch_on({launch_mode::processes, 2}, [] {
    ::prctl(PR_SET_DUMPABLE, 0);             // no core file
    while (here().index() == 1) progress();  // until the message comes
    am::request_short<Handler>(place{1});
    EXPECT_THROW(barrier(), place_lost_error);
  });
  return {std::move(result), testing::internal::GetCapturedStderr()};
}

template <auto Handler>
void expect_assertion(std::string_view advice) {
  if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
  const outcome o = misuse<Handler>();
  ASSERT_TRUE(o.result.first_lost);
  EXPECT_EQ(o.result.first_lost->index(), 1U);
  EXPECT_EQ(o.result.places[1].signal, SIGABRT) << o.result.message();
  EXPECT_EQ(o.result.places[0].exit_code, 0);
  EXPECT_NE(o.log.find(advice), std::string::npos) << o.log;
}

TEST(am_misuse, a_second_answer) { expect_assertion<&answer_twice>("a request is answered at most once"); }
TEST(am_misuse, a_request_from_a_handler) { expect_assertion<&send_on>("may only reply"); }
TEST(am_misuse, a_wait_in_a_handler) { expect_assertion<&wait_inside>("must not wait"); }
TEST(am_misuse, a_call_from_a_handler) { expect_assertion<&call_inside>("may only reply"); }

TEST(am_misuse, an_exception_out_of_a_handler) {
  if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
  const outcome o = misuse<&throw_inside>();
  ASSERT_TRUE(o.result.first_lost);
  EXPECT_EQ(o.result.first_lost->index(), 1U);
  EXPECT_NE(o.result.message().find("std::runtime_error: no handler for this"), std::string::npos)
      << o.result.message();
  EXPECT_NE(o.result.message().find("from place 0"), std::string::npos) << o.result.message();
  EXPECT_NE(o.log.find("handlers must not throw"), std::string::npos) << o.log;
  EXPECT_EQ(o.result.places[0].exit_code, 0);
}

TEST(am_misuse, something_else_thrown_out_of_a_handler) {
  if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
  const outcome o = misuse<&throw_number>();
  ASSERT_TRUE(o.result.first_lost);
  EXPECT_EQ(o.result.first_lost->index(), 1U);
  EXPECT_NE(o.result.message().find("threw an unknown exception"), std::string::npos) << o.result.message();
}

}  // namespace
}  // namespace situ
