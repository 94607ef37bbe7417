// A block: an index space of D dimensions, which datasets and the ranges of loops belong to. A small value
// that is valid as long as its context. cost: two words.
#pragma once

#include <situ/stencil/context.h>

#include <string>
#include <utility>

namespace situ::stencil {

// An index space of D dimensions, 1 to 5. It has no extents: those are the datasets'.
template <int D>
class block {
 public:
  static constexpr int dims = D;
  // Makes a block with a name for messages. Throws bad_argument if D is not 1 to 5.
  block(context& owner, std::string name) : owner_{&owner}, index_{owner.add_block(std::move(name), D)} {}
  // owner() returns the context that the block belongs to, index() its number there.
  [[nodiscard]] context& owner() const noexcept { return *owner_; }
  [[nodiscard]] int index() const noexcept { return index_; }

 private:
  context* owner_;
  int index_;
};

}  // namespace situ::stencil
