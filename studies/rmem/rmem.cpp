#include "rmem/rmem.h"

#include <situ/rmem/client.h>
#include <situ/rmem/region.h>
#include <situ/rmem/server.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "rmem/bostan.h"
#include "rmem/page_traces.h"

namespace situ::studies::rmem {
namespace {

namespace service = situ::rmem;
using service::prefetch;
using service::replacement;

constexpr std::uint64_t page_bytes = 4096;
constexpr std::array policies{std::pair{replacement::fifo, "fifo"}, std::pair{replacement::aging, "aging"},
                              std::pair{replacement::clock, "clock"}, std::pair{replacement::s3_fifo, "s3_fifo"}};
constexpr std::array aheads{std::pair{prefetch::none, "none"}, std::pair{prefetch::next, "next"},
                            std::pair{prefetch::stride, "stride"}, std::pair{prefetch::majority, "majority"}};
constexpr std::array shares{10, 25, 50, 75, 100};

struct named_trace {
  std::string name;
  page_trace touches;
};

std::vector<named_trace> traces_of(std::uint64_t pages, bool is_quick) {
  const std::size_t touches = is_quick ? 4 * pages : 20 * pages;
  const std::size_t passes = is_quick ? 3 : 5;
  return {{"in order", sequential(pages, passes)},
          {"every 7th", strided(pages, 7, passes)},
          {"Zipf 0.9", zipf(pages, 0.9, touches, 1)},
          {"pointer chase", pointer_chase(pages, passes, 2)},
          {"hot tenth, scan", hot_and_scan(pages, touches, 3)}};
}

std::string percent(std::size_t of, std::size_t all) {
  return all == 0 ? "-" : fmt::format("{:.1f}", 100.0 * static_cast<double>(of) / static_cast<double>(all));
}

// --- which pages go ---

study_part replacing(const study_context& context) {
  study_part part{.name = "replacement", .title = "Which pages go: hits of 100 touches"};
  const std::uint64_t pages = context.is_quick ? 512 : 4096;
  grid table{"", {"touches", "local", "optimum"}, {}};
  for (const auto& [policy, name] : policies) table.headings.emplace_back(name);
  for (const named_trace& each : traces_of(pages, context.is_quick))
    for (const int share : shares) {
      if (context.stopped()) return part;
      context.tell(fmt::format("{}, {} % local", each.name, share));
      const auto frames = static_cast<std::uint32_t>(pages * static_cast<std::uint64_t>(share) / 100);
      std::vector<std::string> line{each.name, fmt::format("{} %", share),
                                    percent(hits_of_belady(each.touches, frames), each.touches.size())};
      for (const auto& [policy, name] : policies)
        line.push_back(
            percent(simulate(each.touches, {.frames = frames, .replace = policy}).hits, each.touches.size()));
      table.lines.push_back(std::move(line));
    }
  part.grids.push_back(std::move(table));
  part.notes.push_back(
      "Simulated with the policies that a region has, one page a fetch. The optimum is Belady's: the page "
      "goes whose next touch is farthest.");
  part.notes.push_back(
      "A loop over more pages than there is room for has no hits by any policy that keeps what came "
      "last; the optimum keeps a part of it.");
  return part;
}

// --- which come along ---

study_part fetching(const study_context& context) {
  study_part part{.name = "prefetch", .title = "Which pages come along, a quarter local: coverage and accuracy"};
  const std::uint64_t pages = context.is_quick ? 512 : 4096;
  grid table{"", {"touches"}, {}};
  for (const auto& [how, name] : aheads)
    if (how != prefetch::none) {
      table.headings.push_back(fmt::format("{}: coverage", name));
      table.headings.push_back("accuracy");
    }
  for (const named_trace& each : traces_of(pages, context.is_quick)) {
    if (context.stopped()) return part;
    context.tell(each.name);
    const auto frames = static_cast<std::uint32_t>(pages / 4);
    const std::size_t missing = simulate(each.touches, {.frames = frames}).missing;
    std::vector<std::string> line{each.name};
    for (const auto& [how, name] : aheads) {
      if (how == prefetch::none) continue;
      const cache_counts counted = simulate(each.touches, {.frames = frames, .ahead = how, .prefetch_pages = 32});
      line.push_back(missing < counted.missing ? fmt::format("-{}", percent(counted.missing - missing, missing))
                                               : percent(missing - counted.missing, missing));
      line.push_back(percent(counted.used, counted.prefetched));
    }
    table.lines.push_back(std::move(line));
  }
  part.grids.push_back(std::move(table));
  part.notes.push_back(
      "Simulated, clock, at most 32 pages at once. Coverage: of 100 misses without it, those that are "
      "hits with it. Accuracy: of 100 pages that came along, those that were touched before they went.");
  return part;
}

// --- on this host ---

// Servers in threads of this process, on ports of their own.
class local_server {
 public:
  local_server(std::uint64_t bytes, const service::application_key& key) : server_{options_of(bytes, key)} {}
  ~local_server() { server_.stop(); }
  [[nodiscard]] const std::string& endpoint() const { return server_.endpoints()[0]; }

 private:
  static service::server_options options_of(std::uint64_t bytes, const service::application_key& key) {
    service::server_options made;
    made.capacity_bytes = bytes;
    made.keys = {key};
    return made;
  }
  service::server server_;
  std::jthread thread_{[this] { server_.run(); }};
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct estimate {
  double mean = 0;
  double half_width = 0;  // of the 95 % interval, by Student's t
};
estimate estimate_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  estimate made;
  for (const double each : values) made.mean += each / count;
  double squares = 0;
  for (const double each : values) squares += (each - made.mean) * (each - made.mean);
  // Quantiles for 4 to 30 values; beyond, the normal one is within 3 %.
  constexpr std::array t{12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                         2.201, 2.179, 2.16,  2.145, 2.131, 2.12,  2.11,  2.101, 2.093, 2.086,
                         2.08,  2.074, 2.069, 2.064, 2.06,  2.056, 2.052, 2.048, 2.045};
  if (values.size() < 2) return made;
  const double quantile = values.size() - 2 < t.size() ? t[values.size() - 2] : 1.96;
  made.half_width = quantile * std::sqrt(squares / (count - 1) / count);
  return made;
}
std::string text_of(const estimate& of) { return fmt::format("{:.0f} ± {:.0f}", of.mean, of.half_width); }

study_part timing(const study_context& context) {
  study_part part{.name = "time", .title = "The same on this host: microseconds a touch, a quarter local"};
  const std::uint64_t pages = context.is_quick ? 512 : 2048;
  const auto key = service::application_key::generate("study");
  local_server server{2 * pages * page_bytes, key};
  service::client client{server.endpoint(), key};
  const service::capability all = client.allocate(pages * page_bytes);
  grid table{"", {"touches", "replacement"}, {}};
  for (const auto& [how, name] : aheads) table.headings.emplace_back(name);
  for (const named_trace& each : traces_of(pages, true))
    for (const auto& [policy, policy_name] : {policies[0], policies[2], policies[3]}) {
      std::vector<std::string> line{each.name, policy_name};
      for (const auto& [how, name] : aheads) {
        if (context.stopped()) return part;
        context.tell(fmt::format("{}, {}, {}", each.name, policy_name, name));
        std::vector<double> samples;
        for (int round = 0; round < (context.is_quick ? 1 : 5); ++round) {
          service::region region{service::client{server.endpoint(), key},
                                 all,
                                 {.local_bytes = pages / 4 * page_bytes,
                                  .replace = policy,
                                  .ahead = how,
                                  .prefetch_pages = 32,
                                  .is_sole_writer = true}};
          const auto begin = std::chrono::steady_clock::now();
          for (const std::uint64_t page : each.touches)
            (void)*static_cast<volatile std::byte*>(region.data() + page * page_bytes);
          samples.push_back(seconds_since(begin) * 1e6 / static_cast<double>(each.touches.size()));
        }
        std::sort(samples.begin(), samples.end());
        line.push_back(fmt::format("{:.2f}", samples[samples.size() / 2]));
      }
      table.lines.push_back(std::move(line));
    }
  part.grids.push_back(std::move(table));
  part.notes.push_back("Medians; server and program share this machine's processors, so these are for comparing rows.");
  return part;
}

// MB/s of so many threads, each with a client and, as the paper's peers, a server of its own.
class peers {
 public:
  peers(std::size_t count, std::uint64_t bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      servers_.push_back(std::make_unique<local_server>(bytes + page_bytes, key_));
      clients_.push_back(std::make_unique<service::client>(servers_.back()->endpoint(), key_));
      regions_.push_back(clients_.back()->allocate(bytes));
    }
  }
  double bandwidth(bool is_write, std::uint64_t bytes, int operations) {
    // By who completes the barrier: the thread that waits for all may see it late.
    std::array<std::chrono::steady_clock::time_point, 2> met;
    auto now = met.begin();
    std::barrier together{static_cast<std::ptrdiff_t>(clients_.size()),
                          [&now]() noexcept { *now++ = std::chrono::steady_clock::now(); }};
    {
      std::vector<std::jthread> running;
      for (std::size_t i = 0; i < clients_.size(); ++i)
        running.emplace_back([&, i] {
          std::vector<std::byte> here(bytes, std::byte{1});
          together.arrive_and_wait();
          for (int n = 0; n < operations; ++n)
            is_write ? clients_[i]->write(regions_[i], 0, here) : clients_[i]->read(regions_[i], 0, here);
          together.arrive_and_wait();
        });
    }
    const double seconds = std::chrono::duration<double>(met[1] - met[0]).count();
    return static_cast<double>(bytes) * operations * static_cast<double>(clients_.size()) / seconds / 1e6;
  }

 private:
  service::application_key key_ = service::application_key::generate("study");
  std::vector<std::unique_ptr<local_server>> servers_;
  std::vector<std::unique_ptr<service::client>> clients_;
  std::vector<service::capability> regions_;
};

// All points in random order, each so often.
template <class Point, class Measure>
std::map<Point, std::vector<double>> in_random_order(const study_context& context, const std::vector<Point>& points,
                                                     int rounds, const Measure& measure) {
  std::vector<Point> order;
  for (int i = 0; i < rounds; ++i) order.insert(order.end(), points.begin(), points.end());
  std::mt19937 random{11};
  std::shuffle(order.begin(), order.end(), random);
  std::map<Point, std::vector<double>> samples;
  for (const Point& each : order) {
    if (context.stopped()) break;
    samples[each].push_back(measure(each));
  }
  return samples;
}

study_part sizes(const study_context& context) {
  study_part part{.name = "sizes", .title = "One peer, 1 to 210 KB: MB/s"};
  std::vector<std::pair<bool, std::uint64_t>> points;
  for (const std::uint64_t each : block_kilobytes)
    for (const bool is_write : {false, true}) points.emplace_back(is_write, each);
  peers one{1, 256 << 10};
  const auto samples = in_random_order(context, points, context.is_quick ? 3 : 30, [&](const auto& point) {
    context.tell(fmt::format("{} KB", point.second));
    return one.bandwidth(point.first, point.second << 10, context.is_quick ? 20 : 200);
  });
  grid table{"", {"KB", "read", "write"}, {}};
  plot drawn{"Remote memory, one peer", "KB", "MB/s", {{"read", {}}, {"write", {}}}};
  for (const std::uint64_t each : block_kilobytes) {
    std::vector<std::string> line{fmt::format("{}", each)};
    for (const bool is_write : {false, true}) {
      const auto found = samples.find({is_write, each});
      if (found == samples.end()) return part;
      const estimate got = estimate_of(found->second);
      line.push_back(text_of(got));
      drawn.lines[is_write ? 1 : 0].points.emplace_back(static_cast<double>(each), got.mean);
    }
    table.lines.push_back(std::move(line));
  }
  part.grids.push_back(std::move(table));
  part.plots.push_back(std::move(drawn));
  part.notes.push_back(
      "Points in random order, 95 % intervals. On the MPPA-256 the paper's figure 3 has writes in three "
      "phases (2 KB, 64 KB) and reads that peak by 64 KB; the authors' raw runs have 84.5 (read) and 82.8 "
      "MB/s (write) from one cluster. Sockets of one host have other limits: a round trip, then the copy.");
  return part;
}

study_part several(const study_context& context) {
  study_part part{.name = "peers", .title = "1 to 16 peers at 64 KB: MB/s together"};
  std::map<std::size_t, std::unique_ptr<peers>> made;
  for (const std::size_t each : peer_counts) made[each] = std::make_unique<peers>(each, 64 << 10);
  std::vector<std::pair<bool, std::size_t>> points;
  for (const std::size_t each : peer_counts)
    for (const bool is_write : {false, true}) points.emplace_back(is_write, each);
  const auto samples = in_random_order(context, points, context.is_quick ? 3 : 30, [&](const auto& point) {
    context.tell(fmt::format("{} peers", point.second));
    const auto operations = static_cast<int>((context.is_quick ? 64 : 800) / point.second);
    return made[point.second]->bandwidth(point.first, 64 << 10, operations);
  });
  grid table{"", {"peers", "read", "a peer", "write", "a peer"}, {}};
  for (const std::size_t each : peer_counts) {
    std::vector<std::string> line{fmt::format("{}", each)};
    for (const bool is_write : {false, true}) {
      const auto found = samples.find({is_write, each});
      if (found == samples.end()) return part;
      const estimate got = estimate_of(found->second);
      line.push_back(text_of(got));
      line.push_back(fmt::format("{:.0f}", got.mean / static_cast<double>(each)));
    }
    table.lines.push_back(std::move(line));
  }
  part.grids.push_back(std::move(table));
  part.notes.push_back(
      "Each peer is a client and a server of its own. The authors' raw runs have 752 (read) and 972 MB/s "
      "(write) together from 16 clusters, 47 and 61 each where one alone has 84.5 and 82.8; the paper says "
      "that the number of peers does not matter. Here all peers share this machine's processors.");
  return part;
}

}  // namespace

study_result run(const study_context& context) {
  study_result result{
      .name = "rmem",
      .title = "Remote memory",
      .source = "RMem: An OS Service for Transparent Remote Memory Access in Lightweight Manycores",
      .method = {"Servers and clients of situ::rmem in one process, over TCP on this host.",
                 "Pages: traces of touches, simulated with the policies of rmem::region and beside Belady's "
                 "optimum, then touched on this host.",
                 "Part bostan: the two-step protocol and the libraries' on the modelled MPPA-256."}};
  using make = study_part (*)(const study_context&);
  for (const auto& [name, part] : {std::pair<std::string_view, make>{"replacement", replacing},
                                   {"prefetch", fetching},
                                   {"time", timing},
                                   {"sizes", sizes},
                                   {"peers", several},
                                   {"bostan", on_bostan}}) {
    if (!context.wants(name)) continue;
    if (context.stopped()) break;
    result.parts.push_back(part(context));
  }
  result.was_stopped = context.stopped();
  return result;
}

}  // namespace situ::studies::rmem
