// Programs declare things in static initializers, before ops_init: they stay.
#define OPS_2D
#include "ops_seq_v2.h"

#include <gtest/gtest.h>

#include <situ/base/error.h>

#include <numeric>

namespace {

int zero[] = {0, 0}, size[] = {3, 2}, base[] = {0, 0}, none[] = {0, 0}, all[] = {0, 3, 0, 2};
double factor = 2;
double mine[2 * 6];

struct early {
  early() {
    OPS_instance::getOPSInstance()->OPS_soa = 1;
    ops_decl_const("factor", 1, "double", &factor);
    std::vector<double> values{1, 2, 3, 4, 5, 6};
    ops_dat_set_data(made, 0, reinterpret_cast<char*>(values.data()));
    std::iota(std::begin(mine), std::end(mine), 0);
  }
  ops_stencil here = ops_decl_stencil(2, 1, zero, "here");
  ops_block block = ops_decl_block(2, "block");
  ops_dat made = ops_decl_dat(block, 1, size, base, none, none, static_cast<double*>(nullptr), "double", "made");
  ops_reduction sum = ops_decl_reduction_handle(sizeof(double), "double", "sum");
};
early declared;
const ops_dat given = ops_decl_dat(declared.block, 2, size, base, none, none, mine, "double", "given");

void weigh(const ACC<double>& u, const ACC<double>& p, double* sum) { *sum += factor * u(0, 0) + p(1, 0, 0); }
void sum_up() {
  ops_par_loop(weigh, "weigh", declared.block, 2, all, ops_arg_dat(declared.made, 1, declared.here, "double", OPS_READ),
               ops_arg_dat(given, 2, declared.here, "double", OPS_READ),
               ops_arg_reduce(declared.sum, 1, "double", OPS_INC));
}

TEST(ops_early, declarations_survive_ops_init) {
  setenv("SITU_STENCIL_RESIDENT", "0", 1);
  const char* const arguments[] = {"program", "SITU_OUT_OF_CORE"};
  sum_up();
  ops_init(2, arguments, 1);
  EXPECT_EQ(OPS_instance::numInstances(), 1);
  EXPECT_TRUE(declared.made->core->in_file) << "the arguments count";
  EXPECT_EQ(OPS_instance::getOPSInstance()->OPS_soa, 1);
  ops_partition("");
  sum_up();
  double got;
  ops_reduction_result(declared.sum, &got);
  EXPECT_EQ(got, 2 * (2 * 21 + 6 + 7 + 8 + 9 + 10 + 11));
  ops_init(2, arguments, 1);  // once more: as in OPS nothing is lost
  sum_up();
  ops_reduction_result(declared.sum, &got);
  EXPECT_EQ(got, 2 * 21 + 51);
  EXPECT_NE(static_cast<double*>(declared.made->data), nullptr);
  EXPECT_THROW(ops_init(2, arguments, 1), situ::error) << "the program has its address";
  ops_exit();
}

}  // namespace
