#include <situ/spread/hdf5.h>

#include "os/hdf5_access.h"

#include <situ/base/error.h>
#include <situ/runtime/collective.h>

#include <filesystem>
#include <mutex>

namespace situ::detail {
namespace {

// HDF5 is not thread-safe: if places are threads of one process, one of them uses it at a time. No thread waits for
// another place while it holds the lock.
std::mutex one_thread;

using how = hdf5_access::how;
using handle = hdf5_handle;

hid_t native(const hdf5_part& part) {
  if (part.is_real) return part.element_bytes == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  switch (part.element_bytes) {
    case 1: return part.is_signed ? H5T_NATIVE_INT8 : H5T_NATIVE_UINT8;
    case 2: return part.is_signed ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16;
    case 4: return part.is_signed ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32;
    default: return part.is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
  }
}

std::vector<hsize_t> extents_of(const hdf5_part& part) {
  std::vector<hsize_t> extents;
  for (const hdf5_axis& axis : part.axes) extents.push_back(axis.extent);
  return extents;
}

// Calls f(one run per dimension) for each combination of runs; together they are the part.
template <class F>
void for_each_slab(const hdf5_part& part, std::vector<const hdf5_run*>& runs, const F& f) {
  if (runs.size() == part.axes.size()) return f();
  for (const hdf5_run& run : part.axes[runs.size()].runs) {
    runs.push_back(&run);
    for_each_slab(part, runs, f);
    runs.pop_back();
  }
}

// Calls move(memory space, file space) for each slab, with the same elements selected in both, in the same order.
template <class Move>
void for_each_slab(const hdf5_part& part, hid_t dataset, const Move& move) {
  std::vector<const hdf5_run*> runs;
  for_each_slab(part, runs, [&] {
    std::vector<hsize_t> allocated, first, extents, begin, stride, count, length;
    for (std::size_t d = 0; d < runs.size(); ++d) {
      const hdf5_axis& axis = part.axes[d];
      allocated.push_back(axis.allocated);
      first.push_back(axis.first + runs[d]->local);
      extents.push_back(runs[d]->count * runs[d]->length);
      begin.push_back(runs[d]->begin);
      stride.push_back(runs[d]->stride);
      count.push_back(runs[d]->count);
      length.push_back(runs[d]->length);
    }
    const handle here{H5Screate_simple(static_cast<int>(allocated.size()), allocated.data(), nullptr), H5Sclose};
    H5Sselect_hyperslab(here, H5S_SELECT_SET, first.data(), nullptr, extents.data(), nullptr);
    const handle there{H5Dget_space(dataset), H5Sclose};
    H5Sselect_hyperslab(there, H5S_SELECT_SET, begin.data(), stride.data(), count.data(), length.data());
    move(here, there);
  });
}

// Runs `work` and returns its error as text, which travels; empty if it succeeded.
template <class Work>
std::string failure_of(const Work& work) {
  try {
    const std::lock_guard alone{one_thread};
    work();
    return {};
  } catch (const error& e) {
    return std::string{e.message()};
  }
}

}  // namespace

void write_hdf5_part(const std::string& path, const std::string& name, const hdf5_part& part, const team& members) {
  barrier(members);  // waits for the values that other places have put into this part
  for (std::uint32_t turn = 0; turn < members.size(); ++turn) {
    std::string failure;
    if (turn == members.index()) {
      failure = failure_of([&] {
        const file_size_signal_held held;
        hdf5_access file;
        file.open(path, turn == 0 && !std::filesystem::exists(path) ? how::create : how::update);
        {
          const handle set = file.prepare(name, native(part), extents_of(part));
          for_each_slab(part, set, [&](hid_t here, hid_t there) {
            file.check(H5Dwrite(set, native(part), here, there, H5P_DEFAULT, part.memory), "cannot be written", name);
          });
        }
        file.close();  // after the dataset is closed
      });
    }
    failure = broadcast(std::move(failure), turn, members);  // passes the turn on
    if (!failure.empty()) throw_error(errc::bad_file, failure);
  }
}

void read_hdf5_part(const std::string& path, const std::string& name, const hdf5_part& part, const team& members) {
  barrier(members);  // the other places no longer use the elements that are overwritten
  const std::string failure = failure_of([&] {
    hdf5_access file;
    file.open(path, how::read);
    const handle set = file.open_dataset(name);
    file.check_extents(set, extents_of(part), name);
    for_each_slab(part, set, [&](hid_t here, hid_t there) {
      file.check(H5Dread(set, native(part), here, there, H5P_DEFAULT, part.memory), "cannot be read", name);
    });
  });
  for (const std::string& each : all_gather(failure, members))
    if (!each.empty()) throw_error(errc::bad_file, each);
}

}  // namespace situ::detail
