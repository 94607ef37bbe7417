#include "stencil/region.h"

#include <optional>
#include <span>

namespace situ::stencil {
namespace {

// Returns the union of two boxes if it is a box: if they agree in all dimensions but one, and meet there.
std::optional<box> joined(const box& a, const box& b) {
  if (contains(a, b)) return a;
  if (contains(b, a)) return b;
  int differs = -1;
  for (int d = 0; d < max_dims; ++d) {
    if (a.low[d] == b.low[d] && a.high[d] == b.high[d]) continue;
    if (differs >= 0 || a.low[d] > b.high[d] || b.low[d] > a.high[d]) return std::nullopt;
    differs = d;
  }
  box r = a;
  r.low[differs] = std::min(a.low[differs], b.low[differs]);
  r.high[differs] = std::max(a.high[differs], b.high[differs]);
  return r;
}

// Calls f for each part of b outside all boxes until f returns false; that is then the result. The part outside the
// first box is cut into boxes again: for each dimension one below and one above, in turn.
template <class F>
bool for_each_gap(std::span<const box> boxes, box b, const F& f) {
  if (b.empty()) return true;
  while (!boxes.empty() && intersection(boxes.front(), b).empty()) boxes = boxes.subspan(1);
  if (boxes.empty()) return f(b);
  const box common = intersection(boxes.front(), b);
  const auto others = boxes.subspan(1);
  for (int d = 0; d < max_dims; ++d) {
    box below = b, above = b;
    below.high[d] = common.low[d];
    above.low[d] = common.high[d];
    if (!for_each_gap(others, below, f) || !for_each_gap(others, above, f)) return false;
    b.low[d] = common.low[d];
    b.high[d] = common.high[d];
  }
  return true;
}

}  // namespace

void region::add(box b) {
  if (b.empty()) return;
  for (std::size_t i = 0; i < boxes_.size();) {
    if (const auto both = joined(boxes_[i], b)) {
      b = *both;
      boxes_.erase(boxes_.begin() + static_cast<std::ptrdiff_t>(i));
      i = 0;  // it may meet more of them now
    } else {
      ++i;
    }
  }
  boxes_.push_back(b);
  if (boxes_.size() <= most_boxes) return;
  boxes_.erase(std::min_element(boxes_.begin(), boxes_.end(),
                                [](const box& x, const box& y) { return x.points() < y.points(); }));
}

bool region::covers(const box& b) const {
  return for_each_gap(boxes_, b, [](const box&) { return false; });
}

std::vector<box> region::gaps(const box& b) const {
  std::vector<box> all;
  for_each_gap(boxes_, b, [&](const box& gap) {
    all.push_back(gap);
    return true;
  });
  return all;
}

box region::longest_part(const box& b, int d) const {
  if (covers(b)) return b;
  std::vector<int> cuts{b.low[d], b.high[d]};
  for (const box& c : boxes_) {
    for (const int at : {c.low[d], c.high[d]})
      if (at > b.low[d] && at < b.high[d]) cuts.push_back(at);
  }
  std::sort(cuts.begin(), cuts.end());
  box best = b, now = b;
  best.high[d] = best.low[d];
  now.high[d] = now.low[d];
  for (std::size_t i = 1; i < cuts.size(); ++i) {  // between two cuts all indices are alike
    box step = b;
    step.low[d] = cuts[i - 1];
    step.high[d] = cuts[i];
    if (!covers(step)) {
      now.low[d] = now.high[d] = cuts[i];
      continue;
    }
    now.high[d] = cuts[i];
    if (now.extent(d) > best.extent(d)) best = now;
  }
  return best;
}

}  // namespace situ::stencil
