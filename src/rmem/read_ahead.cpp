#include "rmem/read_ahead.h"

#include <algorithm>

namespace situ::rmem::detail {
namespace {

constexpr std::uint32_t first_window = 4;

}  // namespace

// Returns the distance of more than half of the last faults: of the last 4, or 8, up to 32, the shortest history with
// such a distance (Leap: Al Maruf and Chowdhury, ATC 2020); 0: there is none. Uses Boyer and Moore's vote, and a count.
std::int64_t read_ahead::majority() const noexcept {
  for (std::uint32_t length = 4; length <= kept && length < faults_; length *= 2) {
    const auto at = [&](std::uint32_t i) { return distances_[(faults_ - 1 - i) % kept]; };
    std::int64_t candidate = 0;
    std::uint32_t votes = 0;
    for (std::uint32_t i = 0; i < length; ++i) {
      if (votes == 0) candidate = at(i);
      votes += at(i) == candidate ? 1U : ~0U;
    }
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < length; ++i) count += at(i) == candidate;
    if (2 * count > length) return candidate;
  }
  return 0;
}

bool read_ahead::was_touched(std::int64_t page) const noexcept {
  return std::find(pages_.begin(), pages_.begin() + std::min(faults_, kept), page) !=
         pages_.begin() + std::min(faults_, kept);
}

page_run read_ahead::begin_stream(std::int64_t first, std::int64_t distance, std::uint32_t window) noexcept {
  window = std::min(window, most_);
  stream& oldest =
      *std::min_element(streams_.begin(), streams_.end(), [](auto& a, auto& b) { return a.used < b.used; });
  oldest = {first, first + distance * window, distance, window, ++turns_};
  return {first, distance, window};
}

page_run read_ahead::go_on(stream& with, std::int64_t first) noexcept {
  with.window = std::min(2 * with.window, most_);
  with.begin = first;
  with.end = first + with.distance * with.window;
  with.used = ++turns_;
  return {first, with.distance, with.window};
}

page_run read_ahead::after(std::uint64_t page, bool is_mark) noexcept {
  const auto here = static_cast<std::int64_t>(page);
  for (stream& each : streams_) {
    if (each.distance == 0) continue;
    const std::int64_t steps = (here - each.begin) / each.distance;
    const bool is_on_it = each.begin + steps * each.distance == here;
    // The mark of its last run; or the page behind that run, if the program was faster.
    if (is_mark && is_on_it && steps >= 0 && steps < each.window) return go_on(each, each.end);
    if (!is_mark && here == each.end) return go_on(each, here + each.distance);
  }
  if (is_mark) return {};  // the mark of a run whose stream others have replaced
  const std::int64_t distance = faults_ > 0 ? here - pages_[(faults_ - 1) % kept] : 0;
  const bool is_third = faults_ >= 2 && distance == distances_[(faults_ - 1) % kept];
  const std::int64_t along = how_ == prefetch::majority ? majority() : 0;
  const bool follows = along != 0 && was_touched(here - along);
  pages_[faults_ % kept] = here;
  distances_[faults_++ % kept] = distance;
  switch (how_) {
    case prefetch::none: return {};
    case prefetch::next: return begin_stream(here + 1, 1, most_);
    case prefetch::stride: return is_third ? begin_stream(here + distance, distance, first_window) : page_run{};
    case prefetch::majority: break;
  }
  if (follows) return begin_stream(here + along, along, first_window);
  return distance == 1 ? begin_stream(here + 1, 1, first_window) : page_run{};
}

}  // namespace situ::rmem::detail
