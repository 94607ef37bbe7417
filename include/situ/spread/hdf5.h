// Writes distributed arrays to HDF5 files and reads them back. The whole array is one dataset in one file; each place
// writes or reads its own part directly from or to its memory. Link situ::spread_hdf5.
//
//   situ::write_hdf5("heat.h5", "plate/step 10", u);
//   situ::read_hdf5("heat.h5", "plate/step 10", u);          // on any number of places, cut in any way
//
// The dataset has the array's extents, outermost first, as in C arrays and h5py. Elements are numbers. Ghost zones are
// neither written nor read. Collective: the members of the array's team call it with the same file and name. Errors:
// bad_file, thrown at every member if one of them meets it; place_lost_error, after which the file may lack parts or be
// unreadable. cost: HDF5 lets one process write a file at a time, so places write one after the other, each opening the
// file again (some ms); they read concurrently. The part is not copied.
#pragma once

#include <situ/spread/distributed_array.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace situ {

namespace detail {

// The elements of a place along one dimension: `count` runs of `length` elements, whose starts are `stride` apart in
// the file.
struct hdf5_run {
  std::size_t begin;  // of the first run, in the file
  std::size_t local;  // of the first run, in the part
  std::size_t count;
  std::size_t length;
  std::size_t stride;
};
struct hdf5_axis {
  std::size_t extent;     // of the array
  std::size_t allocated;  // of the part's memory, ghost elements included
  std::size_t first;      // of the part's own elements in that memory
  std::vector<hdf5_run> runs;
};
struct hdf5_part {
  std::size_t element_bytes;
  bool is_real;
  bool is_signed;
  std::vector<hdf5_axis> axes;
  void* memory;  // of the part, ghost zones included
};

template <class T, std::size_t D>
[[nodiscard]] hdf5_part hdf5_part_of(const distributed_array<T, D>& array) {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8,
                "situ: only numbers of up to 8 bytes go to HDF5 files: for a struct, an array for each of its fields");
  hdf5_part part{sizeof(T), std::is_floating_point_v<T>, std::is_signed_v<T>, {}, nullptr};
  const auto view = array.local_view();
  const std::uint32_t me = array.members().index();
  const bool has_part = array.distribution().has_part(me);
  const auto along = array.distribution().coordinates(me);
  const T* memory = view.data();
  for (std::size_t d = 0; d < D; ++d) {
    const cut_axis& axis = array.distribution().axis(d);
    hdf5_axis made{array.extent(d), array.allocated()[d], array.ghosts().low[d], {}};
    memory -= static_cast<std::ptrdiff_t>(array.ghosts().low[d]) * view.stride(d);
    axis.for_each_piece(0, axis.extent, [&](const axis_piece& piece) {
      if (!has_part || piece.place != along[d]) return;
      const bool is_apart = piece.stride != 1;  // single elements
      made.runs.push_back(
          {static_cast<std::size_t>(piece.offset), static_cast<std::size_t>(piece.local),
           static_cast<std::size_t>(is_apart ? piece.length : piece.blocks),
           static_cast<std::size_t>(is_apart ? 1 : piece.length),
           static_cast<std::size_t>(is_apart ? piece.stride : std::max(piece.length, axis.block * axis.places))});
    });
    part.axes.push_back(std::move(made));
  }
  part.memory = const_cast<T*>(memory);
  return part;
}

void write_hdf5_part(const std::string& path, const std::string& name, const hdf5_part& part, const team& members);
void read_hdf5_part(const std::string& path, const std::string& name, const hdf5_part& part, const team& members);

}  // namespace detail

// Writes an array as a dataset. Creates the file, the dataset and its groups ("plate/step 10") if they do not exist.
// Overwrites a dataset of that name with the same extents; a dataset with other extents is an error. The file includes
// all values that places put before the call. cost: see above.
template <class T, std::size_t D>
void write_hdf5(const std::string& path, const std::string& name, const distributed_array<T, D>& from) {
  detail::write_hdf5_part(path, name, detail::hdf5_part_of(from), from.members());
}

// Reads an array from a dataset, whatever the distribution when it was written. A dataset with other extents is an
// error; numbers of another type are converted. All members see the values after the call. cost: see above.
template <class T, std::size_t D>
void read_hdf5(const std::string& path, const std::string& name, distributed_array<T, D>& to) {
  detail::read_hdf5_part(path, name, detail::hdf5_part_of(to), to.members());
}

}  // namespace situ
