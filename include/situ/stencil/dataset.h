// A dataset: values of type T at the points of a block, with ghost points around them. A small value that is valid as
// long as its context. detail/dataset_core.h is the untyped part that executors use. cost: a pointer; fetch and store
// execute the queue, then copy.
#pragma once

#include <situ/stencil/block.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace situ::stencil {

// A handle on values of a trivially copyable type at the points of a block of D dimensions. Copies refer to the same
// values, which the context owns.
template <class T, int D>
class dataset {
  static_assert(std::is_trivially_copyable_v<T>,
                "datasets are copied between memories and files: T must be trivially copyable");

 public:
  using value_type = T;  // type of one component
  static constexpr int dims = D;

  // Makes a dataset with the given layout; the name is for messages and files. Errors: those of options::store;
  // bad_argument if the layout is invalid. A template, so that {nx, ny} can only mean extents.
  template <std::same_as<dataset_layout> Layout>
  dataset(const block<D>& on, std::string name, const Layout& layout)
      : core_{on.owner().add_dataset(on.index(), std::move(name), D, layout, sizeof(T), typeid(T).name())} {}
  // Makes a dataset of the points [0, extents[d]) in each dimension d, with the same number of ghost points on all
  // sides.
  dataset(const block<D>& on, std::string name, const std::array<int, D>& extents, int ghosts = 0, int components = 1)
      : dataset{on, std::move(name), make_layout(extents, ghosts, components)} {}
  // As above, for {nx, ny}: the number of extents is checked, while an array would be filled up with zeros.
  template <int N>
  dataset(const block<D>& on, std::string name, const int (&extents)[N], int ghosts = 0, int components = 1)
      : dataset{on, std::move(name), std::to_array(extents), ghosts, components} {
    static_assert(N == D, "the dataset has other dimensions than its block; it takes one extent for each dimension");
  }

  // Returns the untyped core's dataset, for context.
  [[nodiscard]] dataset_core* core() const noexcept { return core_; }
  // inner() returns the points without the ghost points, valid() with them.
  [[nodiscard]] const box& inner() const noexcept { return core_->inner; }
  [[nodiscard]] const box& valid() const noexcept { return core_->valid; }

  // Returns the values of all inner points, or of the points of a box: dimension 0 fastest, components slowest. Throws
  // the exceptions of the chain.
  [[nodiscard]] std::vector<T> fetch() const { return fetch(core_->inner); }
  template <std::derived_from<box> Range = box>
  [[nodiscard]] std::vector<T> fetch(const Range& what) const {
    require_dims<D, Range>();
    std::vector<T> to(static_cast<std::size_t>(what.points()) * static_cast<std::size_t>(core_->components));
    core_->owner->fetch(*core_, what, component_order::separate, to.data());
    return to;
  }
  // Sets the values of the points of a box, in the order of fetch(). Throws bad_argument unless there are as many
  // values as points times components.
  template <std::derived_from<box> Range = box>
  void store(const Range& what, std::span<const T> from) const {
    require_dims<D, Range>();
    core_->owner->check_count(*core_, what, from.size());
    core_->owner->store(*core_, what, component_order::separate, from.data());
  }

 private:
  static dataset_layout make_layout(const std::array<int, D>& extents, int ghosts, int components) {
    dataset_layout l;
    for (int d = 0; d < D; ++d) {
      l.inner.high[d] = extents[d];
      l.below[d] = l.above[d] = ghosts;
    }
    l.components = components;
    return l;
  }
  dataset_core* core_;
};

}  // namespace situ::stencil
