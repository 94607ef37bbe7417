// Arguments of parallel loops, and results of reductions.
#include "ops_seq_v2.h"

#include <situ/base/error.h>

#include <fmt/format.h>

situ_ops_arg_dat ops_arg_dat(ops_dat dat, int dim, ops_stencil stencil, char const* type, ops_access acc) {
  return ops_arg_dat_opt(dat, dim, stencil, type, acc, 1);
}

situ_ops_arg_dat ops_arg_dat_opt(ops_dat dat, int dim, ops_stencil stencil, char const*, ops_access acc, int flag) {
  situ_ops_arg_dat a;
  a.argtype = OPS_ARG_DAT;
  a.dat = dat;
  a.dim = dim;
  a.stencil = stencil;
  a.acc = acc;
  a.opt = flag;
  return a;
}

situ_ops_arg_idx ops_arg_idx() {
  situ_ops_arg_idx a;
  a.argtype = OPS_ARG_IDX;
  return a;
}

situ_ops_arg_reduce ops_arg_reduce(ops_reduction handle, int dim, const char*, ops_access acc) {
  situ_ops_arg_reduce a;
  a.reduction = handle;
  a.dim = dim;
  a.acc = acc;
  handle->acc = acc;
  handle->initialized = 1;
  return a;
}

void situ_ops_check_global(ops_access acc) {
  if (acc == OPS_READ) return;
  situ::throw_error(situ::errc::bad_argument,
                    "ops_arg_gbl with another access mode than OPS_READ: what a loop sums up needs a reduction handle, "
                    "ops_arg_reduce");
}

void situ_ops_reduction_result(ops_reduction handle, void* to, std::size_t) {
  handle->instance->execute();
  auto& core = *handle->core;
  std::memset(to, 0, static_cast<std::size_t>(handle->size));
  if (!core.is_fresh) std::memcpy(to, core.value.data(), static_cast<std::size_t>(handle->size));
  core.is_fresh = true;
  handle->initialized = 0;
}

situ::stencil::access_mode OPS_instance::access_of(const ops_arg& a) const {
  using situ::stencil::access_mode;
  switch (a.acc) {
    case OPS_READ: return access_mode::read;
    case OPS_WRITE: return a.dat->core->in_file && !writes_all_ ? access_mode::read_write : access_mode::write;
    case OPS_RW: return access_mode::read_write;
    case OPS_INC:
    case OPS_MIN:
    case OPS_MAX: return access_mode::increment;
    default: situ::throw_error(situ::errc::bad_argument, fmt::format("access mode {} does not exist", a.acc));
  }
}

namespace situ::ops {

stencil::box range_of(int dims, const int* range) {
  stencil::box b;
  for (int d = 0; d < dims; ++d) {
    b.low[static_cast<std::size_t>(d)] = range[2 * d];
    b.high[static_cast<std::size_t>(d)] = range[2 * d + 1];
  }
  return b;
}

void check_raw_argument(const char* kernel, std::size_t index) {
  if (index < max_raw_arguments) return;
  throw_error(
      errc::bad_argument,
      fmt::format(
          "kernel '{}' takes argument {} as a bare pointer: OPS_ACC has numbers 0 to {} only; let it take ACC<T>&",
          kernel, index, max_raw_arguments - 1));
}

bool starts_reduction(const char* kernel, const situ_ops_arg_dat& a, std::size_t element_bytes) {
  if (a.dat->core->element_bytes != element_bytes) {
    throw_error(errc::bad_argument,
                fmt::format("kernel '{}' sees elements of {} bytes in dataset '{}', which has {} of {} bytes", kernel,
                            element_bytes, a.dat->name, a.dat->type, a.dat->core->element_bytes));
  }
  bool is_shared = false;
  for (int d = 0; d < a.stencil->dims; ++d)
    is_shared = is_shared || (a.stencil->shape->multiplier(d) == 0 && a.dat->core->inner.extent(d) == 1);
  const bool reduces = is_shared && (a.acc == OPS_INC || a.acc == OPS_MIN || a.acc == OPS_MAX);
  if (!reduces) {
    a.dat->reduced_by = -1;
    return false;
  }
  if (a.dat->reduced_by == a.acc) return false;
  a.dat->reduced_by = a.acc;
  return true;
}

}  // namespace situ::ops
