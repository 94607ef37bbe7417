// What programs say without std::, and names that C's headers define as macros.
#include <gtest/gtest.h>

#include <complex.h>
#ifndef I
#define I (__extension__ 1.0iF)  // as <complex.h> says where the compiler is not strict (-std=gnu++20)
#endif

#define OPS_2D
#include "ops_seq.h"

#include "ops/session.h"

#include <limits>

namespace {

void classify(const ACC<double>& u, int* found, double* size) {
  if (isnan(u(0, 0))) found[0] += 1;
  if (isinf(u(0, 0))) found[1] += 1;
  if (isfinite(u(0, 0))) *size += abs(u(0, 0));
}
void turn(ACC<double>& u) {
  const double __complex__ z = 1.0I * 2.0I;
  u(0, 0) += __real__ z;
}

struct ops_names : ops_session {};

TEST_P(ops_names, of_the_c_library_are_global) {
  const ops_dat u = dat(grid, {2, 2}, "u");
  std::vector<double> values{-0.5, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(),
                             0.25};
  ops_dat_set_data(u, 0, reinterpret_cast<char*>(values.data()));
  int all[] = {0, 2, 0, 2}, found[2];
  const ops_reduction count = ops_decl_reduction_handle(2 * sizeof(int), "int", "count"),
                      sum = ops_decl_reduction_handle(sizeof(double), "double", "sum");
  ops_par_loop(classify, "classify", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_READ),
               ops_arg_reduce(count, 2, "int", OPS_INC), ops_arg_reduce(sum, 1, "double", OPS_INC));
  ops_reduction_result(count, found);
  EXPECT_EQ(found[0], 1);
  EXPECT_EQ(found[1], 1);
  double size;
  ops_reduction_result(sum, &size);
  EXPECT_EQ(size, 0.75) << "abs of a double, not of an int";
}

TEST_P(ops_names, imaginary_literals) {
  const ops_dat u = dat(grid, {1, 1}, "u");
  int all[] = {0, 1, 0, 1};
  ops_par_loop(turn, "turn", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_RW));
  EXPECT_EQ(fetch(u)[0], -2);
  using namespace std::complex_literals;
  const std::complex<double> z = 1.5i;
  EXPECT_EQ(z.imag(), 1.5) << "the standard's mean what they meant";
}

INSTANTIATE_TEST_SUITE_P(executors, ops_names, all_executors());

}  // namespace
