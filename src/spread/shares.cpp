#include <situ/base/error.h>
#include <situ/spread/shares.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace situ {

shares::shares(std::uint32_t places, std::span<const double> weights) : first_(weights.size() + 1) {
  double sum = 0;
  for (const double weight : weights) {
    if (!(weight >= 0) || !std::isfinite(weight))
      throw error{errc::bad_argument, fmt::format("a weight of {}: weights are finite numbers, 0 or more", weight)};
    sum += weight;
  }
  if (!(sum > 0)) throw error{errc::bad_argument, "shares need a member with a weight above 0"};

  std::vector<std::uint32_t> counts(weights.size());
  std::vector<double> remainders(weights.size());
  std::uint32_t dealt = 0;
  for (std::size_t m = 0; m < weights.size(); ++m) {
    const double exact = std::min(static_cast<double>(places), places * (weights[m] / sum));
    counts[m] = static_cast<std::uint32_t>(exact);
    remainders[m] = exact - counts[m];
    dealt += counts[m];
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (std::size_t i = 0; dealt < places; i = (i + 1) % order.size()) {
    if (weights[order[i]] == 0) continue;
    ++counts[order[i]];
    ++dealt;
  }
  std::partial_sum(counts.begin(), counts.end(), first_.begin() + 1);
}

std::uint32_t shares::member_of(std::uint32_t place) const noexcept {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(first_, place) - first_.begin() - 1);
}

}  // namespace situ
