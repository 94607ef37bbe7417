// An open HDF5 file, for the modules that write such files: handles that close themselves, failures as bad_file errors
// with the file and the object, datasets that are created or found. For .cpp files that link HDF5; one thread at a
// time may use it, as for HDF5 itself.
#pragma once

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_size.h"
#include "os/descriptor.h"

namespace situ::detail {

// A handle of the library and the function that releases it.
class hdf5_handle {
 public:
  hdf5_handle(hid_t id, herr_t (*close)(hid_t)) noexcept : id_{id}, close_{close} {}
  hdf5_handle(hdf5_handle&& other) noexcept : id_{std::exchange(other.id_, -1)}, close_{other.close_} {}
  ~hdf5_handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const noexcept { return id_; }  // NOLINT

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Returns the library's message for its last failure: the innermost entry is the cause.
inline std::string last_hdf5_failure() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_DOWNWARD,
      [](unsigned n, const H5E_error2_t* e, void* to) -> herr_t {
        if (n == 0 && e->desc != nullptr) *static_cast<std::string*>(to) = e->desc;
        return 0;
      },
      &text);
  return text.empty() ? "HDF5 gives no reason" : text;
}

// HDF5 1.10 crashes at the end of the program if a file could not be closed (a full disk): it tries again, on a file
// that it has half released. So Situ replaces the library's exit function by one that does nothing in that case.
// Without effect if the program has used HDF5 before.
inline std::atomic<bool> some_hdf5_file_stays_open{false};

// Prepares HDF5 for the calling thread. Situ's errors include the library's messages, so it must not print them as
// well; that setting is per thread.
inline void begin_hdf5() {
  [[maybe_unused]] static const bool once = [] {
    if (H5dont_atexit() >= 0)
      std::atexit([] {
        if (!some_hdf5_file_stays_open) H5close();
      });
    return true;
  }();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

struct hdf5_access {
  std::string path;
  hid_t id = -1;

  enum class how { create, update, read };  // replaces the file; changes it; only reads it

  hdf5_access() = default;
  ~hdf5_access() {
    if (id >= 0) (void)close_file();
  }
  hdf5_access(const hdf5_access&) = delete;
  hdf5_access& operator=(const hdf5_access&) = delete;

  void open(std::string where, how mode) {
    begin_hdf5();
    path = std::move(where);
    const standard_streams_filled kept_off;
    const file_size_signal_held held;
    id = mode == how::create ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                             : H5Fopen(path.c_str(), mode == how::read ? H5F_ACC_RDONLY : H5F_ACC_RDWR, H5P_DEFAULT);
    if (id < 0) {
      throw_error(errc::bad_file, fmt::format("HDF5 file {} cannot be {}: {}", path,
                                              mode == how::create ? "made" : "opened", last_hdf5_failure()));
    }
  }
  // Closes the file. Throws if some data could not be written; does nothing on a second call.
  void close() {
    if (id >= 0) check(close_file(), "cannot be closed", "/");
  }

  [[noreturn]] void fail(std::string_view what, const std::string& name) const {
    throw_error(errc::bad_file, fmt::format("{}: '{}' {}: {}", path, name, what, last_hdf5_failure()));
  }
  hdf5_handle check(hdf5_handle h, std::string_view what, const std::string& name) const {
    if (h < 0) fail(what, name);
    return h;
  }
  void check(herr_t status, std::string_view what, const std::string& name) const {
    if (status < 0) fail(what, name);
  }
  // Returns whether the object exists. Checks each group on the path: HDF5 finds no "a/b" if there is no "a".
  [[nodiscard]] bool contains(const std::string& name) const {
    for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
      if (H5Lexists(id, name.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
      if (end == std::string::npos) return true;
    }
  }
  [[nodiscard]] hdf5_handle open_dataset(const std::string& name) const {
    if (!contains(name)) throw_error(errc::bad_file, fmt::format("{} has no '{}'", path, name));
    return check(hdf5_handle{H5Dopen2(id, name.c_str(), H5P_DEFAULT), H5Dclose}, "is no dataset", name);
  }
  void check_extents(hid_t dataset, const std::vector<hsize_t>& wanted, const std::string& name) const {
    const hdf5_handle space{H5Dget_space(dataset), H5Sclose};
    std::vector<hsize_t> found(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
    if (!found.empty()) H5Sget_simple_extent_dims(space, found.data(), nullptr);
    if (found == wanted) return;
    throw_error(errc::bad_file, fmt::format("{}: '{}' has {} elements, not {}", path, name, fmt::join(found, " x "),
                                            fmt::join(wanted, " x ")));
  }
  // Creates a dataset with elements of this type, or opens an existing one, which must have these extents.
  [[nodiscard]] hdf5_handle prepare(const std::string& name, hid_t type, const std::vector<hsize_t>& extents) const {
    if (contains(name)) {
      hdf5_handle found = open_dataset(name);
      check_extents(found, extents, name);
      return found;
    }
    const hdf5_handle space{H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose};
    const hdf5_handle links{H5Pcreate(H5P_LINK_CREATE), H5Pclose};
    H5Pset_create_intermediate_group(links, 1);
    return check(hdf5_handle{H5Dcreate2(id, name.c_str(), type, space, links, H5P_DEFAULT, H5P_DEFAULT), H5Dclose},
                 "cannot be made", name);
  }

 private:
  [[nodiscard]] herr_t close_file() {
    const file_size_signal_held held;  // HDF5 writes its buffered data now
    const herr_t result = H5Fclose(std::exchange(id, -1));
    if (result < 0) some_hdf5_file_stays_open = true;
    return result;
  }
};

}  // namespace situ::detail
