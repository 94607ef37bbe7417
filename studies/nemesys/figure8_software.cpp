#include "nemesys/figure8_software.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <sstream>

#include "os/find_program.h"
#include "os/output_file.h"
#include "support/child_program.h"
#include "support/machine_files.h"

namespace situ::studies::nemesys {

software_copies read_software_copies(const std::string& printed) {
  software_copies made;
  std::istringstream lines{printed};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    char family = 0;
    double size = 0, microseconds = 0;
    if (!(words >> family >> size >> microseconds) || family < 'a' || family > 'd')
      throw_error(errc::bad_file, fmt::format("nemesys_software_copies printed \"{}\"", line));
    made.lines[family].emplace_back(size, microseconds);
  }
  return made;
}

software_copies run_software_copies(const study_context& context) {
  constexpr const char* name = "nemesys_software_copies_modelled";
  if (const std::string missing = missing_programs({"situ", "situ-model", name}); !missing.empty())
    return {.lines = {}, .missing = "the software lines: " + missing};
  const std::string situ = os::find_own_program("situ"), program = os::find_own_program(name);
  context.tell("figure 8: copies by software");
  const study_folder folder;
  const std::string machine = folder.file("machine.toml");
  situ::detail::write_file(machine, nemesys_4x4_toml());
  const program_result result = run_program({situ, "model", "run", "--machine", machine, "--quiet", program, "4096",
                                             context.is_quick ? "4096" : "262144", context.is_quick ? "1024" : "8192"},
                                            context.is_stopped);
  if (result.was_stopped) return {.lines = {}, .missing = "the software lines: stopped"};
  if (result.exit_code != 0)
    return {.lines = {},
            .missing = fmt::format("the software lines: nemesys_software_copies ended with {}: {}", result.exit_code,
                                   result.errors)};
  return read_software_copies(result.output);
}

}  // namespace situ::studies::nemesys
