// tools/ops_table links this to each program of OPS. When the program calls ops_exit, the inner points of all its
// datasets are written to `ops_table.bytes` in the current folder, one dataset after the other, and a line for each to
// `ops_table.lines`: name, type, bytes there, bytes with ghost points.
#include <ops_lib_core.h>

#include <cstddef>
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

void write_datasets(OPS_instance& all) {
  std::ofstream lines = open_file("ops_table.lines");
  std::ofstream bytes = open_file("ops_table.bytes");
  for (ops_dat_core& each : all.dats()) {
    if (each.core == nullptr) continue;
    int sizes[OPS_MAX_DIM] = {};
    each.get_extents(0, nullptr, sizes);
    std::size_t inner = static_cast<std::size_t>(each.elem_size);
    for (int d = 0; d < each.block->dims; ++d) inner *= static_cast<std::size_t>(sizes[d]);
    std::vector<char> values(inner);
    each.fetch_data(0, values.data());
    bytes.write(values.data(), static_cast<std::streamsize>(inner));
    lines << each.name << '\t' << each.type << '\t' << inner << '\t'
          << static_cast<std::size_t>(each.core->valid.points()) * static_cast<std::size_t>(each.elem_size) << '\n';
  }
  bytes.close();
  lines.close();
}

}  // namespace

// The linker leads calls of ops_exit here (--wrap).
extern "C" void __real__Z8ops_exitv();
extern "C" void __wrap__Z8ops_exitv() {
  if (OPS_instance* const all = OPS_instance::getOPSInstance()) write_datasets(*all);
  __real__Z8ops_exitv();
}
