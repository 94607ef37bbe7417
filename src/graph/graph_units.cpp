#include "graph/graph_units.h"

#include <situ/base/detail/coherence.h>

#include <cstring>
#include <utility>

namespace situ::detail {
namespace {

using plans = std::array<graph_plan, offload_slots>;

class software_measurer final : public graph_measurer {
 public:
  explicit software_measurer(std::shared_ptr<plans> kept) noexcept : plans_{std::move(kept)} {}

  measured_graph measure(std::size_t slot, std::span<const graph_root> roots, copy_map map) override {
    graph_plan& plan = (*plans_)[slot];
    plan.discover(roots.data(), roots.size(), map, source_check::handed_over);
    measured_graph found{.copy_bytes = plan.copy_bytes(),
                         .objects = plan.size().objects,
                         .finalizer_words = plan.finalizer_words(),
                         .alignment = plan.alignment_bytes(),
                         .has_values = plan.has_values()};
    for (std::size_t r = 0; r < roots.size(); ++r) found.roots[r] = plan.root(r);
    return found;
  }
  void forget(std::size_t slot) noexcept override { (*plans_)[slot].clear(); }

 private:
  std::shared_ptr<plans> plans_;
};

class software_copier final : public graph_copier {
 public:
  software_copier(std::shared_ptr<plans> kept, bool staged) noexcept : plans_{std::move(kept)}, staged_{staged} {}

  // NEMESYS, section 4.2: between memories, the copy is made next to the originals.
  void copy(std::size_t slot, std::span<const graph_root>, const measured_graph& measured,
            const copy_destination& to) override {
    const graph_plan& plan = (*plans_)[slot];
    const auto base = reinterpret_cast<std::uintptr_t>(to.bytes);
    // Lines that the receiver has written are also written here: the head shares one with the first object, the end of
    // the list of finalizers with its words.
    invalidate(to.bytes, sizeof(arena));
    if (to.finalizers != nullptr) invalidate(to.finalizers, (measured.finalizer_words + 1) * sizeof(std::uint64_t));
    if (staged_) {
      const auto buffer = std::make_unique_for_overwrite<std::byte[]>(measured.copy_bytes);
      plan.write(buffer.get(), base, to.finalizers);
      std::memcpy(to.bytes + sizeof(arena), buffer.get() + sizeof(arena), measured.copy_bytes - sizeof(arena));
    } else {
      plan.write(to.bytes, base, to.finalizers);
    }
    write_back(to.bytes, measured.copy_bytes);
    if (to.finalizers != nullptr) write_back(to.finalizers, measured.finalizer_words * sizeof(std::uint64_t));
  }

 private:
  std::shared_ptr<plans> plans_;
  bool staged_;
};

constinit graph_units_of_machine in_use;

}  // namespace

graph_units make_software_units(bool staged) {
  const auto kept = std::make_shared<plans>();
  return {std::make_unique<software_measurer>(kept), std::make_unique<software_copier>(kept, staged)};
}

void set_graph_units(const graph_units_of_machine& units) noexcept { in_use = units; }
const graph_units_of_machine& graph_units_in_use() noexcept { return in_use; }
graph_units make_graph_units(bool staged) {
  return in_use.make != nullptr ? in_use.make(staged) : make_software_units(staged);
}

}  // namespace situ::detail
