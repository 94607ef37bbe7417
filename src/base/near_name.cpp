#include "base/near_name.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace situ::detail {
namespace {

// Returns the number of single-character edits between two words.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view near_name(std::string_view written, std::span<const std::string_view> known) {
  constexpr std::size_t most_edits = 2;
  std::string_view nearest;
  std::size_t least = most_edits + 1;
  for (const std::string_view each : known)
    if (const std::size_t between = edits(written, each); between < least) {
      least = between;
      nearest = each;
    }
  return nearest;
}

}  // namespace situ::detail
