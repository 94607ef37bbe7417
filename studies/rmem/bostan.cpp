#include "rmem/bostan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "rmem/portals.h"
#include "rmem/rmem.h"
#include "support/machine_files.h"

namespace situ::studies::rmem {
namespace {

// Calibrated with four figures, in this order:
// - raw runs `noc-latency` of March 2018: a block through a portal takes 16 us and a little for its bytes -> write;
// - raw runs `rmem-regular`, 16 KiB blocks of one cluster: a read at 84.5, a write at 82.8 MB/s, which is 194 and 198
//   us -> all of send_mail, take_mail, open, prepare and permit together, and take_mail, by which they differ;
// - section 5: at 128 KB a write has 91 % of the library's -> prepare and permit, which both have, against send_mail
// and
//   open, which only RMem has. How these two pairs are divided changes no figure here.
constexpr library_times libraries{
    .send_mail = 9, .take_mail = 4, .open = 10, .prepare = 137, .permit = 10, .write = 15.5};

struct way {
  protocol by;
  bool is_write;
  const char* name;
};
constexpr std::array ways{way{protocol::two_steps, true, "write"}, way{protocol::one_step, true, "library"},
                          way{protocol::two_steps, false, "read"}, way{protocol::one_step, false, "library"}};

using line = std::array<double, ways.size()>;

// Where a curve of throughput by size has its highest point.
std::uint64_t peak_of(const std::map<std::uint64_t, line>& by_size, std::size_t which) {
  return std::ranges::max_element(by_size, {}, [&](const auto& each) { return each.second[which]; })->first;
}

std::string verdict(bool holds) { return holds ? "holds" : "does not come out"; }

}  // namespace

study_part on_bostan(const study_context& context) {
  study_part part{.name = "bostan", .title = "On the modelled MPPA-256: MB/s of a peer"};
  const model::machine_spec machine = model::parse_machine(mppa_256_bostan_toml(), "mppa-256-bostan.toml");
  const std::uint32_t blocks = context.is_quick ? 4 : 16;
  const auto measure = [&](std::uint64_t bytes, std::uint32_t peers) {
    line made{};
    for (std::size_t i = 0; i < ways.size(); ++i)
      made[i] = megabytes_per_second(
          machine, libraries,
          {.by = ways[i].by, .is_write = ways[i].is_write, .bytes = bytes, .peers = peers, .blocks = blocks});
    return made;
  };

  grid sizes{"One peer, by the size of a block", {"KB", "write", "library", "ratio", "read", "library", "ratio"}, {}};
  plot drawn{"Remote memory, modelled MPPA-256, one peer",
             "KB",
             "MB/s",
             {{"write", {}}, {"write, library", {}, true}, {"read", {}}, {"read, library", {}, true}}};
  const auto add = [](grid& to, std::uint64_t head, const line& of) {
    std::vector<std::string> cells{fmt::format("{}", head)};
    for (std::size_t i = 0; i < of.size(); i += 2) {
      cells.push_back(fmt::format("{:.1f}", of[i]));
      cells.push_back(fmt::format("{:.1f}", of[i + 1]));
      cells.push_back(fmt::format("{:.2f}", of[i] / of[i + 1]));
    }
    to.lines.push_back(std::move(cells));
  };
  std::map<std::uint64_t, line> by_size;
  for (const std::uint64_t each : block_kilobytes) {
    if (context.stopped()) return part;
    context.tell(fmt::format("{} KB", each));
    const line got = by_size[each] = measure(each << 10, 1);
    add(sizes, each, got);
    for (std::size_t i = 0; i < got.size(); ++i) drawn.lines[i].points.emplace_back(static_cast<double>(each), got[i]);
  }
  grid peers{"64 KB, by the number of peers", {"peers", "write", "library", "ratio", "read", "library", "ratio"}, {}};
  std::map<std::uint32_t, line> by_peers;
  for (const std::uint32_t each : peer_counts) {
    if (context.stopped()) return part;
    context.tell(fmt::format("{} peers", each));
    add(peers, each, by_peers[each] = measure(64 << 10, each));
  }
  const line raw_one = measure(16 << 10, 1), raw_sixteen = measure(16 << 10, 16);

  double best_read = 0;
  for (const auto& [size, of] : by_size) best_read = std::max(best_read, of[2] / of[3]);
  const auto row = [&](std::string what, std::string unit, double paper, double ours, origin from,
                       std::string remark = "") {
    part.rows.push_back({.what = std::move(what),
                         .unit = std::move(unit),
                         .paper = paper,
                         .paper_most = {},
                         .ours = ours,
                         .ours_most = {},
                         .wide = {},
                         .from = from,
                         .remark = std::move(remark)});
  };
  row("write beside the library, 128 KB", "x", 0.91, by_size[128][0] / by_size[128][1], origin::calibrated);
  row("read beside the library, at best", "x", 2.4, best_read, origin::predicted,
      "what two overlap cannot be more than 2 x");
  row("write, 16 KiB, one cluster (raw runs)", "MB/s", 82.8, raw_one[0], origin::calibrated);
  row("read, 16 KiB, one cluster (raw runs)", "MB/s", 84.5, raw_one[2], origin::calibrated);
  row("write, 16 KiB, each of 16 (raw runs)", "MB/s", 60.8, raw_sixteen[0], origin::predicted,
      "the text: as one alone");
  row("read, 16 KiB, each of 16 (raw runs)", "MB/s", 47.0, raw_sixteen[2], origin::predicted, "the text: as one alone");

  // What section 5 says of its figures, by thresholds of ours.
  const auto grows = [&](std::size_t which, std::uint64_t from, std::uint64_t to) {
    return by_size[to][which] / by_size[from][which] / (static_cast<double>(to) / static_cast<double>(from));
  };
  const auto write_at = [&](std::uint64_t size) { return by_size[size][0]; };
  grid said{"What the text says of figures 3 and 4", {"what", "modelled", ""}, {}};
  said.lines.push_back({"writes grow in proportion from 2 to 64 KB", fmt::format("{:.2f} of it", grows(0, 2, 64)),
                        verdict(grows(0, 2, 64) > 0.7)});
  said.lines.push_back({"and little from 64 KB on", fmt::format("{:.2f} x at 210 KB", write_at(210) / write_at(64)),
                        verdict(write_at(210) / write_at(64) < 1.3)});
  said.lines.push_back(
      {"reads are fastest at 64 KB", fmt::format("{} KB", peak_of(by_size, 2)), verdict(peak_of(by_size, 2) == 64)});
  said.lines.push_back({"and then fall to the library's",
                        fmt::format("{:.2f} x it at 210 KB", by_size[210][2] / by_size[210][3]),
                        verdict(std::abs(by_size[210][2] / by_size[210][3] - 1) < 0.1)});
  const double of_sixteen = std::min(by_peers[16][0] / by_peers[1][0], by_peers[16][2] / by_peers[1][2]);
  said.lines.push_back(
      {"the number of peers does not matter", fmt::format("{:.2f} x with 16", of_sixteen), verdict(of_sixteen > 0.9)});

  part.grids = {std::move(sizes), std::move(peers), std::move(said)};
  part.plots.push_back(std::move(drawn));
  part.notes.push_back(
      "Protocols are run step by step; headers and permissions take the modelled control network, blocks the data "
      "network, the clusters' memories and the I/O cluster's DDR. The system's libraries are times, see "
      "docs/studies/rmem.md.");
  return part;
}

}  // namespace situ::studies::rmem
