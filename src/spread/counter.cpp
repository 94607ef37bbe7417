#include <situ/spread/counter.h>

#include <situ/base/error_code.h>
#include <situ/fabric/atomic.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/collective.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace situ {
namespace {

constexpr std::int64_t numbers_of_a_block = 64;  // times n, if there is no end
constexpr std::uint64_t most_numbers = std::numeric_limits<std::int64_t>::max();

}  // namespace

counter::counter(const counter_options& options, const team& members)
    : counter{true, members.member(0), options, members} {}
counter::counter(place at, const counter_options& options, const team& members)
    : counter{false, at, options, members} {}

counter::counter(bool is_spread, place at, const counter_options& options, const team& members)
    : end_of_all_{members}, is_spread_{is_spread}, at_{at}, end_{options.end} {
  detail::check_member(members, at);
  own_ = allocate<line>(2);
  own_.local()[0].value = 0;
  own_.local()[1].value = options.first;
  lines_ = all_gather(own_, members);
  common_ = ptr<std::int64_t>{&lines_[*members.index_of(at)].local()[1].value};
}

counter::~counter() {
  if (end_of_all_.come()) deallocate(own_);
}

// Only this place's thread writes the word; others read it.
void counter::add_here(std::int64_t n) {
  const std::atomic_ref<std::int64_t> word{own_.local()->value};
  word.store(word.load(std::memory_order_relaxed) + n, std::memory_order_release);
}

void counter::add(std::int64_t n) {
  if (is_spread_) return add_here(n);
  detail::check_not_ended(at_.index());
  atomic_fetch_add(common_, n);
}

std::int64_t counter::read() const {
  if (!is_spread_) {
    detail::check_not_ended(at_.index());
    return atomic_load(common_);
  }
  detail::check_not_ended(end_of_all_.members());
  std::int64_t sum = atomic_load(common_);
  for (const ptr<line> each : lines_) sum += atomic_load(ptr<std::int64_t>{&each.local()->value});
  return sum;
}

template <class Share>
number_range counter::take(Share share) {
  detail::check_not_ended(at_.index());
  const auto of = [&](std::int64_t at) {
    if (at >= end_) return std::int64_t{0};
    const std::uint64_t distance = static_cast<std::uint64_t>(end_) - static_cast<std::uint64_t>(at);
    const auto left = static_cast<std::int64_t>(std::min(distance, most_numbers));
    return std::min(share(left), left);
  };
  if (atomic_load(common_) >= end_) return {};  // the counter has reached its end: no more atomics are needed
  const std::int64_t first = detail::fetch_change(common_, [&](std::int64_t at) { return at + of(at); });
  return {first, first + of(first)};
}

number_range counter::next(std::int64_t n) {
  if (n < 1) throw_error(errc::bad_argument, fmt::format("a counter hands out one number or more, not {}: next(n)", n));
  if (!is_spread_) return take([n](std::int64_t) { return n; });
  if (block_first_ == block_last_) {
    const number_range block = take([&](std::int64_t left) {
      if (end_ == std::numeric_limits<std::int64_t>::max()) return n * numbers_of_a_block;
      return std::max(n, left / (2 * static_cast<std::int64_t>(lines_.size())));
    });
    block_first_ = block.first;
    block_last_ = block.last;
    add_here(block_first_ - block_last_);  // reserved, not handed out
  }
  const std::int64_t first = block_first_;
  block_first_ += std::min(n, block_last_ - block_first_);
  add_here(block_first_ - first);
  return {first, block_first_};
}

}  // namespace situ
