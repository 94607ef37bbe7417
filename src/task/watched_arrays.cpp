#include "task/watched_arrays.h"

#include <situ/task/detail/work_unit.h>

#include <array>
#include <atomic>
#include <string_view>

#include "runtime/process.h"

namespace situ::detail {
namespace {

constexpr std::size_t longest_unit_name = 60;  // in a message, which has room for 600 characters

constinit std::array<std::atomic<const faulting_array*>, 256> arrays{};

bool explain(std::uintptr_t address, bool is_write, fault_text& to) noexcept {
  for (const std::atomic<const faulting_array*>& each : arrays)
    if (const faulting_array* const array = each.load(std::memory_order_acquire);
        array != nullptr && array->explain(address, is_write, to))
      return true;
  return false;
}

}  // namespace

fault_entry::fault_entry(const faulting_array& array) noexcept : at_{0} {
  install_fault_handlers();
  explain_fault.store(&explain);
  for (; at_ < arrays.size(); ++at_) {
    const faulting_array* none = nullptr;
    if (arrays[at_].compare_exchange_strong(none, &array)) return;
  }
}

fault_entry::~fault_entry() {
  if (is_explained()) arrays[at_].store(nullptr);
  remove_fault_handlers();
}

bool fault_entry::is_explained() const noexcept { return at_ < arrays.size(); }

void write_unit(const work_unit& unit, fault_text& to) noexcept {
  to << "unit " << unit.number;
  if (unit.name != nullptr) to << " (" << std::string_view{unit.name}.substr(0, longest_unit_name) << ")";
}

void write_remedy(bool is_write, fault_text& to) noexcept {
  to << "add " << (is_write ? "writes() or updates" : "reads") << "() of it";
}

}  // namespace situ::detail
