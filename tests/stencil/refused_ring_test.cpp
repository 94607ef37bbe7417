// Where the system refuses io_uring (a container's profile, a kernel without), out-of-core chains run all the same.
#include "support/restricted.h"

#include <situ/stencil/stencil.h>

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "support/sanitized.h"

namespace {

using namespace situ::stencil;
using ::testing::HasSubstr;

std::vector<double> play(executor by) {
  options o;
  o.run_by = by;
  o.threads = 2;
  o.resident_bytes = 0;
  o.fast_bytes = std::uint64_t{1} << 21;  // of 4 MiB
  constexpr int side = 512;
  context c{o};
  const block<2> grid{c, "grid"};
  const dataset<double, 2> u{grid, "u", {side, side}, 1}, v{grid, "v", {side, side}, 1};
  const reduction<double> total{c, "total"};
  par_loop(
      "fill", grid, range(0, side, 0, side), [](auto x, const auto& at) { x(0, 0) = at[0] + 0.5 * at[1]; }, write(u),
      index());
  for (int step = 0; step < 4; ++step)
    par_loop(
        "mean", grid, range(0, side, 0, side),
        [](auto x, auto y) { y(0, 0) = 0.25 * (x(1, 0) + x(-1, 0) + x(0, 1) + x(0, -1)); },
        read(step % 2 ? v : u, shape::star(2, 1)), write(step % 2 ? u : v));
  par_loop("sum", grid, range(0, side, 0, side), [](auto x, double& s) { s += x(0, 0); }, read(u), sum(total));
  std::vector<double> found{total.value()};
  for (const double each : u.fetch()) found.push_back(each);
  if (by == executor::out_of_core && c.statistics().bytes_read == 0) found.clear();
  return found;
}

TEST(out_of_core, a_system_without_io_uring_has_threads_that_read_and_write) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer's threads do not begin in a forked child";
#endif
  const std::vector<double> expected = play(executor::plain);
  constexpr long setup = 425, enter = 426, enroll = 427;  // io_uring_setup, io_uring_enter, io_uring_register
  struct refusal {
    std::initializer_list<long> calls;
    int error;
  };
  for (const refusal& each :
       {refusal{{setup, enter, enroll}, EPERM}, refusal{{setup, enter, enroll}, ENOSYS}, refusal{{enter}, EPERM}}) {
    const std::string said = situ::test::in_a_child([&]() -> std::string {
      situ::test::refuse_calls(each.calls, each.error);
      if (play(executor::out_of_core) != expected) return "other results";
      return make_file_store()->description();
    });
    if (said.starts_with("skipped")) GTEST_SKIP() << said;
    EXPECT_THAT(said, HasSubstr("by threads, since io_uring is refused")) << each.error;
  }
}

}  // namespace
