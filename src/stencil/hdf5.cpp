#include <situ/stencil/hdf5.h>

#include "os/hdf5_access.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace situ::stencil {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{4} << 20;

using handle = detail::hdf5_handle;

// Makes IEEE half precision, for which HDF5 1.10 has no name: HDF5 converts any type that is described to it.
hid_t make_float16() {
  const hid_t t = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(t, 15, 10, 5, 0, 10);
  H5Tset_precision(t, 16);
  H5Tset_size(t, 2);
  H5Tset_ebias(t, 15);
  return t;
}

hid_t native(element_type t) {
  switch (t) {
    case element_type::int8: return H5T_NATIVE_INT8;
    case element_type::int16: return H5T_NATIVE_INT16;
    case element_type::int32: return H5T_NATIVE_INT32;
    case element_type::int64: return H5T_NATIVE_INT64;
    case element_type::uint8: return H5T_NATIVE_UINT8;
    case element_type::uint16: return H5T_NATIVE_UINT16;
    case element_type::uint32: return H5T_NATIVE_UINT32;
    case element_type::uint64: return H5T_NATIVE_UINT64;
    case element_type::float16: {
      static const hid_t half = make_float16();
      return half;
    }
    case element_type::float32: return H5T_NATIVE_FLOAT;
    case element_type::float64: return H5T_NATIVE_DOUBLE;
  }
  return -1;
}

template <class T>
constexpr element_type type_for() {
  if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == 4 ? element_type::float32 : element_type::float64;
  } else {
    constexpr int log = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<element_type>(log + (std::is_signed_v<T> ? 0 : 4));
  }
}

template <class... T>
bool find_type(const std::string& name, element_type& to) {
  return ((name == typeid(T).name() && (to = type_for<T>(), true)) || ...);
}

std::vector<hsize_t> extents_of(const dataset_core& data, const box& what, int left_out) {
  std::vector<hsize_t> e;
  for (int d = data.dims - 1; d >= 0; --d) {
    if (d != left_out) e.push_back(static_cast<hsize_t>(what.extent(d)));
  }
  if (e.empty()) e.push_back(1);
  e.back() *= static_cast<hsize_t>(data.components);
  return e;
}

// Calls f(part, first, count) for pieces of whole layers of `what` that fit into the buffer. `first` is the piece's
// position in the file's dataset, `count` its extents.
template <class F>
void for_each_piece(const dataset_core& data, const box& what, int left_out, std::size_t bytes_per_point, const F& f) {
  int last = data.dims - 1;
  if (last == left_out && last > 0) --last;
  const std::size_t layer = static_cast<std::size_t>(what.points()) /
                            static_cast<std::size_t>(std::max(1, what.extent(last))) * bytes_per_point;
  const int step = static_cast<int>(std::max<std::size_t>(1, buffer_bytes / std::max<std::size_t>(1, layer)));
  for (int from = what.low[last]; from < what.high[last]; from += std::min(step, what.high[last] - from)) {
    box part = what;
    part.low[last] = from;
    part.high[last] = from + std::min(step, what.high[last] - from);
    auto count = extents_of(data, part, left_out);
    std::vector<hsize_t> first(count.size(), 0);
    first[0] =
        static_cast<hsize_t>(from - what.low[last]) * (count.size() == 1 ? static_cast<hsize_t>(data.components) : 1);
    f(part, first, count);
  }
}

}  // namespace

element_type element_type_of(const dataset_core& data) {
  element_type t{};
  if (find_type<double, float, char, signed char, unsigned char, short, unsigned short, int, unsigned, long,
                unsigned long, long long, unsigned long long>(data.type_name, t)) {
    return t;
  }
  throw_error(errc::not_supported, fmt::format("dataset '{}' holds elements of type {}: only numbers go to HDF5 files",
                                               data.name, data.type_name));
}

std::size_t element_bytes(element_type t) noexcept {
  switch (t) {
    case element_type::int8:
    case element_type::uint8: return 1;
    case element_type::int16:
    case element_type::uint16:
    case element_type::float16: return 2;
    case element_type::int32:
    case element_type::uint32:
    case element_type::float32: return 4;
    default: return 8;
  }
}

struct hdf5_file::parts : detail::hdf5_access {
  [[nodiscard]] handle open_object(const std::string& of) const {
    return check(handle{H5Oopen(id, of.c_str(), H5P_DEFAULT), H5Oclose}, "cannot be opened", of);
  }
  void set_attribute(const std::string& of, const std::string& name, hid_t type, hid_t space, const void* value) const {
    const handle object = open_object(of);
    if (H5Aexists(object, name.c_str()) > 0) H5Adelete(object, name.c_str());
    const handle a = check(handle{H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose},
                           "takes no attribute", of);
    check(H5Awrite(a, type, value), "takes no attribute", of);
  }
  [[nodiscard]] handle attribute(const std::string& of, const std::string& name) const {
    if (!contains(of)) throw_error(errc::bad_file, fmt::format("{} has no '{}'", path, of));
    return check(handle{H5Aopen_by_name(id, of.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose},
                 "has no attribute " + name, of);
  }
};

hdf5_file::hdf5_file(std::string path, open_mode how) : parts_{std::make_unique<parts>()} {
  using access = detail::hdf5_access::how;
  const bool is_new = how == open_mode::create || (how == open_mode::update && !std::filesystem::exists(path));
  parts_->open(std::move(path), is_new ? access::create : how == open_mode::read ? access::read : access::update);
}

hdf5_file::~hdf5_file() = default;
hdf5_file::hdf5_file(hdf5_file&&) noexcept = default;
hdf5_file& hdf5_file::operator=(hdf5_file&& other) noexcept {
  std::swap(parts_, other.parts_);
  return *this;
}

void hdf5_file::close() { parts_->close(); }

const std::string& hdf5_file::path() const noexcept { return parts_->path; }
bool hdf5_file::contains(const std::string& name) const { return parts_->contains(name); }

void hdf5_file::write(const dataset_core& data, const box& what, const std::string& name, element_type in_memory,
                      element_type stored, int left_out) {
  const situ::detail::file_size_signal_held held;
  const handle set = parts_->prepare(name, native(stored), extents_of(data, what, left_out));
  const handle there{H5Dget_space(set), H5Sclose};
  const std::size_t point = data.element_bytes * static_cast<std::size_t>(data.components);
  std::vector<std::byte> buffer;
  for_each_piece(data, what, left_out, point,
                 [&](const box& part, const std::vector<hsize_t>& first, const std::vector<hsize_t>& count) {
                   buffer.resize(static_cast<std::size_t>(part.points()) * point);
                   data.owner->fetch(data, part, component_order::interleaved, buffer.data());
                   const handle here{H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose};
                   H5Sselect_hyperslab(there, H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr);
                   parts_->check(H5Dwrite(set, native(in_memory), here, there, H5P_DEFAULT, buffer.data()),
                                 "cannot be written", name);
                 });
}

void hdf5_file::read(dataset_core& data, const box& what, const std::string& name, element_type in_memory) {
  const handle set = parts_->open_dataset(name);
  parts_->check_extents(set, extents_of(data, what, -1), name);
  const handle there{H5Dget_space(set), H5Sclose};
  const std::size_t point = data.element_bytes * static_cast<std::size_t>(data.components);
  std::vector<std::byte> buffer;
  for_each_piece(data, what, -1, point,
                 [&](const box& part, const std::vector<hsize_t>& first, const std::vector<hsize_t>& count) {
                   buffer.resize(static_cast<std::size_t>(part.points()) * point);
                   const handle here{H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose};
                   H5Sselect_hyperslab(there, H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr);
                   parts_->check(H5Dread(set, native(in_memory), here, there, H5P_DEFAULT, buffer.data()),
                                 "cannot be read", name);
                   data.owner->store(data, part, component_order::interleaved, buffer.data());
                 });
}

void hdf5_file::write_array(const std::string& name, element_type t, std::size_t count, const void* from) {
  const situ::detail::file_size_signal_held held;
  const handle set = parts_->prepare(name, native(t), {count});
  parts_->check(H5Dwrite(set, native(t), H5S_ALL, H5S_ALL, H5P_DEFAULT, from), "cannot be written", name);
}

void hdf5_file::read_array(const std::string& name, element_type t, std::size_t count, void* to) const {
  const handle set = parts_->open_dataset(name);
  parts_->check_extents(set, {count}, name);
  parts_->check(H5Dread(set, native(t), H5S_ALL, H5S_ALL, H5P_DEFAULT, to), "cannot be read", name);
}

void hdf5_file::make_group(const std::string& name) {
  const situ::detail::file_size_signal_held held;
  if (parts_->contains(name)) return;
  const handle links{H5Pcreate(H5P_LINK_CREATE), H5Pclose};
  H5Pset_create_intermediate_group(links, 1);
  (void)parts_->check(handle{H5Gcreate2(parts_->id, name.c_str(), links, H5P_DEFAULT, H5P_DEFAULT), H5Gclose},
                      "cannot be made", name);
}

void hdf5_file::set_attribute(const std::string& of, const std::string& name, std::span<const int> values) {
  const situ::detail::file_size_signal_held held;
  const hsize_t count = values.size();
  const handle space{H5Screate_simple(1, &count, nullptr), H5Sclose};
  parts_->set_attribute(of, name, H5T_NATIVE_INT, space, values.data());
}

void hdf5_file::set_attribute(const std::string& of, const std::string& name, std::string_view text,
                              bool is_terminated) {
  const situ::detail::file_size_signal_held held;
  const handle type{H5Tcopy(H5T_C_S1), H5Tclose};
  H5Tset_size(type, text.size() + (is_terminated ? 1 : 0));
  const handle space{H5Screate(H5S_SCALAR), H5Sclose};
  parts_->set_attribute(of, name, type, space, std::string{text}.c_str());
}

std::vector<int> hdf5_file::integers(const std::string& of, const std::string& name) const {
  const handle a = parts_->attribute(of, name);
  const handle space{H5Aget_space(a), H5Sclose};
  std::vector<int> values(static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space))));
  parts_->check(H5Aread(a, H5T_NATIVE_INT, values.data()), "has no integers in attribute " + name, of);
  return values;
}

std::string hdf5_file::text(const std::string& of, const std::string& name) const {
  const handle a = parts_->attribute(of, name);
  const handle type{H5Aget_type(a), H5Tclose};
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0) {
    throw_error(errc::bad_file,
                fmt::format("{}: attribute '{}' of '{}' is no text of fixed length", parts_->path, name, of));
  }
  std::string value(H5Tget_size(type), '\0');
  parts_->check(H5Aread(a, type, value.data()), "has no text in attribute " + name, of);
  return value.substr(0, value.find('\0'));
}

}  // namespace situ::stencil
