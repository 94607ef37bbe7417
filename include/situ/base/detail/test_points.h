// Numbered points of the code at which a test kills a place, and checks for lost places that a test can disable. Only
// tests/death compiles the modules with SITU_TEST_POINTS; in normal builds the points compile to nothing.
//
//   SITU_POINT(cell_filled);                                  a place may die here
//   if (SITU_LOSS_CHECK(poll) && epoch != seen) ...            true, unless the test has taken this check out
//
// Every point of the list must be passed, and every check be needed, by some program of tests/death/points_test.cpp:
// else that test fails.
#pragma once

#if defined(SITU_TEST_POINTS)

#include <cstddef>

// clang-format off
#define SITU_TEST_POINT_LIST(X) \
  /* fabric: a message */ \
  X(cell_filled) X(header_published) X(sleeper_met) X(room_wanted) X(room_asked_for) X(record_filled) \
  X(long_payload_written) \
  X(message_found) X(handler_returned) X(consumption_published) X(producer_forgotten) \
  /* fabric, memory: sleep, loss, joining */ \
  X(data_put) X(word_written) X(sleep_announced) X(about_to_sleep) X(woken) X(sleeper_claimed) X(base_mapped) X(vote_cast) X(reason_claimed) \
  X(loss_marked) \
  X(epoch_raised) X(place_gone) X(reading_marked) X(chunk_claimed) X(segment_extended) \
  /* runtime: a call */ \
  X(call_opened) X(call_sent) X(call_arrived) X(call_returned) X(answer_sent) X(answer_found) X(buffer_filled) \
  X(buffer_opened) \
  X(task_begins) X(task_ended) X(wait_begins) X(worker_takes_over) X(waits_ended) \
  /* runtime: scopes, teams, the end */ \
  X(scope_engaged) X(scope_acknowledged) X(scope_waits) X(part_sent) X(part_arrived) X(barrier_entered) \
  X(barrier_counted) X(barrier_released) \
  X(block_made) X(block_let_go) X(joined) X(leaving) X(scope_of_main_done) X(all_have_come) X(left) \
  X(survivors_awaited) X(fate_decided) X(survivors_agreed) \
  /* graph */ \
  X(graph_written) X(graph_read) X(pull_begins) X(flag_set) X(entry_reserved) X(step_requested) X(step_served) \
  X(entry_claimed) X(entry_freed)

#define SITU_LOSS_CHECK_LIST(X) \
  X(poll) X(poll_handlers) X(poll_replies) X(waits_in_progress) X(late_waits) X(turns) X(sleepers_of_dead_wakers) \
  X(room) X(calls) X(members) X(scopes) X(votes) \
  X(readers_mark) X(readers_end) X(half_marked) X(gone)
// clang-format on

namespace situ::test_points {

#define SITU_ENUMERATOR(name) name,
enum class point : std::size_t { SITU_TEST_POINT_LIST(SITU_ENUMERATOR) count };
enum class check : std::size_t { SITU_LOSS_CHECK_LIST(SITU_ENUMERATOR) count };
#undef SITU_ENUMERATOR

// Counts the pass, and kills the place if the test says so, in the way that the test chose.
void pass(point here);
[[nodiscard]] bool is_on(check which) noexcept;

}  // namespace situ::test_points

#define SITU_POINT(name) ::situ::test_points::pass(::situ::test_points::point::name)
#define SITU_LOSS_CHECK(name) ::situ::test_points::is_on(::situ::test_points::check::name)

#else

#define SITU_POINT(name) static_cast<void>(0)
#define SITU_LOSS_CHECK(name) true

#endif
