// The objects of figure 8's four families of graphs.
#pragma once

#include <situ/graph/containers.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace situ::studies::nemesys {

template <std::size_t Words>
struct payload {
  std::array<std::uint32_t, Words> words{};
};
struct element {
  element* next = nullptr;
  element* previous = nullptr;
  std::uint32_t value = 0;
};
struct array_holder {
  situ::array<std::uint32_t> words;
};
struct objects_holder {
  situ::array<payload<1>*> objects;
};

}  // namespace situ::studies::nemesys
