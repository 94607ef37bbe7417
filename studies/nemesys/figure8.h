// Figure 8 of NEMESYS: how long the graph-copy unit takes for four families of graphs, bare metal on the memory tile,
// without network and caches (section 5.3).
//
// The total is the unit's time and a constant of the operating system. The graphs are Situ's own, in one buffer, so
// that each run hashes the same addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/graph_units/copy_maps.h"
#include "model/graph_units/ports.h"
#include "nemesys/figure8_software.h"
#include "support/study.h"

namespace situ::studies::nemesys {

class figure8 {
 public:
  // The unit's memory at time 0, one for each copy.
  using memory_maker = std::function<std::shared_ptr<model::unit_memory_port>()>;

  // make_memory: the unit's memory if it is not a direct_memory, as in the paper.
  explicit figure8(const study_context& context, memory_maker make_memory = {});
  ~figure8();
  figure8(const figure8&) = delete;
  figure8& operator=(const figure8&) = delete;

  [[nodiscard]] study_part run();

  // The unit's time in microseconds for one graph. `pointer_bytes` is 4, as in the paper, or 8, as here.
  [[nodiscard]] double single_object(std::uint64_t words, std::uint64_t pointer_bytes = 4);  // 1 to 64, or 2^k to 4096
  [[nodiscard]] double primitive_array(std::uint64_t words, std::uint64_t pointer_bytes = 4);
  // Hashing: the median over `matrices` of the H3 family.
  [[nodiscard]] double linked_list(std::uint64_t elements, model::map_kind map, std::uint64_t pointer_bytes = 4);
  [[nodiscard]] double object_array(std::uint64_t elements, model::map_kind map, std::uint64_t pointer_bytes = 4);
  static constexpr std::uint64_t matrices = 9;

 private:
  struct memory;
  using measured = std::vector<std::pair<double, double>>;
  [[nodiscard]] measured sweep(std::string_view what, std::uint64_t most,
                               const std::function<double(std::uint64_t)>& time_of) const;
  void add_single_object(study_part& part);
  void add_primitive_array(study_part& part);
  void add_linked_list(study_part& part);
  void add_object_array(study_part& part);

  const study_context& context_;
  std::unique_ptr<memory> memory_;
  software_copies software_;
};

}  // namespace situ::studies::nemesys
