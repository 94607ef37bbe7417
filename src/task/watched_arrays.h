// Arrays of checked graphs: an access that no unit under way has declared causes a fault, and the message for it names
// unit, array and element. This file finds the array of a faulting address; the arrays write the message (page_watch.h,
// staging.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fault_text.h"

namespace situ::detail {

struct work_unit;

// An array of which some pages have no access rights at times.
class faulting_array {
 public:
  // Returns whether the access is one that this array forbids, and writes the message. Called in a signal handler.
  [[nodiscard]] virtual bool explain(std::uintptr_t address, bool is_write, fault_text& to) const noexcept = 0;

 protected:
  faulting_array() = default;
  ~faulting_array() = default;
};

// While it lives, faults within the array are explained. At most 256 arrays have one at a time. Thread-safe.
class fault_entry {
 public:
  explicit fault_entry(const faulting_array& array) noexcept;
  ~fault_entry();
  fault_entry(const fault_entry&) = delete;
  fault_entry& operator=(const fault_entry&) = delete;

  // Returns false if 256 arrays have one already: faults in this array end the program without a message.
  [[nodiscard]] bool is_explained() const noexcept;

 private:
  std::size_t at_;
};

// Writes "unit 7 (smooth)".
void write_unit(const work_unit& unit, fault_text& to) noexcept;
// Writes the remedy: which declaration allows the access.
void write_remedy(bool is_write, fault_text& to) noexcept;

}  // namespace situ::detail
