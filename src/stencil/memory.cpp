#include "stencil/memory.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace situ::stencil {
namespace {

constexpr std::size_t line_bytes = 64;
using situ::detail::page_bytes;

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

}  // namespace

// Lays out layers of whole pages, of as few steps of the outermost dimension as possible without much padding. Returns
// the bytes of one step.
static std::size_t lay_out_layers(dataset_core& data, std::size_t bytes) {
  if (data.dims == 1) {  // points are adjacent
    data.layer_points = static_cast<int>(page_bytes / std::gcd(page_bytes, bytes));
    return bytes;
  }
  // Some lines of room are added: otherwise the same point of all datasets could be in one set of the first-level
  // cache.
  const std::size_t grain = std::max(line_bytes, data.element_bytes);
  const std::size_t needed = bytes + std::min<std::size_t>(8 * line_bytes, bytes / 64) / grain * grain;
  std::size_t unit = page_bytes;
  while (unit > grain && round_up(needed, unit) - needed > needed / 32) unit /= 2;
  const std::size_t step = round_up(needed, unit);
  data.layer_points = static_cast<int>(page_bytes / unit);
  data.lead_bytes = static_cast<std::size_t>(data.index) * 5 % 64 * grain % (step - bytes + 1) / grain * grain;
  return step;
}

// Throws if the layout does not fit this dataset, or any dataset.
static void check(const dataset_core& data, const dataset_layout& layout) {
  const auto& inner = layout.inner;
  if (layout.components < 1)
    throw_error(errc::bad_argument, fmt::format("dataset '{}' has {} components", data.name, layout.components));
  if (inner.dims != 0 && inner.dims != data.dims) {
    throw_error(errc::bad_argument, fmt::format("dataset '{}' has {} dimensions, but its layout a box of {}", data.name,
                                                data.dims, inner.dims));
  }
  for (int d = 0; d < data.dims; ++d) {
    if (inner.extent(d) < 1) {
      throw_error(errc::bad_argument, fmt::format("dataset '{}' has no points in dimension {}: [{}, {})", data.name, d,
                                                  inner.low[d], inner.high[d]));
    }
    if (layout.below[d] < 0 || layout.above[d] < 0) {
      throw_error(errc::bad_argument, fmt::format("dataset '{}' has {} ghost points below and {} above in dimension {}",
                                                  data.name, layout.below[d], layout.above[d], d));
    }
  }
  for (int d = data.dims; d < max_dims; ++d) {
    if (inner.extent(d) != 1 || layout.below[d] != 0 || layout.above[d] != 0) {
      throw_error(errc::bad_argument,
                  fmt::format("dataset '{}' has {} dimensions, but its layout points in dimension {}", data.name,
                              data.dims, d));
    }
  }
}

namespace {

void set_boxes(dataset_core& data, const dataset_layout& layout) {
  data.inner = data.valid = layout.inner;
  data.inner.dims = data.valid.dims = data.dims;
  for (int d = 0; d < data.dims; ++d) {
    data.valid.low[d] -= layout.below[d];
    data.valid.high[d] += layout.above[d];
  }
  for (int d = data.dims; d < max_dims; ++d) {
    data.inner.low[d] = data.valid.low[d] = 0;
    data.inner.high[d] = data.valid.high[d] = 1;
  }
}

// Sets strides from the innermost dimension outwards. The order decides whether a point's components are stored
// together, within each step of the outermost dimension, or one whole component after another. Returns the number of
// elements of the dataset.
std::size_t set_strides(dataset_core& data, const dataset_layout& layout, bool file_layers) {
  const int last = data.dims - 1;
  const std::size_t element = data.element_bytes;
  const auto components = static_cast<std::size_t>(data.components);
  const bool at_a_point = layout.order == component_order::interleaved;
  const bool within_steps = !at_a_point && last > 0 && (layout.order == component_order::separate || file_layers);
  const bool pads_rows = last > 0 && layout.rows_apart && layout.memory == nullptr && line_bytes % element == 0;
  std::size_t step = at_a_point ? components : 1;  // in elements
  data.component_stride = 1;
  const auto put_components_here = [&] {
    data.component_stride = static_cast<std::ptrdiff_t>(step);
    step *= components;
  };
  for (int d = 0; d < data.dims; ++d) {
    if (d == last && within_steps) put_components_here();
    if (d == last && file_layers) step = lay_out_layers(data, step * element) / element;
    data.stride[d] = static_cast<std::ptrdiff_t>(step);
    step *= static_cast<std::size_t>(data.valid.extent(d));
    if (d == 0 && pads_rows) step = round_up(step * element, line_bytes) / element;
  }
  if (!at_a_point && !within_steps) put_components_here();
  for (int d = data.dims; d < max_dims; ++d) data.stride[d] = static_cast<std::ptrdiff_t>(step);
  return step;
}

}  // namespace

void lay_out(dataset_core& data, const dataset_layout& layout, bool file_layers) {
  check(data, layout);
  data.components = layout.components;
  set_boxes(data, layout);
  const std::size_t bytes = set_strides(data, layout, file_layers) * data.element_bytes;
  const auto steps_of_layer = static_cast<std::size_t>(data.layer_points);
  data.layer_bytes = static_cast<std::size_t>(data.stride[data.dims - 1]) * data.element_bytes * steps_of_layer;
  data.bytes = file_layers ? round_up(bytes, data.layer_bytes) : bytes;
}

}  // namespace situ::stencil
