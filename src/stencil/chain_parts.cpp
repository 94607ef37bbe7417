#include "stencil/chain_parts.h"

#include <situ/base/error_code.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace situ::stencil {
namespace {

bool fits(chain loops, std::uint64_t fast_bytes) { return loops.size() == 1 || least_bytes(loops, 1) <= fast_bytes; }

// Returns how many of the first loops fit, to a quarter. guess: the length of the part before. If the guess is the
// answer again, the parts are alike and share a plan.
std::size_t longest_prefix(chain loops, std::uint64_t fast_bytes, std::size_t guess) {
  std::size_t low = 1, high = loops.size() + 1;  // `low` loops fit, `high` loops do not
  for (std::size_t n = std::max<std::size_t>(2, guess); n < high; n = std::max(n + 1, n == guess ? n + n / 4 : 2 * n)) {
    (fits(loops.first(n), fast_bytes) ? low : high) = n;
  }
  while (high - low > std::max<std::size_t>(1, low / 4)) {
    const auto n = low + (high - low) / 2;
    (fits(loops.first(n), fast_bytes) ? low : high) = n;
  }
  return low;
}

bool are_alike(const loop& a, const loop& b) {
  return a.kernel_id() == b.kernel_id() && a.range() == b.range() &&
         std::equal(a.arguments().begin(), a.arguments().end(), b.arguments().begin(), b.arguments().end(),
                    [](const argument& x, const argument& y) {
                      return x.data == y.data && x.into == y.into && x.mode == y.mode &&
                             (x.where == nullptr || x.where->id() == y.where->id());
                    });
}

// Shortens a length to a multiple of the loops' probable step, so that parts are alike; otherwise returns `length`.
std::size_t to_the_next_step(chain loops, std::size_t length) {
  std::size_t step = 1;
  while (step <= length && step < loops.size() && !are_alike(*loops[0], *loops[step])) ++step;
  return step < loops.size() && step <= length ? length / step * step : length;
}

// Cuts a chain into parts that fit. pre: its loops have the same number of dimensions.
void cut(chain loops, std::size_t offset, std::uint64_t fast_bytes, std::vector<chain_part>& parts) {
  if (fits(loops, fast_bytes)) {
    parts.push_back({offset, offset + loops.size(), {}});
    return;
  }
  std::size_t longest = 0, length = 0;
  for (std::size_t done = 0; done < loops.size(); done += length) {
    const auto rest = loops.subspan(done);
    if (rest.size() <= longest && fits(rest, fast_bytes)) {
      length = rest.size();
    } else {
      longest = longest_prefix(rest, fast_bytes, longest);
      length = longest < 4 ? longest : to_the_next_step(rest, longest * 2 / 3);
    }
    parts.push_back({offset + done, offset + done + length, {}});
  }
}

[[noreturn]] void refuse(chain loops, std::uint64_t fast_bytes) {
  std::size_t most = 0, at = 0;
  for (std::size_t l = 0; l < loops.size(); ++l) {
    if (const auto bytes = least_bytes(loops.subspan(l, 1), 0); bytes > most) most = bytes, at = l;
  }
  throw_error(errc::out_of_memory,
              fmt::format("kernel '{}' alone needs {} bytes ({}) of fast memory, for what one row of its points "
                          "touches, and the budget is "
                          "{} bytes; raise options::fast_bytes (SITU_STENCIL_FAST). No loop of the chain needs more",
                          loops[at]->name(), most, format_bytes(most), fast_bytes));
}

}  // namespace

std::vector<chain_part> parts_of(chain loops, std::uint64_t fast_bytes) {
  std::vector<chain_part> parts;
  for (std::size_t from = 0, until = 0; from < loops.size(); from = until) {
    while (until < loops.size() && loops[until]->dims() == loops[from]->dims()) ++until;
    cut(loops.subspan(from, until - from), from, fast_bytes, parts);
  }
  for (const auto& p : parts) {
    if (p.last - p.first == 1 && least_bytes(loops.subspan(p.first, 1), 0) > fast_bytes) refuse(loops, fast_bytes);
  }
  return parts;
}

// Finds the shortest period of the sequence, by the longest of its prefixes that is also its suffix (Knuth, Morris,
// Pratt).
std::size_t whole_steps(chain loops) {
  const auto n = loops.size();
  std::vector<std::size_t> border(n + 1, 0);  // of the first i loops
  for (std::size_t i = 1, k = 0; i < n; ++i) {
    while (k > 0 && !are_alike(*loops[i], *loops[k])) k = border[k];
    k += are_alike(*loops[i], *loops[k]) ? 1 : 0;
    border[i + 1] = k;
  }
  const auto step = n - border[n];
  return step > 0 && 2 * step <= n ? n / step * step : n;
}

void find_dead(std::span<chain_part> parts, std::span<const std::span<const data_use>> uses) {
  std::set<const dataset_core*> read;  // by later parts
  for (std::size_t n = parts.size(); n-- > 0;) {
    parts[n].dead.clear();
    for (const auto& u : uses[n]) {
      if (u.data->is_cyclic_temporary && !read.contains(u.data)) parts[n].dead.push_back(u.data);
    }
    for (const auto& u : uses[n]) {
      if (!u.live_in_kernel.empty()) read.insert(u.data);
    }
  }
}

}  // namespace situ::stencil
