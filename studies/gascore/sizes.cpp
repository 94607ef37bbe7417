// Tables 1 to 3: sizes and clock rates of the paper's hardware.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "gascore/parts.h"

namespace situ::studies::gascore {
namespace {

struct published_size {
  std::string_view table, what, resource, used, percent;
};
constexpr std::array published_sizes{published_size{"1", "GAScore", "registers", "760", "0.78"},
                                     published_size{"1", "GAScore", "LUTs", "1336", "1.37"},
                                     published_size{"1", "GAScore", "BRAMs (BRAM18s)", "2", "0.47"},
                                     published_size{"1", "GAScore", "MHz, projected by synthesis", "142.6", ""},
                                     published_size{"2", "PAMS", "registers", "943", "0.97"},
                                     published_size{"2", "PAMS", "LUTs", "1035", "1.06"},
                                     published_size{"2", "PAMS", "BRAM18s", "1", "0.24"},
                                     published_size{"2", "PAMS", "MHz, projected by synthesis", "136.2", ""},
                                     published_size{"3", "one FPGA", "registers", "11160", "11"},
                                     published_size{"3", "one FPGA", "LUTs", "18651", "19"},
                                     published_size{"3", "one FPGA", "slices", "8058", "33"},
                                     published_size{"3", "one FPGA", "BRAMs (BRAM36s)", "98", "46"},
                                     published_size{"3", "one FPGA", "MHz, run at", "100, and up to 138", ""}};

}  // namespace

study_part sizes(const study_context& context) {
  study_part part{.name = "sizes", .title = "Tables 1 to 3: the paper's sizes on an XC5VLX155T-1"};
  context.tell("sizes");
  grid table{"", {"table", "what", "resource", "paper", "% of the chip"}, {}};
  for (const published_size& each : published_sizes)
    table.lines.push_back({std::string{each.table}, std::string{each.what}, std::string{each.resource},
                           std::string{each.used}, std::string{each.percent}});
  part.grids.push_back(std::move(table));
  part.notes = {
      "Table 1 counts BRAM18s under the name BRAMs (2 are 0.47 % of 424), table 3 BRAM36s (98 are 46 % of 212). The "
      "whole "
      "system runs at up to 138 MHz, more than the 136.2 MHz that synthesis projects for PAMS alone."};
  part.notes.push_back("Ours: RTL is in hw, and `make synthesis` prints its sizes; docs/studies/gascore.md has them.");
  return part;
}

}  // namespace situ::studies::gascore
