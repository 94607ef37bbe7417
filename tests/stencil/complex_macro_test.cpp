// <complex.h> makes `I` a macro, and C programs include it first: no name of the headers may be that.
#include <complex.h>
#ifndef I
#error "the macro is not there; it needs -std=gnu++20"
#endif

#include <situ/stencil/stencil.h>

#undef I  // GoogleTest's headers have such a name
#include <gtest/gtest.h>

namespace {

TEST(stencil_headers, compile_after_complex_h) {
  using namespace situ::stencil;
  context c{{.run_by = executor::plain, .threads = 1}};
  const block<1> line{c, "line"};
  const dataset<int, 1> u{line, "u", {2}};
  par_loop("set", line, range(0, 2), [](auto x, const auto& at) { x(0) = at[0]; }, write(u), index());
  EXPECT_EQ(u.fetch(), (std::vector<int>{0, 1}));
}

}  // namespace
