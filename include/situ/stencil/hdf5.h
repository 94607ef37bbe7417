// Reads and writes datasets in HDF5 files. Data move layer by layer through a buffer of a few MiB, so a dataset may be
// larger than memory; the queue is executed first. Link situ::stencil_hdf5.
//
//     hdf5_file out{"heat.h5", hdf5_file::open_mode::create};
//     out.write(u);                      // its inner points as "u"
//     out.close();                       // throws if data could not be written; the destructor cannot
//
// Extents are stored with the outermost dimension first, as in C arrays and h5py; the components of a point are stored
// side by side in the innermost dimension, which is that many times longer. Names may contain groups
// ("plate/step10/u"), which are made if they do not exist. Errors: bad_file, with the file and the object; the
// exceptions of a chain. One thread at a time. cost: the file's, and one copy of the data.
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

// Returns the type of a dataset's elements if they are numbers. Throws not_supported for others. cost: compares names
// of types.
[[nodiscard]] element_type element_type_of(const dataset_core& data);
// Returns the size of an element in bytes.
[[nodiscard]] std::size_t element_bytes(element_type t) noexcept;

// An open HDF5 file. Movable; a moved-from object can only be assigned to or destroyed.
class hdf5_file {
 public:
  // The treatment of an existing file.
  enum class open_mode : std::uint8_t {
    create,  // replaces the file
    update,  // opens the file, or makes it if it does not exist
    read,    // opens the file for reading; it must exist
  };
  // Opens or makes the file. Throws bad_file.
  hdf5_file(std::string path, open_mode how);
  ~hdf5_file();
  hdf5_file(hdf5_file&&) noexcept;
  hdf5_file& operator=(hdf5_file&&) noexcept;
  // Writes the remaining data and closes the file; does nothing on a second call. Throws bad_file if data could not be
  // written.
  void close();
  // Returns the path given to the constructor.
  [[nodiscard]] const std::string& path() const noexcept;

  // Writes the inner points under the dataset's own name, or a box of points under another. A dataset of the same name
  // and extents is overwritten; other extents are an error.
  template <class T, int D>
  void write(const dataset<T, D>& u) {
    write(*u.core(), u.inner(), u.core()->name, element_type_of(*u.core()));
  }
  template <class T, int D, std::derived_from<box> Range = box>
  void write(const dataset<T, D>& u, const Range& what, const std::string& name) {
    require_dims<D, Range>();
    write(*u.core(), what, name, element_type_of(*u.core()));
  }
  // Reads the inner points from the dataset's own name, or a box of points from another name. Other extents in the file
  // are an error; numbers of another type are converted.
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
  // Writes, or reads, an array of `count` elements that belongs to no dataset of the program.
  void write_array(const std::string& name, element_type t, std::size_t count, const void* from);
  void read_array(const std::string& name, element_type t, std::size_t count, void* to) const;
  // Makes a group and the groups above it; does nothing if it exists.
  void make_group(const std::string& name);
  // Returns whether a group or dataset of this name exists.
  [[nodiscard]] bool contains(const std::string& name) const;

  // Sets an attribute of the group or dataset `of`. Strings are as long as their text, and end in a zero if
  // is_terminated.
  void set_attribute(const std::string& of, const std::string& name, std::span<const int> values);
  void set_attribute(const std::string& of, const std::string& name, std::string_view text, bool is_terminated = true);
  // Returns the value of an attribute: integers, or text of fixed length.
  [[nodiscard]] std::vector<int> integers(const std::string& of, const std::string& name) const;
  [[nodiscard]] std::string text(const std::string& of, const std::string& name) const;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace situ::stencil
