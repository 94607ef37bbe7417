#include "copy_log.h"

#include <situ/graph.h>
#include <situ/situ.h>

#include <algorithm>

namespace imsuite {

void copy_log::start() {
  is_on_ = true;
  situ::on_graph_copy([this, here = situ::here()](const situ::graph_copy_event& event) {
    copy_count& count = counts_[{event.size.bytes, event.size.objects}];
    count.objects = event.size.objects;
    count.bytes = event.size.bytes;
    ++count.copies;
    if (event.from != here) ++count.between_places;
  });
}

void copy_log::stop() {
  if (is_on_) situ::on_graph_copy({});
  is_on_ = false;
}

std::vector<copy_count> copy_log::collect() const {
  std::vector<copy_count> mine;
  for (const auto& [size, count] : counts_) mine.push_back(count);
  std::map<std::pair<std::uint64_t, std::uint64_t>, copy_count> all;
  for (const std::vector<copy_count>& of_place : situ::gather(mine, 0))
    for (const copy_count& count : of_place) {
      copy_count& sum = all[{count.bytes, count.objects}];
      sum = {count.objects, count.bytes, sum.copies + count.copies, sum.between_places + count.between_places};
    }
  std::vector<copy_count> sorted;
  for (const auto& [size, count] : all) sorted.push_back(count);
  return sorted;
}

namespace {

int size_class(std::uint64_t bytes) noexcept { return bytes < 1000 ? 0 : bytes < 10000 ? 1 : 2; }

void join(combination& to, const combination& other) noexcept {
  to = {std::min(to.least_objects, other.least_objects), std::max(to.most_objects, other.most_objects),
        std::min(to.least_bytes, other.least_bytes), std::max(to.most_bytes, other.most_bytes),
        to.copies + other.copies};
}

bool are_alike(const combination& a, const combination& next) noexcept {
  return size_class(a.most_bytes) == size_class(next.least_bytes) && next.least_objects <= a.most_objects + 1 &&
         10 * std::max(a.most_bytes, next.most_bytes) <= 11 * std::min(a.least_bytes, next.least_bytes);
}

}  // namespace

copy_summary summarise(const std::vector<copy_count>& counts) {
  copy_summary summary;
  std::map<std::pair<int, std::uint64_t>, combination> by_objects;  // by class and number of objects
  double objects = 0, bytes = 0;
  for (const copy_count& c : counts) {
    summary.copies += c.copies;
    summary.between_places += c.between_places;
    objects += static_cast<double>(c.objects) * static_cast<double>(c.copies);
    bytes += static_cast<double>(c.bytes) * static_cast<double>(c.copies);
    const combination one{c.objects, c.objects, c.bytes, c.bytes, c.copies};
    if (const auto [at, is_new] = by_objects.try_emplace({size_class(c.bytes), c.objects}, one); !is_new)
      join(at->second, one);
  }
  if (summary.copies == 0) return summary;
  summary.objects = objects / static_cast<double>(summary.copies);
  summary.bytes = bytes / static_cast<double>(summary.copies);
  std::vector<combination> groups;
  for (const auto& [key, group] : by_objects) {
    if (!groups.empty() && are_alike(groups.back(), group)) {
      join(groups.back(), group);
    } else {
      groups.push_back(group);
    }
  }
  std::copy_if(groups.begin(), groups.end(), std::back_inserter(summary.typical),
               [&](const combination& g) { return 20 * g.copies >= summary.copies; });
  return summary;
}

}  // namespace imsuite
