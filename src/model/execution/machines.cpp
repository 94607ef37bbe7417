#include "model/execution/machines.h"

#include <fmt/format.h>

#include <stdexcept>

#include "model/execution/flat_machine.h"
#include "model/execution/parts_machine.h"
#include "model/execution/start.h"
#include "model/parts/named_machine.h"

namespace situ::model {

std::unique_ptr<memory_port> make_machine(const std::string& name, std::uint32_t memories,
                                          const std::vector<std::string>& settings,
                                          const std::optional<intent>& wanted) {
  if (is_flat(name)) {
    if (wanted)
      throw std::runtime_error{"flat machine: it has one memory, so no intent sorts them; leave out --intent"};
    return std::make_unique<flat_machine>(flat_shape_of(name, settings));
  }
  std::unique_ptr<memory_port> made =
      make_parts_machine(machine_spec_of(name, settings), memories, wanted, &end_out_of_memory);
  for (std::uint32_t core = 0; core < made->core_count(); ++core)
    if (made->tile_of(core) >= most_tiles)
      throw std::runtime_error{fmt::format("{}: programs run on machines of up to {} tiles", name, most_tiles)};
  return made;
}

}  // namespace situ::model
