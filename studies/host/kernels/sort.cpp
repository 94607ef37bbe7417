// std::sort over random keys of 8 bytes.
#include "array.h"
#include "kernels.h"

#include <algorithm>
#include <memory>

namespace situ::studies::host {
namespace {

struct keys {
  explicit keys(std::size_t count) : unsorted{count}, sorted{count} {
    numbers random{3};
    for (std::size_t i = 0; i < count; ++i) unsorted[i] = random();
  }
  void shuffle() const {
    for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = unsorted[i];
  }
  void run() const { std::sort(sorted.data(), sorted.data() + sorted.size()); }
  [[nodiscard]] std::uint64_t sum() const {
    checksum all;
    for (std::size_t i = 0; i < sorted.size(); ++i) all.add(sorted[i]);
    return all.value();
  }
  array<std::uint64_t> unsorted, sorted;
};

}  // namespace

kernel make_sort(std::uint64_t count) {
  const auto its = std::make_shared<keys>(count);
  return {.prepare = [its] { its->shuffle(); }, .run = [its] { its->run(); }, .checksum = [its] { return its->sum(); }};
}

}  // namespace situ::studies::host
