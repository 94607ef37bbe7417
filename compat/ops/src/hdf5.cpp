// OPS's arrangement of HDF5 files (ops_hdf5.h) on situ::stencil::hdf5_file.
#include "ops_hdf5.h"

#include <situ/base/error.h>
#include <situ/stencil/hdf5.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace {

namespace st = situ::stencil;
using situ::errc;
using situ::throw_error;
using st::element_type;
using st::hdf5_file;

// Accepts the names that Fortran programs give, too.
element_type type_named(std::string_view name) {
  static constexpr std::pair<std::string_view, element_type> all[] = {
      {"double", element_type::float64},
      {"real(8)", element_type::float64},
      {"real(kind=8)", element_type::float64},
      {"double precision", element_type::float64},
      {"float", element_type::float32},
      {"real", element_type::float32},
      {"real(4)", element_type::float32},
      {"real(kind=4)", element_type::float32},
      {"half", element_type::float16},
      {"int", element_type::int32},
      {"int(4)", element_type::int32},
      {"integer", element_type::int32},
      {"integer(4)", element_type::int32},
      {"integer(kind=4)", element_type::int32},
      {"long", element_type::int64},
      {"long long", element_type::int64},
      {"ll", element_type::int64},
      {"short", element_type::int16},
      {"char", element_type::int8},
  };
  for (const auto& [n, t] : all) {
    if (n == name) return t;
  }
  throw_error(errc::not_supported, fmt::format("values of type '{}' cannot be stored in HDF5 files", name));
}

// Returns the name that the file has for all names of a type.
std::string_view type_in_file(std::string_view name) {
  switch (type_named(name)) {
    case element_type::float64: return "double";
    case element_type::float32: return "float";
    case element_type::int32: return "int";
    default: return name;
  }
}

element_type stored_as(element_type t, REAL_PRECISION wanted) {
  if (t == element_type::float64 && wanted == REAL_PRECISION::Single) return element_type::float32;
  if ((t == element_type::float64 || t == element_type::float32) && wanted == REAL_PRECISION::Half)
    return element_type::float16;
  return t;
}

std::string path_of(ops_dat dat) { return fmt::format("{}/{}", dat->block->name, dat->name); }
std::string name_of(ops_dat from, ops_dat to) { return fmt::format("from_{}_to_{}", from->name, to->name); }
std::span<const int> first(const int* values, int count) { return {values, static_cast<std::size_t>(count)}; }

hdf5_file to_change(char const* file_name) { return {file_name, hdf5_file::open_mode::update}; }
hdf5_file to_read(char const* file_name) { return {file_name, hdf5_file::open_mode::read}; }

// Checks that the file has the attribute's text that the program expects, word for word.
void expect(const hdf5_file& file, const std::string& object, const char* attribute, std::string_view wanted) {
  if (!file.contains(object)) throw_error(errc::bad_file, fmt::format("{} has no '{}'", file.path(), object));
  if (const auto found = file.text(object, attribute); found != wanted) {
    throw_error(errc::bad_file, fmt::format("{}: '{}' has {} '{}', the program says '{}'", file.path(), object,
                                            attribute, found, wanted));
  }
}
void expect(const hdf5_file& file, const std::string& object, const char* attribute, int wanted) {
  if (const auto found = file.integers(object, attribute); found != std::vector<int>{wanted}) {
    throw_error(errc::bad_file, fmt::format("{}: '{}' has {} {}, the program says {}", file.path(), object, attribute,
                                            found.empty() ? 0 : found[0], wanted));
  }
}

// Attributes with one value for each dimension.
std::array<int, OPS_MAX_DIM> per_dimension(const hdf5_file& file, const std::string& object, const char* attribute,
                                           int dims) {
  const auto values = file.integers(object, attribute);
  if (values.size() < static_cast<std::size_t>(dims)) {
    throw_error(errc::bad_file, fmt::format("{}: '{}' of '{}' has {} values for {} dimensions", file.path(), attribute,
                                            object, values.size(), dims));
  }
  std::array<int, OPS_MAX_DIM> all{};
  std::copy_n(values.begin(), dims, all.begin());
  return all;
}

void write_part(ops_dat dat, const st::box& what, const char* file_name, const char* data_name,
                REAL_PRECISION precision, int left_out) {
  dat->block->instance->begin_access(dat);
  auto file = to_change(file_name);
  const auto t = type_named(dat->situ_type);
  file.write(*dat->core, what, data_name, t, stored_as(t, precision), left_out);
  file.close();
}

ops_stencil declare_stencil(int dims, int points, const char* name, char const* file_name) {
  const auto file = to_read(file_name);
  expect(file, name, "ops_type", "ops_stencil");
  expect(file, name, "dims", dims);
  expect(file, name, "points", points);
  auto stride = per_dimension(file, name, "stride", dims);
  std::vector<int> offsets(static_cast<std::size_t>(dims * points));
  file.read_array(name, element_type::int32, offsets.size(), offsets.data());
  return ops_decl_strided_stencil(dims, points, offsets.data(), stride.data(), name);
}

}  // namespace

void ops_fetch_block_hdf5_file(ops_block block, char const* file_name) {
  auto file = to_change(file_name);
  file.make_group(block->name);
  file.set_attribute(block->name, "ops_type", "ops_block");
  file.set_attribute(block->name, "dims", first(&block->dims, 1));
  file.set_attribute(block->name, "index", first(&block->index, 1));
  file.close();
}

void ops_fetch_dat_hdf5_file(ops_dat dat, char const* file_name) {
  const auto& block = *dat->block;
  block.instance->begin_access(dat);
  auto file = to_change(file_name);
  if (!file.contains(block.name)) {
    throw_error(errc::bad_file,
                fmt::format("{} has no block '{}' for dataset '{}': call ops_fetch_block_hdf5_file first", file_name,
                            block.name, dat->name));
  }
  const std::string name = path_of(dat);
  if (file.contains(name)) {
    expect(file, name, "ops_type", "ops_dat");
    expect(file, name, "dim", dat->dim);
    expect(file, name, "type", dat->type);
  }
  file.write(*dat->core, dat->core->valid, name, type_named(dat->situ_type));
  int size[OPS_MAX_DIM], d_p[OPS_MAX_DIM];
  for (int d = 0; d < block.dims; ++d) {
    size[d] = dat->core->inner.extent(d);
    d_p[d] = dat->ghosts_above(d);
  }
  file.set_attribute(name, "ops_type", "ops_dat");
  file.set_attribute(name, "block", block.name);
  file.set_attribute(name, "block_index", first(&block.index, 1));
  file.set_attribute(name, "dim", first(&dat->dim, 1));
  file.set_attribute(name, "size", first(size, block.dims));
  file.set_attribute(name, "d_m", first(dat->d_m, block.dims));
  file.set_attribute(name, "d_p", first(d_p, block.dims));
  file.set_attribute(name, "base", first(dat->base, block.dims));
  file.set_attribute(name, "type", dat->type);
  file.close();
}

void ops_fetch_stencil_hdf5_file(ops_stencil stencil, char const* file_name) {
  auto file = to_change(file_name);
  file.write_array(stencil->name, element_type::int32,
                   static_cast<std::size_t>(stencil->dims) * static_cast<std::size_t>(stencil->points),
                   stencil->stencil);
  file.set_attribute(stencil->name, "ops_type", "ops_stencil");
  file.set_attribute(stencil->name, "dims", first(&stencil->dims, 1));
  file.set_attribute(stencil->name, "index", first(&stencil->index, 1));
  file.set_attribute(stencil->name, "points", first(&stencil->points, 1));
  file.set_attribute(stencil->name, "stride", first(stencil->stride, stencil->dims));
  file.close();
}

void ops_fetch_halo_hdf5_file(ops_halo halo, char const* file_name) {
  auto file = to_change(file_name);
  const std::string name = name_of(halo->from, halo->to);
  const int dims = halo->from->block->dims;
  file.make_group(name);
  file.set_attribute(name, "ops_type", "ops_halo");
  file.set_attribute(name, "from_dat_name", halo->from->name);
  file.set_attribute(name, "to_dat_name", halo->to->name);
  file.set_attribute(name, "from_dat_index", first(&halo->from->index, 1));
  file.set_attribute(name, "to_dat_index", first(&halo->to->index, 1));
  file.set_attribute(name, "iter_size", first(halo->iter_size, dims));
  file.set_attribute(name, "from_base", first(halo->from_base, dims));
  file.set_attribute(name, "to_base", first(halo->to_base, dims));
  file.set_attribute(name, "from_dir", first(halo->from_dir, dims));
  file.set_attribute(name, "to_dir", first(halo->to_dir, dims));
  file.set_attribute(name, "index", first(&halo->index, 1));
  file.close();
}

void ops_dump_to_hdf5(char const* file_name) {
  auto& all = *OPS_instance::getOPSInstance();
  for (auto& b : all.blocks()) ops_fetch_block_hdf5_file(&b, file_name);
  for (auto& d : all.dats()) {
    if (d.core != nullptr) ops_fetch_dat_hdf5_file(&d, file_name);
  }
  for (auto& s : all.stencils()) ops_fetch_stencil_hdf5_file(&s, file_name);
  for (auto& h : all.halos()) ops_fetch_halo_hdf5_file(&h, file_name);
}

ops_block ops_decl_block_hdf5(int dims, const char* block_name, char const* file_name) {
  const auto file = to_read(file_name);
  expect(file, block_name, "ops_type", "ops_block");
  expect(file, block_name, "dims", dims);
  return ops_decl_block(dims, block_name);
}

ops_dat ops_decl_dat_hdf5(ops_block block, int dat_size, char const* type, char const* dat_name,
                          char const* file_name) {
  const auto file = to_read(file_name);
  const std::string name = fmt::format("{}/{}", block->name, dat_name);
  expect(file, name, "ops_type", "ops_dat");
  expect(file, name, "block_index", block->index);
  expect(file, name, "dim", dat_size);
  expect(file, name, "type", type);
  const auto size = per_dimension(file, name, "size", block->dims),
             base = per_dimension(file, name, "base", block->dims), d_m = per_dimension(file, name, "d_m", block->dims),
             d_p = per_dimension(file, name, "d_p", block->dims);
  const auto bytes = static_cast<int>(st::element_bytes(type_named(type)));
  const ops_dat made = block->instance->add_dat(block, dat_size, size.data(), base.data(), d_m.data(), d_p.data(),
                                                nullptr, nullptr, bytes, type, dat_name);
  made->is_hdf5 = 1;
  made->situ_file = file_name;
  made->hdf5_file = made->situ_file.c_str();
  ops_read_dat_hdf5(made);
  return made;
}

void ops_read_dat_hdf5(ops_dat dat) {
  if (dat->is_hdf5 == 0)
    throw_error(errc::bad_argument, fmt::format("dataset '{}' was not declared from an HDF5 file", dat->name));
  dat->block->instance->begin_access(dat);
  dat->reduced_by = -1;
  auto file = to_read(dat->hdf5_file);
  file.read(*dat->core, dat->core->valid, path_of(dat), type_named(dat->situ_type));
  dat->block->instance->end_access(dat);
}

ops_stencil ops_decl_stencil_hdf5(int dims, int points, const char* stencil_name, char const* file_name) {
  return declare_stencil(dims, points, stencil_name, file_name);
}
ops_stencil ops_decl_strided_stencil_hdf5(int dims, int points, const char* stencil_name, char const* file_name) {
  return declare_stencil(dims, points, stencil_name, file_name);
}

ops_halo ops_decl_halo_hdf5(ops_dat from, ops_dat to, char const* file_name) {
  const auto file = to_read(file_name);
  const std::string name = name_of(from, to);
  const int dims = from->block->dims;
  expect(file, name, "ops_type", "ops_halo");
  auto iter_size = per_dimension(file, name, "iter_size", dims),
       from_base = per_dimension(file, name, "from_base", dims), to_base = per_dimension(file, name, "to_base", dims),
       from_dir = per_dimension(file, name, "from_dir", dims), to_dir = per_dimension(file, name, "to_dir", dims);
  return ops_decl_halo(from, to, iter_size.data(), from_base.data(), to_base.data(), from_dir.data(), to_dir.data());
}

void ops_write_const_hdf5(char const* name, int dim, char const* type, char* const_data, char const* file_name) {
  auto file = to_change(file_name);
  file.write_array(name, type_named(type), static_cast<std::size_t>(dim), const_data);
  file.set_attribute(name, "dim", first(&dim, 1));
  file.set_attribute(name, "type", type_in_file(type), false);
  file.close();
}

// Numbers of another type in the file are converted.
void ops_get_const_hdf5(char const* name, int dim, char const* type, char* const_data, char const* file_name) {
  to_read(file_name).read_array(name, type_named(type), static_cast<std::size_t>(dim), const_data);
}

void ops_write_data_slab_hdf5(const ops_dat dat, const int* range, const char* file_name, const char* data_name) {
  ops_write_data_slab_hdf5(dat, range, file_name, data_name, REAL_PRECISION::Undefined);
}
void ops_write_data_slab_hdf5(const ops_dat dat, const int* range, const char* file_name, const char* data_name,
                              REAL_PRECISION real_precision) {
  st::box what;
  for (int d = 0; d < dat->block->dims; ++d) {
    what.low[static_cast<std::size_t>(d)] = range[2 * d];
    what.high[static_cast<std::size_t>(d)] = range[2 * d + 1];
  }
  write_part(dat, what, file_name, data_name, real_precision, -1);
}

void ops_write_plane_hdf5(const ops_dat dat, const int cross_section_dir, const int pos, char const* file_name,
                          const char* data_name) {
  ops_write_plane_hdf5(dat, cross_section_dir, pos, file_name, data_name, REAL_PRECISION::Undefined);
}
void ops_write_plane_hdf5(const ops_dat dat, const int cross_section_dir, const int pos, char const* file_name,
                          const char* data_name, REAL_PRECISION real_precision) {
  st::box what = dat->core->inner;
  const auto d = static_cast<std::size_t>(cross_section_dir);
  if (cross_section_dir < 0 || cross_section_dir >= dat->block->dims || pos < dat->core->valid.low[d] ||
      pos >= dat->core->valid.high[d]) {
    throw_error(errc::bad_argument,
                fmt::format("dataset '{}' has no plane {} in direction {}", dat->name, pos, cross_section_dir));
  }
  what.low[d] = pos;
  what.high[d] = pos + 1;
  write_part(dat, what, file_name, data_name, real_precision, cross_section_dir);
}

void ops_write_plane_group_hdf5(const std::vector<std::pair<int, int>>& planes, std::vector<std::string>& plane_names,
                                const std::string& key, const std::vector<std::vector<ops_dat>>& data_list,
                                REAL_PRECISION real_precision) {
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const auto [direction, pos] = planes[p];
    if (plane_names.size() <= p)
      plane_names.push_back(std::string(1, "IJKLM"[direction % OPS_MAX_DIM]) + std::to_string(pos));
    for (const auto& group : data_list) {
      for (const ops_dat dat : group) {
        ops_write_plane_hdf5(dat, direction, pos, (plane_names[p] + ".h5").c_str(),
                             fmt::format("{}/{}/{}", dat->block->name, key, dat->name).c_str(), real_precision);
      }
    }
  }
}
void ops_write_plane_group_hdf5(const std::vector<std::pair<int, int>>& planes, std::vector<std::string>& plane_names,
                                const std::string& key, const std::vector<std::vector<ops_dat>>& data_list) {
  ops_write_plane_group_hdf5(planes, plane_names, key, data_list, REAL_PRECISION::Undefined);
}
void ops_write_plane_group_hdf5(const std::vector<std::pair<int, int>>& planes, const std::string& key,
                                const std::vector<std::vector<ops_dat>>& data_list, REAL_PRECISION real_precision) {
  std::vector<std::string> names;
  ops_write_plane_group_hdf5(planes, names, key, data_list, real_precision);
}
void ops_write_plane_group_hdf5(const std::vector<std::pair<int, int>>& planes, const std::string& key,
                                const std::vector<std::vector<ops_dat>>& data_list) {
  ops_write_plane_group_hdf5(planes, key, data_list, REAL_PRECISION::Undefined);
}
