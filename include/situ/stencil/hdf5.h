// Datasets to and from HDF5 files. Data move layer by layer through a buffer of a few MiB, so a dataset may be larger
// than memory; what is queued is executed first. Link situ::stencil_hdf5.
//
//     hdf5_file out{"heat.h5", hdf5_file::open_mode::create};
//     out.write(u);                      // its inner points as "u"
//     out.close();                       // throws if something could not be written; the destructor cannot
//
// Extents stand in the file with the outermost dimension first, as C arrays and h5py have them; the components of a
// point lie side by side in the innermost one, which is that many times longer. Names may contain groups
// ("plate/step10/u"), which are made where they are lacking. Errors: bad_file, with the file and the object; what
// executing a chain throws. One thread at a time. cost: the file's, and one copy of the data.
#pragma once

#include <situ/stencil/dataset.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ::stencil {

// The type of an element, in memory or in a file.
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

// The type of a dataset's elements, where they are numbers. Throws not_supported for the others. cost: compares names
// of types.
[[nodiscard]] element_type element_type_of(const dataset_core& data);
// The size of an element.
[[nodiscard]] std::size_t element_bytes(element_type t) noexcept;

// An open HDF5 file. Movable; what was moved from can only be assigned to or destroyed.
class hdf5_file {
 public:
  // What to do with a file of that name.
  enum class open_mode : std::uint8_t {
    create,  // replaces a file of that name
    update,  // made if there is none
    read,    // only read; there must be one
  };
  // Opens or makes the file. Throws bad_file.
  hdf5_file(std::string path, open_mode how);
  ~hdf5_file();
  hdf5_file(hdf5_file&&) noexcept;
  hdf5_file& operator=(hdf5_file&&) noexcept;
  // Writes out what is left and closes the file; does nothing a second time. Throws bad_file if something could not be
  // written.
  void close();
  // The path that it was opened by.
  [[nodiscard]] const std::string& path() const noexcept;

  // Writes the inner points under the dataset's own name, or a box of points under another. A dataset of that name and
  // those extents is overwritten; one with other extents is an error.
  template <class T, int D>
  void write(const dataset<T, D>& u) {
    write(*u.core(), u.inner(), u.core()->name, element_type_of(*u.core()));
  }
  template <class T, int D, std::derived_from<box> Range = box>
  void write(const dataset<T, D>& u, const Range& what, const std::string& name) {
    require_dims<D, Range>();
    write(*u.core(), what, name, element_type_of(*u.core()));
  }
  // Reads them back. A dataset in the file with other extents is an error; numbers of another type are converted.
  template <class T, int D>
  void read(const dataset<T, D>& u) {
    read(*u.core(), u.inner(), u.core()->name, element_type_of(*u.core()));
  }
  template <class T, int D, std::derived_from<box> Range = box>
  void read(const dataset<T, D>& u, const Range& what, const std::string& name) {
    require_dims<D, Range>();
    read(*u.core(), what, name, element_type_of(*u.core()));
  }

  // The untyped core. `left_out` is a dimension that the file's dataset does not have (`what` is one point thick in
  // it), or -1; `stored` is the type in the file.
  void write(const dataset_core& data, const box& what, const std::string& name, element_type in_memory,
             element_type stored, int left_out = -1);
  void write(const dataset_core& data, const box& what, const std::string& name, element_type t) {
    write(data, what, name, t, t);
  }
  void read(dataset_core& data, const box& what, const std::string& name, element_type in_memory);
  // Writes, or reads, an array of `count` elements that stands for no dataset of the program.
  void write_array(const std::string& name, element_type t, std::size_t count, const void* from);
  void read_array(const std::string& name, element_type t, std::size_t count, void* to) const;
  // Makes a group, and those above it; does nothing where it is there.
  void make_group(const std::string& name);
  // Whether there is a group or dataset of this name.
  [[nodiscard]] bool contains(const std::string& name) const;

  // Sets an attribute of a group or dataset, `of`. Strings are as long as their text, and end in a zero if
  // is_terminated.
  void set_attribute(const std::string& of, const std::string& name, std::span<const int> values);
  void set_attribute(const std::string& of, const std::string& name, std::string_view text, bool is_terminated = true);
  // The value of an attribute: integers, or text of fixed length.
  [[nodiscard]] std::vector<int> integers(const std::string& of, const std::string& name) const;
  [[nodiscard]] std::string text(const std::string& of, const std::string& name) const;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace situ::stencil
