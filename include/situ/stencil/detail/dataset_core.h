// A dataset: values at each point of a box, with a margin of ghost points around it. This header holds what executors
// and the analysis know of one, whatever its type; the typed handle that programs use is in dataset.h.
//
// Element (c; x, y, z, ...) lies at origin + c * component_stride + x * stride[0] + y * stride[1] + ..., counted in
// elements. The origin is the address that coordinates 0 would have; it may lie outside the memory. An executor that
// keeps only a window of the data in memory moves the origin while it runs, so kernels read it anew for each part of a
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

// How components of one point lie: each component a field of its own, or side by side at each point (what C structs
// do). Only the former vectorizes without shuffling, so it is the default. A dataset's separate components lie apart
// within each step of the outermost dimension, so that a step is contiguous; planar ones are whole fields one after the
// other, as a program's own array may be. In a store a planar dataset lies as a separate one.
enum class component_order : std::uint8_t { separate, interleaved, planar };

struct dataset_core {
  std::string name;
  std::string type_name;
  context* owner = nullptr;
  int index = 0;  // in its context
  int block = 0;
  int dims = 1;
  int components = 1;
  std::size_t element_bytes = 0;                  // of one component
  box inner;                                      // without ghost points
  box valid;                                      // with ghost points
  std::array<std::ptrdiff_t, max_dims> stride{};  // in elements
  std::ptrdiff_t component_stride = 0;            // in elements
  std::byte* origin = nullptr;
  std::byte* memory = nullptr;  // where the lowest valid element lies; null if the data is in a store
  std::size_t bytes = 0;        // of the whole
  // of one step in the outermost dimension; in a store, of a layer: some steps that make whole pages
  std::size_t layer_bytes = 0;
  int layer_points = 1;        // how many
  std::size_t lead_bytes = 0;  // in a store: before the first element of a layer
  bool in_file = false;  // in a backing store: origin is set while a chain or a fetch runs, and points to a window
  bool is_cyclic_temporary = false;  // carries nothing from one chain to the next (context::begin_cyclic)
  bool is_foreign = false;           // the memory belongs to the program

  [[nodiscard]] std::ptrdiff_t offset(const coordinates& at) const noexcept {
    std::ptrdiff_t n = 0;
    for (int d = 0; d < max_dims; ++d) n += at[d] * stride[d];
    return n;
  }
};

}  // namespace situ::stencil
