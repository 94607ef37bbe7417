// The smallest machine that can run programs: equal cores, each with a direct-mapped cache over one memory without
// contention. Tests of the executor use it, since its times can be computed by hand; parts_machine.h makes machines
// from specifications.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/execution/memory_port.h"
#include "model/parts/named_machine.h"

namespace situ::model {

class flat_machine final : public memory_port {
 public:
  explicit flat_machine(const flat_shape& shape = {});

  [[nodiscard]] std::string_view name() const override { return "flat"; }
  [[nodiscard]] std::uint32_t core_count() const override { return shape_.tiles * shape_.cores_a_tile; }
  [[nodiscard]] std::uint32_t tile_of(std::uint32_t core) const override { return core / shape_.cores_a_tile; }
  [[nodiscard]] time_ps period_ps(std::uint32_t) const override { return shape_.period_ps; }
  [[nodiscard]] const machine::instruction_cycles& cycles(std::uint32_t) const override { return shape_.cycles; }
  [[nodiscard]] front_cache front(std::uint32_t core) const override {
    return {.entries = entries_.data() + std::size_t{core} * shape_.sets,
            .sets = shape_.sets,
            .line_bytes = shape_.line_bytes,
            .hit_ps = shape_.hit_ps};
  }
  [[nodiscard]] bool first_cache_holds(std::uint32_t core, std::uintptr_t address) const override {
    const std::uintptr_t line = address / shape_.line_bytes;
    return entries_[std::size_t{core} * shape_.sets + line % shape_.sets] >> 2 == line;
  }
  time_ps access(std::uint32_t core, std::uintptr_t address, std::uint32_t bytes, access_kind kind,
                 time_ps now) override;
  // The machine's memory is coherent, and a message takes two accesses.
  time_ps write_back(std::uint32_t, std::uintptr_t, std::uintptr_t, time_ps now) override { return now; }
  time_ps invalidate(std::uint32_t, std::uintptr_t, std::uintptr_t, time_ps now) override { return now; }
  time_ps flush(std::uint32_t, std::uintptr_t, std::uintptr_t, time_ps now) override { return now; }
  time_ps send(std::uint32_t, std::uint32_t, std::uint32_t, time_ps now) override { return now + 2 * shape_.miss_ps; }
  time_ps dma(std::uint32_t, std::uintptr_t, std::uintptr_t, std::size_t bytes, time_ps now) override {
    return now + (bytes / shape_.line_bytes + 1) * shape_.miss_ps;
  }
  void map_slice(std::uint32_t, std::uint32_t, std::uintptr_t, std::uintptr_t, std::uintptr_t) override {}
  bool check_coherence(std::function<void(const coherence_report&)>) override { return false; }
  void see(std::uint32_t, std::uintptr_t, std::uint32_t, access_kind, std::uintptr_t) override {}
  void see_memory(std::uintptr_t, std::size_t, bool) override {}
  void add_front_hits(std::uint32_t, std::uint64_t, std::uint64_t) override {}
  [[nodiscard]] std::vector<part_counters> counters() const override;
  [[nodiscard]] std::uint64_t state_hash() const override;
  void save_state(state_words& to) const override { to.insert(to.end(), entries_.begin(), entries_.end()); }
  void load_state(state_reader& from) override { std::ranges::copy(from.next(entries_.size()), entries_.begin()); }

 private:
  flat_shape shape_;
  std::vector<std::uint64_t> entries_;  // [core][set]
  std::uint64_t misses_ = 0;
  std::uint64_t atomics_ = 0;
};

}  // namespace situ::model
