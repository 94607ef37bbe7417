#include <situ/pim/memory.h>

#include <situ/machine/processor_set.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "pim/device.h"
#include "pim/execute.h"

namespace situ::pim {

struct memory::state {
  std::vector<std::unique_ptr<detail::device>> devices;
  executor runs;
  memory_cost cost;

  explicit state(const memory_options& how) : runs{threads_of(how)} {}
  static unsigned threads_of(const memory_options& how) {
    if (how.threads != 0) return how.threads;
    return std::max(1U, static_cast<unsigned>(machine::processor_set::of_this_thread().size()));
  }
};

memory::memory(std::string name, const machine::pim_figures& figures, const memory_kind& cells, memory_options how)
    : state_{std::make_unique<state>(how)} {
  state_->devices.push_back(std::make_unique<detail::device>(std::move(name), figures, cells, 0));
}
memory::~memory() = default;

std::size_t memory::devices() const noexcept { return state_->devices.size(); }
const machine::pim_figures& memory::figures(std::size_t device) const noexcept {
  return state_->devices[device]->figures;
}
bmem& memory::room(std::size_t device) noexcept { return state_->devices[device]->room; }
detail::device& memory::device_at(std::size_t device) noexcept { return *state_->devices[device]; }
const memory_cost& memory::cost() const noexcept { return state_->cost; }
void memory::reset_cost() noexcept { state_->cost = {}; }

executor& memory_access::executor_of(memory& which) noexcept { return which.state_->runs; }
memory_cost& memory_access::cost_of(memory& which) noexcept { return which.state_->cost; }

void memory_access::count_transfer(memory& which, const detail::device& with, std::uint64_t bytes,
                                   bool is_transposed) noexcept {
  memory_cost& cost = which.state_->cost;
  cost.host_bytes += bytes;
  if (is_transposed) cost.transposed_bytes += bytes;
  if (with.bus_bytes_per_second > 0)
    cost.host_ns += static_cast<double>(bytes) * 1e9 / static_cast<double>(with.bus_bytes_per_second);
}

}  // namespace situ::pim
