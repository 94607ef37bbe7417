// tools/ops_table links this to each program of OPS, over Situ's headers and, if it is asked to, over OPS's own. When
// the program calls ops_exit, the inner points of all its datasets are written to `ops_table.bytes` in the current
// folder, one dataset after the other, the components of a point side by side, and a line for each to
// `ops_table.lines`: name, type, bytes there, bytes with ghost points. It is C++11, which some programs need with OPS.
#include <ops_lib_core.h>
#if __has_include(<ops_instance.h>)
#include <ops_instance.h>  // OPS's own; Situ has the class in the header above
#endif

#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <vector>

namespace {

// Throws if it cannot be written, which ends the program.
std::ofstream open_file(const char* name) {
  std::ofstream made;
  made.exceptions(std::ios::badbit | std::ios::failbit);
  made.open(name, std::ios::binary);
  return made;
}

class files {
 public:
  void add(const char* name, const char* type, const std::vector<char>& values, std::size_t whole_bytes) {
    bytes_.write(values.data(), static_cast<std::streamsize>(values.size()));
    lines_ << name << '\t' << type << '\t' << values.size() << '\t' << whole_bytes << '\n';
  }
  void close() {
    bytes_.close();
    lines_.close();
  }

 private:
  std::ofstream lines_ = open_file("ops_table.lines");
  std::ofstream bytes_ = open_file("ops_table.bytes");
};

// Situ's instance.
template <class Instance>
auto add_datasets(Instance& all, files& to) -> decltype(all.dats(), void()) {
  for (auto& each : all.dats()) {
    if (each.core == nullptr) continue;
    std::array<int, OPS_MAX_DIM> sizes{};
    each.get_extents(0, nullptr, sizes.data());
    std::size_t inner = static_cast<std::size_t>(each.elem_size);
    for (int d = 0; d < each.block->dims; ++d) inner *= static_cast<std::size_t>(sizes[static_cast<std::size_t>(d)]);
    std::vector<char> values(inner);
    each.fetch_data(0, values.data());
    to.add(each.name, each.type, values,
           static_cast<std::size_t>(each.core->valid.points()) * static_cast<std::size_t>(each.elem_size));
  }
}

// The inner points of a dataset of OPS, from its memory: what OPS copies itself (ops_dat_fetch_data) is by the layout
// of its global instance, and by a wrong size for a dataset that has one point in a dimension and ghost points there.
template <class Dataset>
std::vector<char> inner_values(const Dataset& from, bool is_by_components) {
  std::array<std::size_t, OPS_MAX_DIM> sizes{};
  std::array<std::size_t, OPS_MAX_DIM> steps{};
  std::size_t points = 1, count = 1, first = 0;
  for (std::size_t d = 0; d < OPS_MAX_DIM; ++d) {
    const bool is_one = from.size[d] == 1;
    sizes[d] = static_cast<std::size_t>(is_one ? 1 : from.size[d] + from.d_m[d] - from.d_p[d]);
    steps[d] = points;
    first += is_one ? 0 : points * static_cast<std::size_t>(-from.d_m[d]);
    points *= static_cast<std::size_t>(from.size[d]);
    count *= sizes[d];
  }
  const auto components = static_cast<std::size_t>(from.dim);
  const auto bytes = static_cast<std::size_t>(from.type_size);
  std::vector<char> values(count * components * bytes);
  for (std::size_t n = 0; n < count; ++n) {
    std::size_t at = first;
    for (std::size_t d = 0, rest = n; d < OPS_MAX_DIM; rest /= sizes[d], ++d) at += rest % sizes[d] * steps[d];
    for (std::size_t c = 0; c < components; ++c) {
      const std::size_t element = is_by_components ? c * points + at : at * components + c;
      std::memcpy(values.data() + (n * components + c) * bytes, from.data + element * bytes, bytes);
    }
  }
  return values;
}

// OPS's instance. Its list has macros, and its names are not Situ's.
template <class Instance>
auto add_datasets(Instance& all, files& to) -> decltype(all.OPS_dat_list, void()) {
  for (auto* each = all.OPS_dat_list.tqh_first; each != nullptr; each = each->entries.tqe_next) {
    auto& dat = *each->dat;
    ops_memspace where = OPS_HOST;
    ops_dat_get_raw_pointer(&dat, 0, nullptr, &where);  // executes queued loops, and fetches from a device
    std::size_t whole = static_cast<std::size_t>(dat.elem_size);
    for (int d = 0; d < dat.block->dims; ++d) whole *= static_cast<std::size_t>(dat.size[d]);
    to.add(dat.name, dat.type, inner_values(dat, all.OPS_soa != 0), whole);
    ops_dat_release_raw_data(&dat, 0, OPS_READ);
  }
}

}  // namespace

// The linker leads calls of ops_exit here (--wrap).
extern "C" void __real__Z8ops_exitv();
extern "C" void __wrap__Z8ops_exitv() {
  if (OPS_instance* const all = OPS_instance::getOPSInstance()) {
    files to;
    add_datasets(*all, to);
    to.close();
  }
  __real__Z8ops_exitv();
}
