// tools/ops_table links this to each program of OPS. When the program calls ops_exit, the inner points of all its
// datasets are written to `ops_table.bytes` in the current folder, one dataset after the other, and a line for each to
// `ops_table.lines`: name, type, bytes there, bytes with ghost points.
#include <ops_lib_core.h>

#include <cstddef>
#include <cstdio>
#include <vector>

namespace {

struct file {
  std::FILE* stream;
  explicit file(const char* name) : stream{std::fopen(name, "wb")} {
    if (stream == nullptr) std::perror(name), std::abort();
  }
  ~file() {
    if (std::fclose(stream) != 0) std::perror("tools/ops_table_datasets.cpp"), std::abort();
  }
  file(const file&) = delete;
  file& operator=(const file&) = delete;
};

void write_datasets(OPS_instance& all) {
  const file lines{"ops_table.lines"}, bytes{"ops_table.bytes"};
  for (ops_dat_core& each : all.dats()) {
    if (each.core == nullptr) continue;
    int sizes[OPS_MAX_DIM] = {};
    each.get_extents(0, nullptr, sizes);
    std::size_t inner = static_cast<std::size_t>(each.elem_size);
    for (int d = 0; d < each.block->dims; ++d) inner *= static_cast<std::size_t>(sizes[d]);
    std::vector<char> values(inner);
    each.fetch_data(0, values.data());
    std::fwrite(values.data(), 1, inner, bytes.stream);
    std::fprintf(lines.stream, "%s\t%s\t%zu\t%zu\n", each.name, each.type, inner,
                 static_cast<std::size_t>(each.core->valid.points()) * static_cast<std::size_t>(each.elem_size));
  }
}

}  // namespace

// The linker leads calls of ops_exit here (--wrap).
extern "C" void __real__Z8ops_exitv();
extern "C" void __wrap__Z8ops_exitv() {
  if (OPS_instance* const all = OPS_instance::getOPSInstance()) write_datasets(*all);
  __real__Z8ops_exitv();
}
