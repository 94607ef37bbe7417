// A reduction over the points of loops: a sum, a minimum or a maximum of N values. The result is the same bit for bit
// for every executor, number of threads and tile size. Loops that use the same reduction between two results accumulate
// into one value. cost: while a loop runs, eight accumulators of N values for each line of its points.
#pragma once

#include <situ/stencil/context.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace situ::stencil {

// A handle on N values that loops reduce into; the context owns them.
template <class T, int N = 1>
class reduction {
 public:
  // The name is for messages.
  explicit reduction(context& owner, std::string name) : core_{owner.add_reduction(std::move(name), sizeof(T), N)} {}
  // Returns the untyped core's reduction, for context.
  [[nodiscard]] reduction_core* core() const noexcept { return core_; }
  // Returns the value, or an array of N values. Executes the queue, and throws its exceptions; the next loop starts
  // anew. If no loop used the reduction since the last call, returns T{}.
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
