// A program for OPS, of a user of the installed Situ: halves the squares below 10 and leaves them in an HDF5 file.
#define OPS_1D
#include <ops_seq.h>

void squares(ACC<double>& u, const int* idx) { u(0) = idx[0] * idx[0]; }
void halve(const double* u, double* v) { v[OPS_ACC1(0)] = 0.5 * u[OPS_ACC0(0)]; }
void add_up(const ACC<double>& v, double* sum) { *sum += v(0); }

int main(int argc, char** argv) {
  ops_init(argc, argv, 1);
  const ops_block line = ops_decl_block(1, "line");
  int zero[] = {0}, size[] = {10}, range[] = {0, 10};
  const ops_stencil point = ops_decl_stencil(1, 1, zero, "0");
  const ops_dat u = ops_decl_dat(line, 1, size, zero, zero, zero, static_cast<double*>(nullptr), "double", "u");
  const ops_dat v = ops_decl_dat(line, 1, size, zero, zero, zero, static_cast<double*>(nullptr), "double", "v");
  const ops_reduction sum = ops_decl_reduction_handle(sizeof(double), "double", "sum");
  ops_partition("");
  ops_par_loop(squares, "squares", line, 1, range, ops_arg_dat(u, 1, point, "double", OPS_WRITE), ops_arg_idx());
  ops_par_loop(halve, "halve", line, 1, range, ops_arg_dat(u, 1, point, "double", OPS_READ),
               ops_arg_dat(v, 1, point, "double", OPS_WRITE));
  ops_fetch_block_hdf5_file(line, argv[1]);
  ops_fetch_dat_hdf5_file(v, argv[1]);
  const ops_dat w = ops_decl_dat_hdf5(line, 1, "double", "v", argv[1]);
  ops_par_loop(add_up, "add_up", line, 1, range, ops_arg_dat(w, 1, point, "double", OPS_READ),
               ops_arg_reduce(sum, 1, "double", OPS_INC));
  double result = 0;
  ops_reduction_result(sum, &result);
  ops_printf("sum %g\n", result);
  ops_exit();
}
