// Access to data: extents, fetching and setting, raw pointers, and halos between blocks.
#include "ops_lib_core.h"

#include <situ/base/error.h>
#include <situ/stencil/detail/kernel_loop.h>

#include <fmt/format.h>

namespace {

namespace st = situ::stencil;

OPS_instance& instance_of(ops_dat dat) { return *dat->block->instance; }

// Returns the box of a slab without ghost points; slabs count from the dataset's base.
st::box box_of(ops_dat dat, const int* slab) {
  st::box b = dat->core->inner;
  if (slab == nullptr) return b;
  for (int d = 0; d < dat->block->dims; ++d) {
    b.low[static_cast<std::size_t>(d)] = slab[2 * d];
    b.high[static_cast<std::size_t>(d)] = slab[2 * d + 1];
  }
  return b;
}

void fetch(ops_dat dat, const int* slab, char* to) {
  dat->reduced_by = -1;
  instance_of(dat).fetch(dat, box_of(dat, slab), to);
}

void store(ops_dat dat, const int* slab, const char* from) { instance_of(dat).store(dat, box_of(dat, slab), from); }

// One side of a halo: the box in its dataset, and the position of a point of the box in the buffer, whose dimension 0
// runs fastest.
struct halo_side {
  st::box where;
  std::ptrdiff_t start = 0;
  std::array<std::ptrdiff_t, OPS_MAX_DIM> step{};

  halo_side(const int* iter_size, const int* base, const int* direction, int dims) {
    for (int d = 0; d < dims; ++d) {
      const int along = std::abs(direction[d]) - 1;
      const auto n = static_cast<std::size_t>(d);
      where.low[n] = base[d];
      where.high[n] = base[d] + iter_size[along];
      step[n] = 1;
      for (int i = 0; i < along; ++i) step[n] *= iter_size[i];
      if (direction[d] < 0) {  // the axis is flipped
        start += step[n] * (iter_size[along] - 1);
        step[n] = -step[n];
      }
    }
  }
  [[nodiscard]] std::ptrdiff_t position(const st::coordinates& at) const {
    std::ptrdiff_t p = start;
    for (std::size_t d = 0; d < OPS_MAX_DIM; ++d) p += (at[d] - where.low[d]) * step[d];
    return p;
  }
};

template <class F>
void for_each_point(const st::box& b, F f) {
  if (b.empty()) return;
  st::coordinates at = b.low;
  for (std::int64_t n = 0; n < b.points(); ++n) {
    f(at, n);
    for (std::size_t d = 0; d < OPS_MAX_DIM; ++d) {
      if (++at[d] < b.high[d]) break;
      at[d] = b.low[d];
    }
  }
}

// A halo whose axes neither turn nor flip is a loop of copies at a constant offset, and stays in the chain.
template <std::size_t Bytes>
struct opaque {
  unsigned char bytes[Bytes];  // may represent any type
};
template <std::size_t Bytes>
void enqueue_copy(const ops_halo_core& h, const st::box& range, const st::shape& offset) {
  using element = opaque<Bytes>;
  using read = st::detail::dataset_parameter<const element, OPS_MAX_DIM>;
  using write = st::detail::dataset_parameter<element, OPS_MAX_DIM>;
  const auto& at = offset.points()[0];
  const auto kernel = [at, n = h.from->dim](const auto& from, const auto& to) {
    for (int c = 0; c < n; ++c) to.at(c, 0, 0, 0, 0, 0) = from.at(c, at[0], at[1], at[2], at[3], at[4]);
  };
  const int dims = h.to->block->dims;
  instance_of(h.to).enqueue(
      std::make_unique<st::detail::kernel_loop<std::remove_const_t<decltype(kernel)>, read, write>>(
          fmt::format("halo {}", h.to->name), dims, range, kernel, read{h.from->core, offset, st::access_mode::read},
          write{h.to->core, st::shape::point(dims), st::access_mode::write}));
}

// Skewed tiles must be as high as the offset in the outermost dimension: a chain with a farther copy gains nothing.
constexpr int nearby_slabs = 8;

// Queues the halo as a loop. Returns false if it cannot be a loop, or should not.
bool enqueue(const ops_halo_core& h, const halo_side& from, const halo_side& to) {
  const int dims = h.from->block->dims;
  if (h.to->block->dims != dims || h.from->dim != h.to->dim) return false;
  st::coordinates offset{};
  for (int d = 0; d < dims; ++d) {
    if (h.from_dir[d] != h.to_dir[d]) return false;
    offset[static_cast<std::size_t>(d)] = h.from_base[d] - h.to_base[d];
  }
  if (dims > 1 && std::abs(offset[static_cast<std::size_t>(dims) - 1]) > nearby_slabs) return false;
  if (h.from == h.to && !st::intersection(from.where, to.where).empty()) return false;
  const st::shape shape{"halo", dims, {offset}};
  switch (h.from->type_size) {
    case 1: enqueue_copy<1>(h, to.where, shape); return true;
    case 2: enqueue_copy<2>(h, to.where, shape); return true;
    case 4: enqueue_copy<4>(h, to.where, shape); return true;
    case 8: enqueue_copy<8>(h, to.where, shape); return true;
    case 16: enqueue_copy<16>(h, to.where, shape); return true;
    default: return false;
  }
}

void check_inside(const ops_halo_core& h, ops_dat dat, const st::box& where) {
  if (where.empty() || st::intersection(where, dat->core->valid) == where) return;
  situ::throw_error(situ::errc::bad_argument,
                    fmt::format("halo from '{}' to '{}' leaves dataset '{}' and its ghost points", h.from->name,
                                h.to->name, dat->name));
}

void transfer(const ops_halo_core& h) {
  const int dims = h.from->block->dims;
  const auto bytes = static_cast<std::size_t>(h.from->elem_size);
  const halo_side from{h.iter_size, h.from_base, h.from_dir, dims}, to{h.iter_size, h.to_base, h.to_dir, dims};
  check_inside(h, h.from, from.where);
  check_inside(h, h.to, to.where);
  h.to->reduced_by = -1;
  if (enqueue(h, from, to)) return;
  const auto points = static_cast<std::size_t>(from.where.points());
  std::vector<char> there(points * bytes), buffer(points * bytes);
  instance_of(h.from).fetch(h.from, from.where, there.data());
  for_each_point(from.where, [&](const st::coordinates& at, std::int64_t n) {
    std::memcpy(buffer.data() + static_cast<std::size_t>(from.position(at)) * bytes,
                there.data() + static_cast<std::size_t>(n) * bytes, bytes);
  });
  for_each_point(to.where, [&](const st::coordinates& at, std::int64_t n) {
    std::memcpy(there.data() + static_cast<std::size_t>(n) * bytes,
                buffer.data() + static_cast<std::size_t>(to.position(at)) * bytes, bytes);
  });
  instance_of(h.to).store(h.to, to.where, there.data());
}

std::mt19937 generator;

// Runs slab by slab, since the dataset may be larger than memory.
template <class T, class Distribution>
void fill_random(ops_dat dat, Distribution distribution) {
  st::box slab = dat->core->valid;
  const auto last = static_cast<std::size_t>(dat->block->dims) - 1;
  std::vector<T> values;
  for (int at = dat->core->valid.low[last]; at < dat->core->valid.high[last]; ++at) {
    slab.low[last] = at;
    slab.high[last] = at + 1;
    values.resize(static_cast<std::size_t>(slab.points()) * static_cast<std::size_t>(dat->dim));
    for (auto& v : values) v = distribution(generator);
    instance_of(dat).store(dat, slab, values.data());
  }
}
[[noreturn]] void refuse_random(ops_dat dat) {
  situ::throw_error(situ::errc::not_supported,
                    fmt::format("dataset '{}' of type {} cannot be filled with random numbers", dat->name, dat->type));
}

}  // namespace

ops_halo OPS_instance::decl_halo(ops_dat from, ops_dat to, int* iter_size, int* from_base, int* to_base, int* from_dir,
                                 int* to_dir) {
  if (from->elem_size != to->elem_size) {
    situ::throw_error(situ::errc::bad_argument,
                      fmt::format("halo between '{}' and '{}': their points have {} and {} bytes", from->name, to->name,
                                  from->elem_size, to->elem_size));
  }
  auto& h = halos_.emplace_back();
  h.from = from;
  h.to = to;
  h.index = static_cast<int>(halos_.size()) - 1;
  for (int d = 0; d < from->block->dims; ++d) {
    h.iter_size[d] = iter_size[d];
    h.from_base[d] = from_base[d];
    h.to_base[d] = to_base[d];
    h.from_dir[d] = from_dir[d];
    h.to_dir[d] = to_dir[d];
  }
  return &h;
}

ops_halo_group OPS_instance::decl_halo_group(int nhalos, ops_halo* halos) {
  auto& g = groups_.emplace_back();
  g.nhalos = nhalos;
  g.situ_halos.assign(halos, halos + nhalos);
  g.halos = g.situ_halos.data();
  g.index = static_cast<int>(groups_.size()) - 1;
  g.instance = this;
  return &g;
}

ops_halo ops_decl_halo(ops_dat from, ops_dat to, int* iter_size, int* from_base, int* to_base, int* from_dir,
                       int* to_dir) {
  return instance_of(from).decl_halo(from, to, iter_size, from_base, to_base, from_dir, to_dir);
}
ops_halo_group ops_decl_halo_group(int nhalos, ops_halo* halos) {
  auto* const instance = nhalos > 0 ? halos[0]->from->block->instance : OPS_instance::getOPSInstance();
  return instance->decl_halo_group(nhalos, halos);
}
void ops_halo_transfer(ops_halo_group group) {
  group->instance->keep_constants();
  for (const ops_halo h : group->situ_halos) transfer(*h);
}

void ops_halo_group_core::halo_transfer() { ops_halo_transfer(this); }

void ops_randomgen_init(unsigned int seed, int) { generator.seed(seed); }
void ops_fill_random_uniform(ops_dat dat) {
  if (dat->situ_type == "double")
    fill_random<double>(dat, std::uniform_real_distribution<double>{});
  else if (dat->situ_type == "float")
    fill_random<float>(dat, std::uniform_real_distribution<float>{});
  else if (dat->situ_type == "int")
    fill_random<int>(dat, std::uniform_int_distribution<int>{0, INT_MAX});
  else
    refuse_random(dat);
}
void ops_fill_random_normal(ops_dat dat) {
  if (dat->situ_type == "double")
    fill_random<double>(dat, std::normal_distribution<double>{});
  else if (dat->situ_type == "float")
    fill_random<float>(dat, std::normal_distribution<float>{});
  else
    refuse_random(dat);
}

void ops_free_dat(ops_dat dat) { instance_of(dat).free_dat(dat); }
ops_dat ops_dat_copy(ops_dat dat) { return instance_of(dat).copy_dat(dat); }
void ops_dat_deep_copy(ops_dat target, ops_dat source) {
  const auto& all = source->core->valid;
  std::vector<char> buffer(static_cast<std::size_t>(all.points()) * static_cast<std::size_t>(source->elem_size));
  instance_of(source).fetch(source, all, buffer.data());
  instance_of(target).store(target, all, buffer.data());
}

int ops_dat_get_local_npartitions(ops_dat) { return 1; }
int ops_dat_get_global_npartitions(ops_dat) { return 1; }
void ops_dat_get_extents(ops_dat dat, int, int* disp, int* sizes) {
  for (int d = 0; d < dat->block->dims; ++d) {
    if (disp != nullptr) disp[d] = 0;
    if (sizes != nullptr) sizes[d] = dat->core->inner.extent(d);
  }
}
size_t ops_dat_get_slab_extents(ops_dat dat, int, int* disp, int* sizes, int* slab) {
  auto bytes = static_cast<size_t>(dat->elem_size);
  for (int d = 0; d < dat->block->dims; ++d) {
    disp[d] = slab[2 * d];
    sizes[d] = slab[2 * d + 1] - slab[2 * d];
    bytes *= static_cast<size_t>(sizes[d]);
  }
  return bytes;
}
void ops_dat_get_raw_metadata(ops_dat dat, int, int* disp, int* size, int* stride, int* d_m, int* d_p) {
  for (int d = 0; d < dat->block->dims; ++d) {
    if (disp != nullptr) disp[d] = 0;
    if (size != nullptr) size[d] = dat->core->inner.extent(d);
    if (d_m != nullptr) d_m[d] = dat->d_m[d];
    if (d_p != nullptr) d_p[d] = dat->d_p[d];
    if (stride != nullptr) stride[d] = dat->size[d];
  }
}

char* ops_dat_get_raw_pointer(ops_dat dat, int, ops_stencil, ops_memspace* memspace) {
  if (memspace != nullptr) *memspace = OPS_HOST;
  char* const lowest = instance_of(dat).show(dat);
  dat->situ_is_lent = true;
  std::ptrdiff_t at = 0;
  for (int d = dat->block->dims - 1; d >= 0; --d) at = at * dat->size[d] - dat->d_m[d];
  return lowest + at * (dat->situ_layout.order == st::component_order::interleaved ? dat->elem_size : dat->type_size);
}
void ops_dat_release_raw_data(ops_dat dat, int, ops_access acc) {
  if (!dat->situ_is_lent) {
    situ::throw_error(
        situ::errc::bad_argument,
        fmt::format("ops_dat_release_raw_data: the program has no raw pointer into dataset '{}'", dat->name));
  }
  dat->reduced_by = -1;
  dat->situ_is_lent = false;
  if (acc != OPS_READ) instance_of(dat).begin_access(dat);
  if (!dat->situ_is_seen) instance_of(dat).show_no_more(dat);
}
void ops_dat_release_raw_data_memspace(ops_dat dat, int part, ops_access acc, ops_memspace*) {
  ops_dat_release_raw_data(dat, part, acc);
}
void ops_dat_fetch_data(ops_dat dat, int, char* data) { fetch(dat, nullptr, data); }
void ops_dat_fetch_data_memspace(ops_dat dat, int, char* data, ops_memspace) { fetch(dat, nullptr, data); }
void ops_dat_fetch_data_slab_memspace(ops_dat dat, int, char* data, int* range, ops_memspace) {
  fetch(dat, range, data);
}
void ops_dat_set_data(ops_dat dat, int, char* data) { store(dat, nullptr, data); }
void ops_dat_set_data_memspace(ops_dat dat, int, char* data, ops_memspace) { store(dat, nullptr, data); }
void ops_dat_set_data_slab_memspace(ops_dat dat, int, char* data, int* range, ops_memspace) { store(dat, range, data); }
void ops_get_data(ops_dat dat) { instance_of(dat).execute(); }

void ops_dat_core::get_extents(int part, int* disp, int* sizes) { ops_dat_get_extents(this, part, disp, sizes); }
size_t ops_dat_core::get_slab_extents(int part, int* disp, int* sizes, int* slab) {
  return ops_dat_get_slab_extents(this, part, disp, sizes, slab);
}
void ops_dat_core::get_raw_metadata(int part, int* disp, int* sizes, int* strides, int* m, int* p) {
  ops_dat_get_raw_metadata(this, part, disp, sizes, strides, m, p);
}
char* ops_dat_core::get_raw_pointer(int part, ops_stencil stencil, ops_memspace* memspace) {
  return ops_dat_get_raw_pointer(this, part, stencil, memspace);
}
void ops_dat_core::release_raw_data(int part, ops_access acc) { ops_dat_release_raw_data(this, part, acc); }
void ops_dat_core::release_raw_data(int part, ops_access acc, ops_memspace* m) {
  ops_dat_release_raw_data_memspace(this, part, acc, m);
}
void ops_dat_core::fetch_data(int, char* to, ops_memspace) { fetch(this, nullptr, to); }
void ops_dat_core::fetch_data_slab(int, char* to, int* range, ops_memspace) { fetch(this, range, to); }
void ops_dat_core::set_data(int, char* from, ops_memspace) { store(this, nullptr, from); }
void ops_dat_core::set_data_slab(int, char* from, int* range, ops_memspace) { store(this, range, from); }
void ops_dat_core::print_to_txtfile(const char* file_name) { ops_print_dat_to_txtfile(this, file_name); }
void ops_dat_core::get_data() { ops_get_data(this); }
