// A place: a memory partition and the workers beside it, named by its index in the job. A value type.
// cost: an integer's.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace situ {

// The name of a place: its index. Making one does not ask whether the job has it.
class place {
 public:
  constexpr place() noexcept = default;
  constexpr explicit place(std::uint32_t index) noexcept : index_{index} {}
  // From 0 to place_count() - 1.
  [[nodiscard]] constexpr std::uint32_t index() const noexcept { return index_; }
  friend constexpr auto operator<=>(place, place) noexcept = default;

 private:
  std::uint32_t index_ = 0;
};

}  // namespace situ

template <>
struct std::hash<situ::place> {
  std::size_t operator()(situ::place p) const noexcept { return std::hash<std::uint32_t>{}(p.index()); }
};
