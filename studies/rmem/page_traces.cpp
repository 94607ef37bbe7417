#include "rmem/page_traces.h"

#include <situ/base/error.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <unordered_map>

#include "rmem/read_ahead.h"
#include "rmem/replacement.h"

namespace situ::studies::rmem {

using situ::rmem::detail::page_run;
using situ::rmem::detail::read_ahead;
using situ::rmem::detail::replacement_policy;

page_trace sequential(std::uint64_t pages, std::size_t passes) { return strided(pages, 1, passes); }

page_trace strided(std::uint64_t pages, std::uint64_t distance, std::size_t passes) {
  page_trace made;
  for (std::size_t pass = 0; pass < passes; ++pass)
    for (std::uint64_t first = 0; first < distance; ++first)
      for (std::uint64_t page = first; page < pages; page += distance) made.push_back(page);
  return made;
}

page_trace zipf(std::uint64_t pages, double exponent, std::size_t touches, unsigned seed) {
  std::mt19937_64 random{seed};
  std::vector<double> sums;
  double all = 0;
  for (std::uint64_t i = 1; i <= pages; ++i) sums.push_back(all += std::pow(static_cast<double>(i), -exponent));
  page_trace where(pages);
  std::iota(where.begin(), where.end(), 0);
  std::shuffle(where.begin(), where.end(), random);
  page_trace made;
  for (std::size_t i = 0; i < touches; ++i) {
    const double at = static_cast<double>(random() >> 11) * 0x1p-53 * all;
    const auto rank = static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.end(), at) - sums.begin());
    made.push_back(where[std::min<std::size_t>(rank, pages - 1)]);
  }
  return made;
}

page_trace pointer_chase(std::uint64_t pages, std::size_t passes, unsigned seed) {
  std::mt19937_64 random{seed};
  page_trace once(pages);
  std::iota(once.begin(), once.end(), 0);
  std::shuffle(once.begin(), once.end(), random);
  page_trace made;
  for (std::size_t pass = 0; pass < passes; ++pass) made.insert(made.end(), once.begin(), once.end());
  return made;
}

page_trace hot_and_scan(std::uint64_t pages, std::size_t touches, unsigned seed) {
  std::mt19937_64 random{seed};
  const std::uint64_t hot = std::max<std::uint64_t>(1, pages / 10);
  page_trace made;
  for (std::size_t i = 0; i < touches; ++i) made.push_back(i % 2 == 0 ? random() % hot : hot + i / 2 % (pages - hot));
  return made;
}

namespace {

// The frames of a cache (src/rmem/page_cache.h), without what is in them.
class simulated_cache {
 public:
  explicit simulated_cache(const cache_options& options)
      : options_{options},
        policy_{situ::rmem::detail::make_replacement_policy(options.replace, options.frames)},
        ahead_{options.ahead, std::max(1U, std::min(options.prefetch_pages, options.frames / 4))},
        frames_(options.frames) {
    for (std::uint32_t each = options.frames; each-- > 0;) empty_.push_back(each);
  }

  void touch(std::uint64_t page, std::uint64_t pages) {
    const auto found = here_.find(page);
    if (found == here_.end()) {
      ++counts_.missing;
      come({page}, ahead_.after(page, false), pages);
      return;
    }
    frame& one = frames_[found->second];
    ++counts_.hits;
    if (one.was_prefetched) ++counts_.used;
    one.was_prefetched = false;
    if (one.is_mapped) return;
    ++counts_.seen;
    policy_->touched(found->second);
    one.is_mapped = true;
    const bool was_mark = one.is_mark;
    one.is_mark = false;
    if (was_mark) come({}, ahead_.after(page, true), pages);
  }
  [[nodiscard]] const cache_counts& counts() const { return counts_; }

 private:
  struct frame {
    std::uint64_t page = 0;
    bool is_mapped = false;
    bool is_mark = false;
    bool was_prefetched = false;
  };

  // The page that was asked for, if any, and what comes along.
  void come(std::vector<std::uint64_t> which, const page_run& along, std::uint64_t pages) {
    const std::size_t asked = which.size();
    for (std::int64_t i = 0; i < along.count; ++i) {
      const auto page = static_cast<std::uint64_t>(along.first + i * along.distance);
      if (page < pages && !here_.contains(page) && (asked == 0 || page != which[0])) which.push_back(page);
    }
    while (empty_.size() < which.size()) make_room();
    const std::size_t mark = which.size() - asked >= 2 ? which.size() / 2 : which.size();
    for (std::size_t i = 0; i < which.size(); ++i) {
      const std::uint32_t into = empty_.back();
      empty_.pop_back();
      frames_[into] = {which[i], i != mark, i == mark, i >= asked};
      here_[which[i]] = into;
      policy_->came(into, which[i]);
    }
    counts_.prefetched += which.size() - asked;
  }

  void make_room() {
    std::vector<std::uint32_t> watch;
    const auto may = [&](std::uint32_t each) {
      return options_.pinned_every == 0 || each % options_.pinned_every != 0;
    };
    const std::uint32_t victim = policy_->choose(may, watch);
    if (victim >= frames_.size() || !may(victim) || here_.erase(frames_[victim].page) != 1)
      throw_error(errc::bad_argument, "a policy chose a frame that cannot go");
    policy_->gone(victim);
    empty_.push_back(victim);
    for (const std::uint32_t each : watch) {
      if (each == victim) continue;
      if (!here_.contains(frames_[each].page) || here_[frames_[each].page] != each)
        throw_error(errc::bad_argument, "a policy watches an empty frame");
      frames_[each].is_mapped = false;
    }
  }

  cache_options options_;
  std::unique_ptr<replacement_policy> policy_;
  read_ahead ahead_;
  std::vector<frame> frames_;
  std::vector<std::uint32_t> empty_;
  std::unordered_map<std::uint64_t, std::uint32_t> here_;
  cache_counts counts_;
};

}  // namespace

cache_counts simulate(const page_trace& touches, const cache_options& options) {
  const std::uint64_t pages = touches.empty() ? 0 : *std::max_element(touches.begin(), touches.end()) + 1;
  simulated_cache cache{options};
  for (const std::uint64_t each : touches) cache.touch(each, pages);
  return cache.counts();
}

std::size_t hits_of_belady(const page_trace& touches, std::uint32_t frames) {
  std::vector<std::size_t> next(touches.size());
  std::unordered_map<std::uint64_t, std::size_t> after;
  for (std::size_t i = touches.size(); i-- > 0;) {
    const auto found = after.find(touches[i]);
    next[i] = found == after.end() ? touches.size() + i : found->second;  // never again: each at a time of its own
    after[touches[i]] = i;
  }
  std::set<std::size_t> here;  // the next touch of each page that is here
  std::size_t hits = 0;
  for (std::size_t i = 0; i < touches.size(); ++i) {
    if (here.erase(i) != 0)
      ++hits;
    else if (here.size() == frames)
      here.erase(std::prev(here.end()));
    here.insert(next[i]);
  }
  return hits;
}

}  // namespace situ::studies::rmem
