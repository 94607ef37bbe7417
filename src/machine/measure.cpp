#include "machine/measure_core.h"
#include "machine/measure_kernels.h"
#include "os/host.h"
#include "os/worker.h"

#include <situ/base/detail/assert.h>
#include <situ/base/units.h>
#include <situ/machine/measure.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

namespace situ::machine {
namespace {

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

sample_summary of_sorted(const std::vector<double>& sorted) {
  return {quantile(sorted, 0.1), quantile(sorted, 0.5), quantile(sorted, 0.9),
          static_cast<std::uint32_t>(sorted.size())};
}

}  // namespace

sample_summary summarize(std::vector<double> samples) {
  SITU_ASSERT(1, !samples.empty(), "summarize at least one sample");
  std::sort(samples.begin(), samples.end());
  return of_sorted(samples);
}

std::optional<regimes> split_regimes(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  const std::size_t least = std::max<std::size_t>(3, n * 3 / 100);
  if (n < 2 * least) return std::nullopt;
  // Otsu's split, on logarithms since regimes differ by factors: the largest variance between the groups.
  std::vector<double> sums(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) sums[i + 1] = sums[i] + std::log(std::max(samples[i], 1e-9));
  std::size_t best = least;
  double best_variance = -1;
  for (std::size_t i = least; i + least <= n; ++i) {
    const double low = sums[i] / static_cast<double>(i);
    const double high = (sums[n] - sums[i]) / static_cast<double>(n - i);
    const double variance = static_cast<double>(i) * static_cast<double>(n - i) * (high - low) * (high - low);
    if (variance > best_variance) {
      best_variance = variance;
      best = i;
    }
  }
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(best);
  const regimes found{of_sorted({samples.begin(), middle}), of_sorted({middle, samples.end()}),
                      static_cast<double>(best) / static_cast<double>(n)};
  const double gap = found.high.p10 - found.low.p90;
  const double spread = std::max(found.low.p90 - found.low.p10, found.high.p90 - found.high.p10);
  if (found.high.median < 1.5 * found.low.median || gap <= spread) return std::nullopt;
  return found;
}

namespace {

// Returns how much a process may take without being killed: an eighth of the free memory, or of its control group's
// limit.
std::uint64_t affordable_bytes() {
  std::uint64_t bytes =
      static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max",
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {  // the paths that a container sees
    std::ifstream limit_file{path};
    if (std::uint64_t limit = 0; limit_file >> limit) bytes = std::min(bytes, limit);
  }
  return bytes / 8;
}

// A cache as the measurer sees it: the node, and the bytes at which its level ends.
struct cache_point {
  node_id id;
  std::uint64_t bytes;
};

class measurer {
 public:
  measurer(const tree& machine, const measure_options& options)
      : machine_{machine}, options_{options}, allowed_{processor_set::of_this_thread() & machine.root().processors} {}

  measurements run() {
    plan();
    for (const auto& [what, step] : steps_) {
      if (options_.progress) options_.progress(what, done_, steps_.size());
      step();
      ++done_;
    }
    if (options_.progress) options_.progress("done", done_, steps_.size());
    return std::move(result_);
  }

 private:
  // Returns one processor for each core that may be used.
  [[nodiscard]] std::vector<node_id> core_processors(const processor_set& among) const {
    std::vector<node_id> result;
    node_id last_core = no_node;
    for (node_id id = 0; id < machine_.nodes().size(); ++id) {
      if (!machine_.is_processor(id) || !allowed_.contains(machine_.at(id).os_index) ||
          !among.contains(machine_.at(id).os_index))
        continue;
      const node_id parent = machine_.at(id).parent;
      const bool sibling = machine_.at(id).kind == node_kind::processing_unit &&
                           machine_.at(parent).kind == node_kind::core && parent == last_core;
      last_core = parent;
      if (!sibling) result.push_back(id);
    }
    return result;
  }

  void plan() {
    const std::vector<node_id> cores = core_processors(machine_.root().processors);
    if (cores.empty()) {
      result_.skipped.push_back("everything: this thread may run on no processor of the machine");
      return;
    }
    steps_.emplace_back(fmt::format("capacity of caches from {}", machine_.label(cores.front())),
                        [this, from = cores.front()] { capacity(from); });
    for (const cache_point& cache : caches_of(cores.front()))
      steps_.emplace_back(fmt::format("latency of {}", machine_.label(cache.id)),
                          [this, cache, from = cores.front()] { cache_latency(cache, from); });
    // Memory is measured from one processor of each part of the machine that has a memory of its own.
    std::vector<processor_set> homes;
    for (const node_id memory : addressable()) {
      const processor_set& home = machine_.at(memory).processors;
      if (std::find(homes.begin(), homes.end(), home) == homes.end() && !core_processors(home).empty())
        homes.push_back(home);
    }
    for (const processor_set& home : homes)
      for (const node_id memory : addressable())
        steps_.emplace_back(fmt::format("latency of {}", machine_.label(memory)),
                            [this, memory, from = core_processors(home).front()] { memory_latency(memory, from); });
    for (const cache_point& cache : caches_of(cores.front()))
      if (machine_.at(cache.id).level > 1)
        steps_.emplace_back(fmt::format("bandwidth of {}", machine_.label(cache.id)),
                            [this, cache, from = cores.front()] { cache_bandwidth(cache, from); });
    for (const node_id memory : addressable())
      steps_.emplace_back(fmt::format("bandwidth of {}", machine_.label(memory)),
                          [this, memory] { bandwidth(memory); });
    steps_.emplace_back(fmt::format("instructions and misses of {}", machine_.label(cores.front())),
                        [this, from = cores.front()] { core(from); });
    plan_ping_pong(cores);
  }

  void plan_ping_pong(const std::vector<node_id>& cores) {
    if (cores.size() < 2) result_.skipped.push_back("ping-pong: it takes two cores, and this thread may use one");
    if (cores.size() > options_.max_cores)
      result_.skipped.push_back(
          fmt::format("ping-pong beyond the first {} of {} cores", options_.max_cores, cores.size()));
    const std::size_t count = std::min<std::size_t>(cores.size(), options_.max_cores);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = i + 1; j < count; ++j)
        steps_.emplace_back(fmt::format("ping-pong {} - {}", machine_.label(cores[i]), machine_.label(cores[j])),
                            [this, a = cores[i], b = cores[j]] { ping_pong(a, b); });
  }

  [[nodiscard]] std::vector<node_id> addressable() const {
    std::vector<node_id> result;
    for (const node_id id : machine_.all(node_kind::memory))
      if (machine_.is_addressable(id) && machine_.at(id).bytes > 0) result.push_back(id);
    return result;
  }

  // Returns the data caches over a processor, the nearest first.
  [[nodiscard]] std::vector<cache_point> caches_of(node_id processor) const {
    std::vector<cache_point> result;
    for (node_id up = machine_.at(processor).parent; up != no_node; up = machine_.at(up).parent) {
      const node& n = machine_.at(up);
      if (n.kind == node_kind::cache && n.cache != cache_kind::instruction && n.bytes > 0)
        result.push_back({up, n.bytes});
    }
    return result;
  }

  [[nodiscard]] std::uint64_t largest_cache(node_id processor) const {
    const std::vector<cache_point> caches = caches_of(processor);
    return caches.empty() ? std::uint64_t{1} << 20 : caches.back().bytes;
  }

  // Times a chase through `bytes` on a node, from a processor.
  void latency(node_id where, node_id from, std::uint64_t bytes, std::uint32_t node) {
    std::vector<double> samples;
    situ::os::worker{[&] {
      if (!situ::detail::bind_to_processor(machine_.at(from).os_index)) return;
      const situ::detail::pages memory = detail::touched_pages(bytes, node);
      if (memory.empty()) return;
      // a shorter stride than the machine's line would hit it twice; no line is shorter
      constexpr std::size_t line_bytes = 64;
      const std::size_t stride = std::max<std::size_t>(line_bytes, longest_line());
      void** at = detail::link_chase({memory.data(), static_cast<std::size_t>(bytes)}, stride);
      constexpr std::size_t steps = 4096;  // a millisecond at most: few samples include turns of other threads
      at = detail::follow_chase(
          at, std::max<std::size_t>(bytes / stride, steps));  // once around brings the lines into the cache
      const double end = detail::now_ns() + options_.seconds_per_point * 1e9;
      while (detail::now_ns() < end || samples.size() < 11) {
        const double before = detail::now_ns();
        at = detail::follow_chase(at, steps);
        samples.push_back((detail::now_ns() - before) / static_cast<double>(steps));
      }
      // The use of the chase's end keeps the compiler from optimising the chase away.
      if (*at == nullptr) samples.clear();
    }}.join();
    if (samples.empty()) {
      result_.skipped.push_back(
          fmt::format("latency of {}: no memory there, or no right to its processor", machine_.label(where)));
      return;
    }
    result_.latencies.push_back({where, from, bytes, summarize(std::move(samples))});
  }

  [[nodiscard]] std::uint32_t longest_line() const {
    std::uint32_t longest = 0;
    for (const node& n : machine_.nodes()) longest = std::max(longest, n.line_bytes);
    return longest;
  }

  // Returns the working set whose loads hit the cache, and none of the caches in front of it.
  [[nodiscard]] std::uint64_t cache_working_set(const cache_point& cache, node_id from) const {
    // The working set is between this cache and the one below it: their geometric mean, or twice the smaller one, so
    // that neither that one nor neighbours in a shared cache affect it much. For the first level it is half of the
    // cache. The outermost cache counts only with the capacity that one core's data finds.
    std::uint64_t below = 0;
    for (const cache_point& other : caches_of(from))
      if (other.bytes < cache.bytes) below = std::max(below, other.bytes);
    std::uint64_t within = cache.bytes;
    for (const capacity_result& found : result_.capacities)
      if (found.cache == cache.id) within = std::clamp(found.bytes, below, cache.bytes);
    const std::uint64_t bytes =
        below == 0
            ? within / 2
            : std::min(below * 2,
                       static_cast<std::uint64_t>(std::sqrt(static_cast<double>(below) * static_cast<double>(within))));
    return std::min(bytes / 4096 * 4096, affordable_bytes());
  }

  void cache_latency(const cache_point& cache, node_id from) {
    latency(cache.id, from, cache_working_set(cache, from), detail::any_node);
  }

  void cache_bandwidth(const cache_point& cache, node_id from) {
    const std::uint64_t bytes = cache_working_set(cache, from);
    with_memory(from, bytes, "bandwidth of " + machine_.label(cache.id), [&](std::span<std::byte> memory) {
      std::vector<double> samples;
      const double end = detail::now_ns() + options_.seconds_per_point * 1e9;
      while (detail::now_ns() < end || samples.size() < 11)
        samples.push_back(detail::bytes_per_second_of_lines(memory, longest_line()));
      result_.bandwidths.push_back(
          {.memory = cache.id, .threads = 1, .working_set_bytes = bytes, .read = summarize(std::move(samples))});
    });
  }

  // Returns several times the size of the largest cache, if there is as much memory.
  [[nodiscard]] std::uint64_t memory_working_set(node_id memory, node_id from, std::uint64_t arrays) const {
    const std::uint64_t wanted = std::max<std::uint64_t>(4 * largest_cache(from), std::uint64_t{64} << 20) * arrays;
    return std::min({wanted, options_.max_working_set_bytes, affordable_bytes(), machine_.at(memory).bytes / 4}) /
           4096 * 4096;
  }

  void memory_latency(node_id memory, node_id from) {
    const std::uint64_t bytes = memory_working_set(memory, from, 1);
    if (bytes < 2 * largest_cache(from)) {
      result_.skipped.push_back(fmt::format("latency of {}: {} may be used, too little to outgrow the caches",
                                            machine_.label(memory), format_bytes(bytes)));
      return;
    }
    latency(memory, from, bytes, machine_.at(memory).os_index);
  }

  void bandwidth(node_id memory) {
    std::vector<node_id> near = core_processors(machine_.at(memory).processors);
    if (near.empty()) near = core_processors(machine_.root().processors);
    std::vector<std::uint32_t> processors;
    for (const node_id id : near) processors.push_back(machine_.at(id).os_index);
    const std::uint64_t bytes = memory_working_set(memory, near.front(), 3);
    const std::uint64_t each = bytes / processors.size() / 4096 * 4096;
    const auto time = [&](detail::stream_kernel kernel) {
      return detail::stream_bandwidth(kernel, processors, machine_.at(memory).os_index, each,
                                      options_.seconds_per_point);
    };
    const std::vector<double> read = time(detail::stream_kernel::read);
    const std::vector<double> copy = time(detail::stream_kernel::copy);
    const std::vector<double> triad = time(detail::stream_kernel::triad);
    if (read.empty() || copy.empty() || triad.empty()) {
      result_.skipped.push_back(
          fmt::format("bandwidth of {}: no memory there, or no right to its processors", machine_.label(memory)));
      return;
    }
    result_.bandwidths.push_back({memory, static_cast<std::uint32_t>(processors.size()), each * processors.size(),
                                  summarize(read), summarize(copy), summarize(triad)});
  }

  // Runs `body` on a processor with touched memory of `bytes`. If that is impossible, notes it and returns false.
  template <class Body>
  bool with_memory(node_id from, std::uint64_t bytes, const std::string& what, Body&& body) {
    bool ran = false;
    situ::os::worker{[&] {
      if (!situ::detail::bind_to_processor(machine_.at(from).os_index)) return;
      const situ::detail::pages memory = detail::touched_pages(bytes, detail::any_node);
      if (memory.empty()) return;
      body(std::span<std::byte>{memory.data(), static_cast<std::size_t>(bytes)});
      ran = true;
    }}.join();
    if (!ran) result_.skipped.push_back(fmt::format("{}: no memory for it, or no right to its processor", what));
    return ran;
  }

  // Measures the outermost cache: the largest working set, in steps of about a third, whose loads take less than the
  // mean of a load just outside of the next smaller cache and one that misses all caches.
  void capacity(node_id from) {
    const std::vector<cache_point> caches = caches_of(from);
    if (caches.size() < 2) return;
    const cache_point last = caches.back();
    const std::uint64_t below = caches[caches.size() - 2].bytes;
    const std::uint64_t most = memory_working_set_near(from);
    if (most < 2 * last.bytes) {
      result_.skipped.push_back(fmt::format("capacity of {}: {} may be used, too little to outgrow it",
                                            machine_.label(last.id), format_bytes(most)));
      return;
    }
    // The result depends on the physical pages, too: the median of several counts.
    std::vector<std::uint64_t> found;
    for (int i = 0; i < 3; ++i)
      with_memory(from, most, "capacity of " + machine_.label(last.id), [&](std::span<std::byte> memory) {
        const auto ns = [&](std::uint64_t bytes) { return detail::chase_ns(memory.first(bytes), longest_line()); };
        const double within = ns(below * 3 / 2);
        const double beyond = ns(most);
        std::uint64_t bytes = below * 3 / 2;
        while (bytes <= last.bytes && ns(bytes / 4096 * 4096) < (within + beyond) / 2) bytes += bytes / 6 * 2;
        found.push_back(std::max(below, bytes / 4 * 3));
      });
    if (found.empty()) return;
    std::sort(found.begin(), found.end());
    result_.capacities.push_back({last.id, std::min(last.bytes, found[found.size() / 2]) / 4096 * 4096});
  }

  void core(node_id from) {
    const std::uint64_t bytes = memory_working_set_near(from);
    with_memory(from, bytes, "instructions of " + machine_.label(from), [&](std::span<std::byte> memory) {
      const std::size_t line = longest_line();
      const double gigahertz = detail::core_gigahertz();
      core_result found{.from = from,
                        .hertz = static_cast<std::uint64_t>(std::llround(gigahertz * 1000)) * 1'000'000,
                        .cycles = detail::core_cycles(gigahertz),
                        .width = detail::core_width(gigahertz)};
      if (const std::vector<cache_point> caches = caches_of(from); !caches.empty())
        found.dtlb = detail::translations_held(memory, line, caches.front().bytes, gigahertz);
      if (bytes < 2 * largest_cache(from)) {
        result_.skipped.push_back("misses under way: too little memory to outgrow the caches");
      } else {
        const double latency_ns = detail::chase_ns(memory, line);
        found.window = detail::instructions_under_way(memory, line);
        found.misses = detail::loads_under_way(memory, line);
        found.store_buffer = detail::stores_under_way(memory, line, latency_ns);
        const detail::stream_figures streams = detail::streams_followed(memory, line, latency_ns);
        found.stream_count = streams.streams;
        found.stream_lines = streams.lines;
        found.lines_in_all = std::max(found.misses, streams.lines_in_all);
        found.stream_page_bytes = streams.page_bytes;
      }
      result_.core = found;
    });
  }

  // Returns the working set of a memory's latency, in whatever memory the kernel chooses.
  [[nodiscard]] std::uint64_t memory_working_set_near(node_id from) const {
    const std::uint64_t wanted = std::max<std::uint64_t>(4 * largest_cache(from), std::uint64_t{64} << 20);
    return std::min({wanted, options_.max_working_set_bytes, affordable_bytes()}) / 4096 * 4096;
  }

  void ping_pong(node_id a, node_id b) {
    constexpr std::uint32_t rounds = 100;  // in a sample: long against the clock's own cost, short against a regime
    std::vector<double> samples =
        detail::ping_pong(machine_.at(a).os_index, machine_.at(b).os_index, options_.seconds_per_pair, rounds);
    if (samples.empty()) {
      result_.skipped.push_back(
          fmt::format("ping-pong {} - {}: no right to a processor", machine_.label(a), machine_.label(b)));
      return;
    }
    const std::optional<regimes> split = split_regimes(samples);
    result_.ping_pongs.push_back({a, b, summarize(std::move(samples)), split});
  }

  const tree& machine_;
  const measure_options& options_;
  processor_set allowed_;
  std::vector<std::pair<std::string, std::function<void()>>> steps_;
  std::size_t done_ = 0;
  measurements result_;
};

}  // namespace

measurements measure(const tree& machine, const measure_options& options) { return measurer{machine, options}.run(); }

}  // namespace situ::machine
