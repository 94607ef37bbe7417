// A reduction over the points of loops: a sum, a minimum or a maximum of N values. The result is the same bit for bit
// whatever the executor, the threads and the tiles. Loops that use the same reduction between two results accumulate
// into one value.
#pragma once

#include <situ/stencil/context.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace situ::stencil {

template <class T, int N = 1>
class reduction {
 public:
  explicit reduction(context& owner, std::string name) : core_{owner.add_reduction(std::move(name), sizeof(T), N)} {}
  [[nodiscard]] reduction_core* core() const noexcept { return core_; }
  // Executes what is queued; the next loop starts anew. Without a loop since the last call, T{}.
  [[nodiscard]] auto value() const {
    core_->owner->execute();
    std::array<T, N> all{};
    if (!core_->is_fresh) std::copy_n(reinterpret_cast<const T*>(core_->value.data()), N, all.begin());
    core_->is_fresh = true;
    if constexpr (N == 1) {
      return all[0];
    } else {
      return all;
    }
  }

 private:
  reduction_core* core_;
};

}  // namespace situ::stencil
