// Banks of a memory: by hand, and against a list of commands.
#include "model/parts/memory_banks.h"

#include <situ/base/error.h>

#include "model/parts/memory_controller.h"
#include "model/parts/modelled_machine.h"
#include "one_core.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace situ::model {
namespace {

using machine::address_mapping;
using testing::HasSubstr;

constexpr time_ps ns = 1000;

// One channel, two banks, rows of two bursts.
memory_spec two_banks() {
  return {.name = "dram 0",
          .access_time = 50 * ns,
          .occupancy = 5 * ns,
          .burst_bytes = 64,
          .bytes_per_second = 12'800'000'000,
          .channels = 1,
          .rows = {.banks = 2, .row_bytes = 128, .trcd = 15 * ns, .trp = 12 * ns, .tras = 30 * ns}};
}

// The example in memory_banks.h.
TEST(MemoryBanks, HitsAndConflictsOfOneBank) {
  memory_controller memory{two_banks()};
  EXPECT_EQ(memory.access(0, 64, false, 1000 * ns), 1050 * ns);   // closed
  EXPECT_EQ(memory.access(64, 64, false, 1020 * ns), 1055 * ns);  // a hit, without tRCD
  EXPECT_EQ(memory.access(256, 64, true, 1025 * ns), 1092 * ns);  // the row stays until 1030; tRP, and tRCD again
  const part_counters c = memory.counters();
  EXPECT_EQ(c["row_hits"], 1u);
  EXPECT_EQ(c["row_closed"], 1u);
  EXPECT_EQ(c["row_conflicts"], 1u);
  EXPECT_EQ(c["refresh_wait_ps"], 0u);
  EXPECT_EQ(c["queueing_ps"], 0u);
  EXPECT_EQ(c["busy_ps"], 15 * ns);  // three bursts on the channel
  memory.reset_counters();
  EXPECT_EQ(memory.counters()["row_hits"], 0u);
  EXPECT_EQ(memory.access(256, 64, true, 2000 * ns), 2035 * ns);  // the row is still open
}

// Two conflicts in one bank take turns; in two banks they share only the channel.
TEST(MemoryBanks, ABankIsBusyWhileTheChannelServesOthers) {
  memory_controller memory{two_banks()};
  EXPECT_EQ(memory.access(0, 64, false, 0), 50 * ns);
  EXPECT_EQ(memory.access(128, 64, false, 0), 55 * ns);  // the other bank; its burst is behind the first one's
  // The first bank is busy until 20, and may close its row at 30.
  EXPECT_EQ(memory.access(256, 64, false, 0), (30 + 12 + 50) * ns);
  EXPECT_EQ(memory.counters()["queueing_ps"], (5 + 20) * ns);
}

TEST(MemoryBanks, ALongAccessIsBursts) {
  memory_controller memory{two_banks()};
  // Opens the row, a hit behind it, and the row of the other bank, which is opened at once but waits for the channel.
  EXPECT_EQ(memory.access(0, 192, false, 0), 60 * ns);
  EXPECT_EQ(memory.counters()["row_hits"], 1u);
  EXPECT_EQ(memory.counters()["row_closed"], 2u);
}

// An access takes access_time, as without banks, and tRAS and tRP pass before the next one in the bank.
TEST(MemoryBanks, AClosedPageCostsEachAccessTheSame) {
  memory_spec spec = two_banks();
  spec.rows.closes_rows = true;
  memory_controller memory{spec};
  EXPECT_EQ(memory.access(0, 64, false, 0), 50 * ns);
  EXPECT_EQ(memory.access(64, 64, false, 0), (30 + 12 + 50) * ns);
  EXPECT_EQ(memory.access(256, 64, false, 500 * ns), 550 * ns);
  EXPECT_EQ(memory.counters()["row_closed"], 3u);
}

// A refresh from 900 to 1000 ns, and so on: a request waits for its end, and finds no open row.
TEST(MemoryBanks, ARefreshStopsTheBanksAndClosesTheirRows) {
  memory_spec spec = two_banks();
  spec.rows.trefi = 1000 * ns;
  spec.rows.trfc = 100 * ns;
  memory_controller memory{spec};
  EXPECT_EQ(memory.access(0, 64, false, 800 * ns), 850 * ns);
  EXPECT_EQ(memory.access(0, 64, false, 899 * ns), 934 * ns);    // a hit: its command is just before the refresh
  EXPECT_EQ(memory.access(0, 64, false, 920 * ns), 1054 * ns);   // 4 ns of the burst before, then the row is opened
  EXPECT_EQ(memory.access(0, 64, false, 1890 * ns), 1925 * ns);  // a hit
  EXPECT_EQ(memory.access(64, 64, false, 2500 * ns), 2550 * ns);
  const part_counters c = memory.counters();
  EXPECT_EQ(c["row_hits"], 2u);
  EXPECT_EQ(c["row_closed"], 3u);
  EXPECT_EQ(c["refresh_wait_ps"], 80 * ns);
}

// Ranks take turns: the second of two is refreshed half an interval earlier.
TEST(MemoryBanks, RanksAreRefreshedInTurn) {
  memory_spec spec = two_banks();
  spec.rows.ranks = 2;
  spec.rows.trefi = 1000 * ns;
  spec.rows.trfc = 100 * ns;
  memory_controller memory{spec};
  EXPECT_EQ(memory.access(256, 64, false, 420 * ns), 550 * ns);  // the second rank's, from 400 to 500
  EXPECT_EQ(memory.access(0, 64, false, 420 * ns), 470 * ns);
  EXPECT_EQ(memory.access(0, 64, false, 950 * ns), 1050 * ns);
  EXPECT_EQ(memory.access(256, 64, false, 950 * ns), 985 * ns);
}

// A request from before a reservation takes the gap, and the row that the last call left.
TEST(MemoryBanks, ALateRequestFindsTheRowOfTheLastCall) {
  memory_controller memory{two_banks()};
  memory.access(0, 64, false, 1000 * ns);
  EXPECT_EQ(memory.access(64, 64, false, 900 * ns), 935 * ns);  // a hit, although the row opens at 1000
  EXPECT_EQ(memory.access(256, 64, false, 800 * ns), (800 + 10 + 12 + 50) * ns);  // tRAS counts from the bank's end
}

TEST(MemoryBanks, MappingsOfAddresses) {
  memory_spec spec = two_banks();
  spec.channels = 2;
  const auto place = [&](address_mapping mapping, std::uint64_t n) {
    spec.rows.mapping = mapping;
    return memory_banks{spec}.place_of(n);
  };
  using at = memory_banks::place;
  // Bursts of a channel: 0 2 4 6 8; a row has two. The second channel's banks are 2 and 3.
  EXPECT_EQ(place(address_mapping::row_bank_column, 0), (at{0, 0}));
  EXPECT_EQ(place(address_mapping::row_bank_column, 1), (at{2, 0}));
  EXPECT_EQ(place(address_mapping::row_bank_column, 2), (at{0, 0}));
  EXPECT_EQ(place(address_mapping::row_bank_column, 4), (at{1, 0}));
  EXPECT_EQ(place(address_mapping::row_bank_column, 8), (at{0, 1}));
  EXPECT_EQ(place(address_mapping::row_column_bank, 2), (at{1, 0}));
  EXPECT_EQ(place(address_mapping::row_column_bank, 4), (at{0, 0}));
  EXPECT_EQ(place(address_mapping::row_column_bank, 9), (at{2, 1}));
  EXPECT_EQ(place(address_mapping::permutation, 4), (at{1, 0}));
  EXPECT_EQ(place(address_mapping::permutation, 8), (at{1, 1}));
  EXPECT_EQ(place(address_mapping::permutation, 12), (at{0, 1}));
}

// Each burst of a memory has a place of its own within the rows.
TEST(MemoryBanks, EachMappingFillsTheRows) {
  for (const address_mapping mapping :
       {address_mapping::row_bank_column, address_mapping::row_column_bank, address_mapping::permutation}) {
    memory_spec spec = two_banks();
    spec.channels = 3;
    spec.rows.ranks = 2;
    spec.rows.banks = 4;
    spec.rows.row_bytes = 512;
    spec.rows.mapping = mapping;
    const memory_banks banks{spec};
    std::map<std::pair<std::size_t, std::uint64_t>, int> bursts;
    for (std::uint64_t n = 0; n < 3 * 8 * 8 * 5; ++n) {
      const memory_banks::place at = banks.place_of(n);
      ++bursts[{at.bank, at.row}];
    }
    EXPECT_EQ(bursts.size(), 3u * 8 * 5);
    for (const auto& [at, count] : bursts) EXPECT_EQ(count, 8) << at.first << " " << at.second;
  }
}

// The reference for requests in the order of time: it keeps all commands, and looks for each time at which something
// may begin, a nanosecond after the other.
class command_list {
 public:
  command_list(const memory_spec& of) : of_{of} {}

  time_ps access(std::uint64_t address, time_ps now) {
    const std::uint64_t n = address / of_.burst_bytes;
    const memory_banks::place at = memory_banks{of_}.place_of(n);
    const std::size_t rank = at.bank / of_.rows.banks % of_.rows.ranks;
    state& bank = banks_[at.bank];
    std::set<time_ps>& channel = channels_[n % of_.channels];
    time_ps t = std::max(now, bank.free);
    time_ps refreshed = 0;
    // Spends a time in which the rank is not refreshed.
    const auto skip_refresh = [&] {
      for (; is_refreshed(t, rank); t += ns) ++refreshed;
    };
    const auto spend = [&](time_ps length) {
      for (time_ps left = length; left > 0; left -= ns) {
        skip_refresh();
        t += ns;
      }
      skip_refresh();
    };
    skip_refresh();
    if (of_.rows.closes_rows || !bank.open || last_refresh(t, rank) > bank.used) {
      ++closed;
      bank.activated = t;
      spend(of_.rows.trcd);
    } else if (bank.row == at.row) {
      ++hits;
    } else {
      ++conflicts;
      while (running(bank.activated, t, rank) < of_.rows.tras) spend(ns);
      spend(of_.rows.trp);
      bank.activated = t;
      spend(of_.rows.trcd);
    }
    const time_ps ready = t;
    while (!is_free(channel, t)) t += ns;
    for (time_ps i = 0; i < of_.occupancy; i += ns) channel.insert(t + i);
    const time_ps done = t + of_.access_time - of_.rows.trcd;
    bank.used = t;
    bank.row = at.row;
    bank.open = !of_.rows.closes_rows;
    spend(of_.occupancy);
    if (of_.rows.closes_rows) {
      while (running(bank.activated, t, rank) < of_.rows.tras) spend(ns);
      spend(of_.rows.trp);
    }
    bank.free = t;
    waited_for_bus += t > ready ? 1 : 0;
    return done;
  }

  std::uint64_t hits = 0;
  std::uint64_t closed = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t waited_for_bus = 0;

 private:
  struct state {
    time_ps free = 0;
    time_ps activated = 0;
    time_ps used = 0;
    std::uint64_t row = 0;
    bool open = false;
  };
  [[nodiscard]] time_ps shifted(time_ps t, std::size_t rank) const {
    return t + of_.rows.trefi * rank / of_.rows.ranks;
  }
  [[nodiscard]] bool is_refreshed(time_ps t, std::size_t rank) const {
    return of_.rows.trefi > 0 && shifted(t, rank) % of_.rows.trefi >= of_.rows.trefi - of_.rows.trfc;
  }
  // Returns the begin of the last refresh; 0 if there was none.
  [[nodiscard]] time_ps last_refresh(time_ps t, std::size_t rank) const {
    if (of_.rows.trefi == 0) return 0;
    const time_ps intervals = shifted(t, rank) / of_.rows.trefi * of_.rows.trefi;
    const time_ps begin = intervals - std::min(intervals, of_.rows.trfc);
    return begin - std::min(begin, shifted(0, rank));
  }
  [[nodiscard]] time_ps running(time_ps from, time_ps until, std::size_t rank) const {
    time_ps sum = 0;
    for (; from < until; from += ns)
      if (!is_refreshed(from, rank)) sum += ns;
    return sum;
  }
  [[nodiscard]] bool is_free(const std::set<time_ps>& channel, time_ps t) const {
    const auto next = channel.lower_bound(t);
    return next == channel.end() || *next >= t + of_.occupancy;
  }

  memory_spec of_;
  std::map<std::size_t, state> banks_;
  std::map<std::uint64_t, std::set<time_ps>> channels_;  // times at which a channel is taken
};

TEST(MemoryBanks, RequestsInOrderAreThoseOfTheCommandList) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random{seed};
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  for (int machine = 0; machine < 60; ++machine) {
    memory_spec spec = two_banks();
    spec.channels = 1 + below(2);
    spec.occupancy = (1 + below(6)) * ns;
    spec.rows = {.ranks = 1 + below(2),
                 .banks = 1U << below(3),
                 .row_bytes = 64U << below(4),
                 .closes_rows = below(3) == 0,
                 .mapping = static_cast<address_mapping>(1 + below(3)),
                 .trcd = (5 + below(12)) * ns,
                 .trp = (5 + below(12)) * ns,
                 .tras = below(2) * 40 * ns};
    if (below(3) > 0) {
      spec.rows.trefi = 600 * ns;
      spec.rows.trfc = (1 + below(90)) * ns;
    }
    memory_controller memory{spec};
    command_list reference{spec};
    time_ps now = 0;
    for (int i = 0; i < 300; ++i) {
      now += below(4) == 0 ? below(300) * ns : below(20) * ns;
      const std::uint64_t address = 64 * (below(2) == 0 ? below(16) : below(400));
      ASSERT_EQ(memory.access(address, 64, below(2) == 0, now), reference.access(address, now))
          << "machine " << machine << ", access " << i;
    }
    const part_counters c = memory.counters();
    EXPECT_EQ(c["row_hits"], reference.hits);
    EXPECT_EQ(c["row_closed"], reference.closed);
    EXPECT_EQ(c["row_conflicts"], reference.conflicts);
    EXPECT_EQ(c["too_late"], 0u);
  }
}

std::string machine_with(const std::string& keys) {
  return R"(name = "small"
[[node]]
id = "ddr"
kind = "memory"
size = "1 GiB"
latency = "91 ns"
bandwidth = "12800 MB/s"
)" + keys +
         one_core("128 B", 2);
}

const std::string all_keys =
    "banks = 4\nrow_bytes = 1024\ntRCD = \"14 ns\"\ntRP = \"13 ns\"\ntRAS = \"32 ns\"\ntREFI = \"7.8 us\"\ntRFC = "
    "\"350 "
    "ns\"\n";

TEST(MemoryBanks, AMachineFileHasThem) {
  modelled_machine machine{parse_machine(machine_with(all_keys), "small.toml")};
  machine.map_range(0, 1 << 30, 0);
  EXPECT_EQ(machine.access(0, 0, 8, access_kind::read, 1000 * ns), 1091 * ns);
  EXPECT_EQ(machine.access(0, 64, 8, access_kind::read, 2000 * ns), 2077 * ns);
  EXPECT_EQ(machine.access(0, 4096, 8, access_kind::read, 3000 * ns), 3104 * ns);
  const std::vector<part_counters> all = machine.counters();
  const auto dram = std::ranges::find(all, "dram 0", &part_counters::part);
  ASSERT_NE(dram, all.end());
  EXPECT_EQ((*dram)["row_conflicts"], 1u);
}

TEST(MemoryBanks, WrongKeysAreNamed) {
  const auto broken = [](std::string keys) {
    try {
      (void)parse_machine(machine_with(keys), "small.toml");
    } catch (const error& bad) {
      EXPECT_EQ(bad.code(), errc::bad_file);
      return std::string{bad.message()};
    }
    ADD_FAILURE() << "no error for " << keys;
    return std::string{};
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string keys = all_keys;
    return broken(keys.replace(keys.find(from), from.size(), to));
  };
  EXPECT_THAT(changed("banks = 4\n", ""), HasSubstr("small.toml:2: "));
  EXPECT_THAT(changed("banks = 4\n", ""), HasSubstr("write banks = as well"));
  EXPECT_THAT(changed("banks = 4", "banks = 40000"), HasSubstr("4096 of all ranks at most"));
  EXPECT_THAT(changed("1024", "1000"), HasSubstr("row_bytes = 1000 is no multiple of burst_bytes = 64"));
  EXPECT_THAT(changed("row_bytes = 1024\n", ""), HasSubstr("needs row_bytes, tRCD and tRP"));
  EXPECT_THAT(changed("14 ns", "90 ns"), HasSubstr("tRCD = 90 ns is not below 90 ns"));
  EXPECT_THAT(changed("32 ns", "13 ns"), HasSubstr("tRAS is below tRCD"));
  EXPECT_THAT(changed("tRFC = \"350 ns\"\n", ""), HasSubstr("write both"));
  EXPECT_THAT(changed("7.8 us", "350 ns"), HasSubstr("tRFC is not below tREFI"));
  EXPECT_THAT(broken(all_keys + "ranks = 3\naddress_mapping = \"permutation\"\n"), HasSubstr("not 12"));
  EXPECT_THAT(broken(all_keys + "page_policy = \"adaptive\"\n"), HasSubstr("\"adaptive\" is not known"));
  std::string text = machine_with("");
  text.replace(text.find("level = 1"), 9, "level = 1\nbanks = 4");
  try {
    (void)parse_machine(text, "small.toml");
    ADD_FAILURE() << "no error for banks of an L1";
  } catch (const error& bad) {
    EXPECT_THAT(std::string{bad.message()}, HasSubstr("small.toml:12: node[1].banks: belongs to a memory"));
  }
}

}  // namespace
}  // namespace situ::model
