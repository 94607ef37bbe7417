#include "task/watched_arrays.h"

#include <situ/task/detail/work_unit.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "runtime/process.h"
#include "task/staging.h"

namespace situ::detail {
namespace {

constinit std::array<std::atomic<const staging*>, 64> watched{};

void describe(const staging& array, std::uint64_t offset, bool is_write, fault_text& to) noexcept {
  const work_unit* const unit = checked_unit;
  if (unit == nullptr) {
    to << "a thread that runs no unit ";
  } else {
    to << "unit " << unit->number;
    if (unit->name != nullptr) to << " (" << unit->name << ")";
    to << " ";
  }
  to << (is_write ? "writes " : "reads ") << array.name() << "[" << offset / array.element_bytes() << "], ";
  if (unit == nullptr)
    to << "of a staged array: its read() and write() are for that";
  else
    to << "which it has not declared: add " << (is_write ? "writes() or updates" : "reads") << "() of it";
}

bool explain(std::uintptr_t address, bool is_write, fault_text& to) noexcept {
  for (const std::atomic<const staging*>& each : watched) {
    const staging* const array = each.load(std::memory_order_acquire);
    if (array == nullptr) continue;
    const std::uint64_t offset = address - reinterpret_cast<std::uintptr_t>(array->base());
    if (offset >= array->bytes()) continue;
    describe(*array, offset, is_write, to);
    return true;
  }
  return false;
}

}  // namespace

watched_array::watched_array(const staging& array) noexcept : at_{0} {
  install_fault_handlers();
  explain_fault.store(&explain);
  for (; at_ < watched.size(); ++at_) {
    const staging* none = nullptr;
    if (watched[at_].compare_exchange_strong(none, &array)) return;
  }
}

watched_array::~watched_array() {
  if (at_ < watched.size()) watched[at_].store(nullptr);
  remove_fault_handlers();
}

}  // namespace situ::detail
