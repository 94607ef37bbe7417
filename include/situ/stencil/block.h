// A block: an index space of D dimensions, which datasets and the ranges of loops belong to. A small value.
#pragma once

#include <situ/stencil/context.h>

#include <string>
#include <utility>

namespace situ::stencil {

template <int D>
class block {
 public:
  static constexpr int dims = D;
  block(context& owner, std::string name) : owner_{&owner}, index_{owner.add_block(std::move(name), D)} {}
  [[nodiscard]] context& owner() const noexcept { return *owner_; }
  [[nodiscard]] int index() const noexcept { return index_; }

 private:
  context* owner_;
  int index_;
};

}  // namespace situ::stencil
