// The untyped core of a dataset: values at each point of a box, with a margin of ghost points around it. Executors and
// the analysis use this; the typed handle for programs is in dataset.h.
//
// Element (c; x, y, z, ...) lies at origin + c * component_stride + x * stride[0] + y * stride[1] + ..., counted in
// elements. The origin is the address that coordinates 0 would have; it may lie outside the memory. An executor that
// keeps only a window of the data in memory moves the origin while it runs, so kernels read it again for each part of a
// loop.
#pragma once

#include <situ/stencil/box.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace situ::stencil {

class context;

enum class access_mode : std::uint8_t { read, write, read_write, increment };

[[nodiscard]] constexpr bool reads(access_mode a) noexcept { return a != access_mode::write; }
[[nodiscard]] constexpr bool writes(access_mode a) noexcept { return a != access_mode::read; }
[[nodiscard]] std::string_view name(access_mode a) noexcept;

// The layout of the components: each component a field of its own, or side by side at each point (as in an array of C
// structs). Only separate components vectorize without shuffling, so they are the default. Within each step of the
// outermost dimension they are stored one after the other, so that a step is contiguous; planar components are whole
// fields one after the other, as a program's own array may be. In a store, planar components are laid out as separate
// ones.
enum class component_order : std::uint8_t { separate, interleaved, planar };

struct dataset_core {
  std::string name;
  std::string type_name;
  context* owner = nullptr;
  int index = 0;  // number in its context
  int block = 0;
  int dims = 1;
  int components = 1;
  std::size_t element_bytes = 0;                  // of one component
  box inner;                                      // without ghost points
  box valid;                                      // with ghost points
  std::array<std::ptrdiff_t, max_dims> stride{};  // in elements
  std::ptrdiff_t component_stride = 0;            // in elements
  std::byte* origin = nullptr;
  std::byte* memory = nullptr;  // address of the lowest valid element; null if the data is in a store
  std::size_t bytes = 0;        // of the whole
  // of one step in the outermost dimension; in a store, of a layer: several steps that make whole pages
  std::size_t layer_bytes = 0;
  int layer_points = 1;        // steps in a layer
  std::size_t lead_bytes = 0;  // in a store: bytes before the first element of a layer
  bool in_file = false;  // in a backing store: origin is set while a chain or a fetch runs, and points to a window
  bool is_cyclic_temporary = false;  // no value is carried from one chain to the next (context::begin_cyclic)
  bool is_foreign = false;           // the memory belongs to the program

  [[nodiscard]] std::ptrdiff_t offset(const coordinates& at) const noexcept {
    std::ptrdiff_t n = 0;
    for (int d = 0; d < max_dims; ++d) n += at[d] * stride[d];
    return n;
  }
};

}  // namespace situ::stencil
