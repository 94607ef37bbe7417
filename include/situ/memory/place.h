// A place: a memory partition and the workers attached to it, named by its index in the job. A value type.
// cost: an integer's.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace situ {

// The name of a place: its index. The constructor does not check that the job has such a place.
class place {
 public:
  constexpr place() noexcept = default;
  constexpr explicit place(std::uint32_t index) noexcept : index_{index} {}
  // Returns the index, from 0 to place_count() - 1.
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
