// Printing, timing, text files.
#include "ops_lib_core.h"

#include "base/file_size.h"
#include "os/descriptor.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <sys/time.h>

#include <cstdarg>
#include <sstream>

void ops_printf(const char* format, ...) {
  va_list all;
  va_start(all, format);
  std::vprintf(format, all);
  va_end(all);
}

void ops_fprintf(FILE* stream, const char* format, ...) {
  va_list all;
  va_start(all, format);
  std::vfprintf(stream, format, all);
  va_end(all);
}

int ops_is_root() { return 1; }
int ops_num_procs() { return 1; }
int ops_get_proc() { return 0; }

// Executes nothing, as in OPS: timers inside a time step would cut its chain.
void ops_timers(double* cpu, double* elapsed) { ops_timers_core(cpu, elapsed); }

void ops_timers_core(double* cpu, double* elapsed) {
  timeval t;
  gettimeofday(&t, nullptr);
  *elapsed = static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  if (cpu != nullptr) *cpu = 0;
}

void OPS_instance::diagnostic_output() {
  if (OPS_diags <= 1) return;
  for (const auto& d : dats_) {
    if (d.core == nullptr) continue;
    *out_ << fmt::format("dat {} of {} [{}] on block {}: {} x {} bytes\n", d.name, d.type, d.dim, d.block->name,
                         d.core->valid.points(), d.elem_size);
  }
}
void ops_diagnostic_output() { OPS_instance::getOPSInstance()->diagnostic_output(); }

void OPS_instance::timing_output(std::ostream& to) {
  execute();
  if (context_ != nullptr) context_->report(to);
}
void ops_timing_output(std::ostream& to) { OPS_instance::getOPSInstance()->timing_output(to); }
void ops_timing_output(FILE* to) {
  std::ostringstream text;
  ops_timing_output(text);
  std::fputs(text.str().c_str(), to);
}
void ops_timing_output_stdout() { ops_timing_output(std::cout); }

namespace {

// Formats numbers as OPS does.
std::string number(const char* at, const std::string& type) {
  if (type == "double" || type == "real(8)") return fmt::format(" {:3.10f}", *reinterpret_cast<const double*>(at));
  if (type == "float" || type == "real(4)") return fmt::format("{:e} ", *reinterpret_cast<const float*>(at));
  if (type == "int" || type == "integer(4)") return fmt::format("{} ", *reinterpret_cast<const int*>(at));
  if (type == "long" || type == "ll" || type == "long long")
    return fmt::format("{} ", *reinterpret_cast<const long*>(at));
  if (type == "complexd" || type == "complexf") {
    const bool is_double = type == "complexd";
    const auto part = [&](int n) {
      return is_double ? reinterpret_cast<const double*>(at)[n]
                       : static_cast<double>(reinterpret_cast<const float*>(at)[n]);
    };
    return is_double ? fmt::format("{:3.10f}+{:3.10f}i ", part(0), part(1))
                     : fmt::format("{:e}+{:e}i ", part(0), part(1));
  }
  situ::throw_error(situ::errc::not_supported, fmt::format("elements of type '{}' cannot be written as text", type));
}

}  // namespace

// Writes all points, ghosts included: a line of text for each line of points, an empty line after each plane, and so
// on. It appends, as OPS does.
void ops_print_dat_to_txtfile(ops_dat dat, const char* file) {
  auto& i = *dat->block->instance;
  std::string text =
      fmt::format("ops_dat:  {} \nops_dat dim:  {} \nblock Dims : {} ", dat->name, dat->dim, dat->block->dims);
  for (int d = 0; d < dat->block->dims; ++d) text += fmt::format("[{}]", dat->core->valid.extent(d));
  text += fmt::format("\nelem size {} \n", dat->elem_size);
  const situ::detail::standard_streams_filled kept_off;
  const situ::detail::file_size_signal_held held;
  FILE* const to = std::fopen(file, "ae");
  bool good = to != nullptr;
  const auto& all = dat->core->valid;
  const auto last = static_cast<std::size_t>(dat->block->dims) - 1;
  std::vector<char> values;
  situ::stencil::box slab = all;
  for (int at = all.low[last]; good && at < all.high[last]; ++at) {
    slab.low[last] = at;
    slab.high[last] = at + 1;
    values.resize(static_cast<std::size_t>(slab.points()) * static_cast<std::size_t>(dat->elem_size));
    i.fetch(dat, slab, values.data());
    const auto size = static_cast<std::size_t>(dat->type_size);
    const auto components = static_cast<std::size_t>(dat->dim);
    for (std::size_t n = 0; n * size < values.size(); ++n) {
      text += number(values.data() + n * size, dat->situ_type);
      std::size_t points = (n + 1) / components, extent = 1;
      if ((n + 1) % components != 0) continue;
      for (std::size_t d = 0; d < last; ++d) {
        extent *= static_cast<std::size_t>(all.extent(static_cast<int>(d)));
        if (points % extent != 0) break;
        if (all.extent(static_cast<int>(d)) > 1) text += '\n';
      }
    }
    good = std::fwrite(text.data(), 1, text.size(), to) == text.size();
    text.clear();
  }
  if (good && all.extent(static_cast<int>(last)) > 1) good = std::fputc('\n', to) != EOF;
  if (to == nullptr || std::fclose(to) != 0 || !good) {
    situ::throw_error(situ::errc::bad_file, fmt::format("dataset '{}' cannot be written to '{}': {}", dat->name, file,
                                                        situ::detail::write_failure(errno)));
  }
}
void ops_print_dat_to_txtfile_core(ops_dat dat, const char* file) { ops_print_dat_to_txtfile(dat, file); }

void ops_NaNcheck(ops_dat dat) {
  auto& i = *dat->block->instance;
  const auto& all = dat->core->inner;
  std::vector<char> values(static_cast<std::size_t>(all.points()) * static_cast<std::size_t>(dat->elem_size));
  i.fetch(dat, all, values.data());
  for (std::size_t n = 0; n * static_cast<std::size_t>(dat->type_size) < values.size(); ++n) {
    const char* const at = values.data() + n * static_cast<std::size_t>(dat->type_size);
    const bool found = dat->situ_type == "double"
                           ? std::isnan(*reinterpret_cast<const double*>(at))
                           : dat->situ_type == "float" && std::isnan(*reinterpret_cast<const float*>(at));
    if (!found) continue;
    std::fprintf(stderr, "Error: NaN in dataset %s, at element %zu\n", dat->name, n);
    std::exit(2);
  }
}
