// Datasets to and from HDF5 files. Data move slab by slab through a buffer of a few MiB, so a dataset may be larger
// than memory; what is queued is executed first. Link situ::stencil_hdf5.
//
//     hdf5_file out{"heat.h5", hdf5_file::open_mode::create};
//     out.write(u);                      // its inner points as "u"
//     out.close();                       // throws if something could not be written; the destructor cannot
//
// Extents stand in the file with the outermost dimension first, as C arrays and h5py have them; the components of a
// point lie side by side in the innermost one, which is that many times longer. Names may contain groups
// ("plate/step10/u"), which are made where they are lacking. Errors are errc::bad_file and name the file and the
// object. One thread at a time.
#pragma once

#include <situ/stencil/dataset.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ::stencil {

enum class element_type : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64
};

// What dataset<T, D> of arithmetic T has. Throws not_supported for the others.
[[nodiscard]] element_type element_type_of(const dataset_core& data);
[[nodiscard]] std::size_t element_bytes(element_type t) noexcept;

class hdf5_file {
 public:
  enum class open_mode : std::uint8_t {
    create,  // replaces a file of that name
    update,  // made if there is none
    read,
  };
  hdf5_file(std::string path, open_mode how);
  ~hdf5_file();
  hdf5_file(hdf5_file&&) noexcept;
  hdf5_file& operator=(hdf5_file&&) noexcept;
  void close();
  [[nodiscard]] const std::string& path() const noexcept;

  // A dataset of that name and those extents is overwritten; one with other extents is an error.
  template <class T, int D>
  void write(const dataset<T, D>& u) {
    write(*u.core(), u.inner(), u.core()->name, element_type_of(*u.core()));
  }
  template <class T, int D, std::derived_from<box> Range = box>
  void write(const dataset<T, D>& u, const Range& what, const std::string& name) {
    require_dims<D, Range>();
    write(*u.core(), what, name, element_type_of(*u.core()));
  }
  template <class T, int D>
  void read(const dataset<T, D>& u) {
    read(*u.core(), u.inner(), u.core()->name, element_type_of(*u.core()));
  }
  template <class T, int D, std::derived_from<box> Range = box>
  void read(const dataset<T, D>& u, const Range& what, const std::string& name) {
    require_dims<D, Range>();
    read(*u.core(), what, name, element_type_of(*u.core()));
  }

  // The untyped layer. `left_out` is a dimension that the file's dataset does not have (`what` is one point thick in
  // it), or -1; `stored` is the type in the file.
  void write(const dataset_core& data, const box& what, const std::string& name, element_type in_memory,
             element_type stored, int left_out = -1);
  void write(const dataset_core& data, const box& what, const std::string& name, element_type t) {
    write(data, what, name, t, t);
  }
  void read(dataset_core& data, const box& what, const std::string& name, element_type in_memory);
  void write_array(const std::string& name, element_type t, std::size_t count, const void* from);
  void read_array(const std::string& name, element_type t, std::size_t count, void* to) const;
  void make_group(const std::string& name);
  [[nodiscard]] bool contains(const std::string& name) const;

  // Attributes of a group or dataset. Strings are as long as their text, and end in a zero if is_terminated.
  void set_attribute(const std::string& of, const std::string& name, std::span<const int> values);
  void set_attribute(const std::string& of, const std::string& name, std::string_view text, bool is_terminated = true);
  [[nodiscard]] std::vector<int> integers(const std::string& of, const std::string& name) const;
  [[nodiscard]] std::string text(const std::string& of, const std::string& name) const;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace situ::stencil
