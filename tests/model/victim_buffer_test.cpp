// Victim buffers behind caches: by hand, and against lists of lines of two cores.
#include <situ/base/error.h>

#include "model/parts/machine_spec.h"
#include "model/parts/modelled_machine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace situ::model {
namespace {

using testing::HasSubstr;

constexpr time_ps ns = 1000;
constexpr std::uint64_t line_bytes = 64;

struct shape {
  std::uint32_t cores = 1;
  std::uint32_t l1_lines = 4;  // direct mapped
  std::uint32_t l2_lines = 4096;
  std::string of_l1;
  std::string of_l2;
  std::string of_core;
  std::string policy = "write_back";
};

// An L1 takes 1 ns, the L2 of all cores 10, memory 110.
std::string text_of(const shape& of) {
  return fmt::format(R"(name = "two levels"
[[node]]
id = "ddr"
kind = "memory"
size = "1 GiB"
latency = "110 ns"
bandwidth = "64 GB/s"
[[node]]
id = "l2"
kind = "cache"
level = 2
size = "{} B"
ways = 4
line_bytes = 64
latency = "10 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
{}
[[node]]
id = "l1"
in = "l2"
kind = "cache"
cache = "data"
level = 1
count = {}
size = "{} B"
ways = 1
line_bytes = 64
latency = "1 ns"
write_policy = "{}"
allocates_on = "reads"
{}
[[node]]
id = "core"
in = "l1"
kind = "core"
clock = "1 GHz"
cycles = {{ integer = 1, multiply = 1, divide = 1, floating = 1, branch = 1, call = 1 }}
{}
)",
                     of.l2_lines * line_bytes, of.of_l2, of.cores, of.l1_lines * line_bytes, of.policy, of.of_l1,
                     of.of_core);
}

class two_levels {
 public:
  explicit two_levels(const shape& of) : machine_{parse_machine(text_of(of), "two.toml")} {
    machine_.map_range(0, 1 << 30, 0);
  }
  // Accesses are far apart. Returns what one takes, in ns.
  std::uint64_t access(std::uint32_t core, std::uint64_t line, access_kind kind = access_kind::read) {
    now_ += 1000 * ns;
    return (machine_.access(core, line * line_bytes, 8, kind, now_) - now_) / ns;
  }
  std::uint64_t count(std::string_view part, std::string_view counter) const {
    for (const part_counters& each : machine_.counters())
      if (each.part == part) return each[counter];
    ADD_FAILURE() << "no part " << part;
    return 0;
  }
  modelled_machine& machine() { return machine_; }
  time_ps later() { return now_ += 1000 * ns; }

 private:
  modelled_machine machine_;
  time_ps now_ = 0;
};

// A line that has left the second of three caches for its buffer before it is there: the second core waits for it. That
// cache has one set of four ways, and both cores ask within the 110 ns of the memory.
TEST(VictimBuffer, BehindASecondLevelWaitsForALineOnItsWay) {
  std::string text = text_of({.cores = 2,
                              .l1_lines = 1,
                              .l2_lines = 4,
                              .of_l2 = "in = \"l3\"\nvictim_lines = 4\noutstanding = 8\n",
                              .of_core = "window = 100\nstore_buffer = 8\n"});
  text.insert(text.find("[[node]]\nid = \"l2\""), R"([[node]]
id = "l3"
kind = "cache"
level = 3
size = "64 KiB"
ways = 4
line_bytes = 64
latency = "20 ns"
write_policy = "write_back"
allocates_on = "reads_and_writes"
)");
  modelled_machine machine{parse_machine(text, "three.toml")};
  machine.map_range(0, 1 << 30, 0);
  const time_ps begin = 1000 * ns, asked = begin + 20 * ns;
  for (std::uint64_t line = 0; line < 5; ++line)  // line 0 leaves the L2 for line 4
    machine.access_ahead(0, {.address = line * line_bytes, .bytes = 8, .instruction = line}, begin);
  machine.access_ahead(1, {.address = 0, .bytes = 8, .instruction = 0}, asked);
  for (const part_counters& each : machine.counters())
    if (each.part == "L2 0") {
      EXPECT_EQ(each["victim_hits"], 1u);
    }
  const time_ps there = machine.wait_for_all(1, asked);
  EXPECT_GE(there, begin + 110 * ns) << "the line is there when memory has answered";
  EXPECT_LE(there, begin + 115 * ns);
}

// The reads of a page walk that find their entry in a buffer are told apart from the program's.
TEST(VictimBuffer, CountsTheHitsOfWalks) {
  two_levels with{{.l1_lines = 1,
                   .of_l1 = "victim_lines = 8",
                   .of_core = "dtlb = { entries = 1, ways = 1, page = \"4 KiB\" }\npage_walks = \"through_caches\"\n"}};
  with.access(0, 0);
  for (int i = 0; i < 3; ++i) {
    with.access(0, 64);  // another page: its four entries are in the buffer
    with.access(0, 0);
  }
  EXPECT_EQ(with.count("L1d 0", "victim_walk_hits"), 24u);
  EXPECT_EQ(with.count("L1d 0", "walk_misses"), 28u);
  EXPECT_EQ(with.count("L1d 0", "victim_hits"), 6u - 1);
}

// Two lines of one set that alternate (Jouppi, section 3.2): all but the first misses of both hit the buffer.
TEST(VictimBuffer, ReturnsLinesThatConflict) {
  two_levels with{{.of_l1 = "victim_lines = 1"}};
  EXPECT_EQ(with.access(0, 0), 110u);
  EXPECT_EQ(with.access(0, 4), 110u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(with.access(0, 0), 2u);
    EXPECT_EQ(with.access(0, 0), 1u);
    EXPECT_EQ(with.access(0, 4), 2u);
  }
  EXPECT_EQ(with.count("L1d 0", "victim_hits"), 8u);
  EXPECT_EQ(with.count("L1d 0", "misses"), 10u);
  EXPECT_EQ(with.count("L1d 0", "evictions"), 0u);
  EXPECT_EQ(with.count("L2 0", "misses"), 2u);
  EXPECT_EQ(with.count("L2 0", "hits"), 0u);
  EXPECT_EQ(with.access(0, 8), 110u);  // line 0 leaves the buffer
  EXPECT_EQ(with.count("L1d 0", "evictions"), 1u);
  EXPECT_EQ(with.access(0, 0), 10u);
  for (const part_counters& each : with.machine().counters()) EXPECT_EQ(each.part.find("victim"), std::string::npos);

  two_levels without{{}};
  without.access(0, 0);
  without.access(0, 4);
  EXPECT_EQ(without.access(0, 0), 10u);
}

// A dirty line in the buffer: it is returned dirty, supplied to another core, and written back.
TEST(VictimBuffer, DirtyLinesStayCoherent) {
  two_levels machine{{.cores = 2, .of_l1 = "victim_lines = 2"}};
  machine.access(0, 0, access_kind::write);
  machine.access(0, 4);                  // line 0 is in the buffer, dirty
  EXPECT_EQ(machine.access(1, 0), 12u);  // supplied: the L2's time and the buffer's
  EXPECT_EQ(machine.access(0, 0), 2u);   // still there, clean
  machine.access(0, 4);
  EXPECT_EQ(machine.access(1, 0, access_kind::write), 1u);  // an upgrade: the buffer loses the line
  EXPECT_EQ(machine.count("L1d 0", "invalidations"), 1u);
  EXPECT_EQ(machine.access(0, 0), 11u);
  EXPECT_EQ(machine.machine().sharing(0).coherence_misses, 1u);
  EXPECT_EQ(machine.machine().sharing(1).upgrades, 1u);
}

TEST(VictimBuffer, RangeOperationsReachIt) {
  const auto with_dirty_victim = [] {
    two_levels machine{{.of_l1 = "victim_lines = 2"}};
    machine.access(0, 0, access_kind::write);
    machine.access(0, 4);
    return machine;
  };
  two_levels written = with_dirty_victim();
  written.machine().write_back(0, 0, 64, written.later());
  EXPECT_EQ(written.count("dram 0", "writes"), 1u);
  EXPECT_EQ(written.access(0, 0), 2u);  // it stays, clean
  written.machine().flush(0, 0, 1024, written.later());
  EXPECT_EQ(written.count("dram 0", "writes"), 1u);

  two_levels flushed = with_dirty_victim();
  flushed.machine().flush(0, 0, 64, flushed.later());
  EXPECT_EQ(flushed.count("dram 0", "writes"), 1u);
  EXPECT_EQ(flushed.access(0, 0), 110u);

  two_levels dropped = with_dirty_victim();
  dropped.machine().invalidate(0, 0, 64, dropped.later());
  EXPECT_EQ(dropped.count("dram 0", "writes"), 0u);
  EXPECT_EQ(dropped.access(0, 0), 110u);
}

// With an inclusive L2 of four lines, what it evicts leaves the buffer, too.
TEST(VictimBuffer, AnInclusiveCacheTakesItsLines) {
  two_levels machine{{.l2_lines = 4, .of_l1 = "victim_lines = 4", .of_l2 = "inclusion = \"inclusive\""}};
  machine.access(0, 0, access_kind::write);
  for (const std::uint64_t line : {4, 8, 12}) machine.access(0, line);
  EXPECT_EQ(machine.access(0, 0), 2u);
  EXPECT_EQ(machine.access(0, 16), 110u);  // line 0 leaves the L2, and the L1: its last use there is the oldest
  EXPECT_EQ(machine.count("dram 0", "writes"), 1u);
  EXPECT_EQ(machine.access(0, 0), 110u);
}

// A line that returns from an exclusive L2 leaves it, past the buffer; a victim of the buffer enters the L2.
TEST(VictimBuffer, AnExclusiveCacheIsBehindIt) {
  two_levels machine{{.of_l1 = "victim_lines = 1", .of_l2 = "inclusion = \"exclusive\""}};
  for (const std::uint64_t line : {0, 4, 8}) EXPECT_EQ(machine.access(0, line), 110u);
  EXPECT_EQ(machine.access(0, 0), 10u);  // from the L2; line 4 enters it
  machine.machine().reset_counters();
  EXPECT_EQ(machine.access(0, 4), 10u);
  EXPECT_EQ(machine.access(0, 0), 2u);
  EXPECT_EQ(machine.count("L2 0", "hits"), 1u);

  // One line in the L1, one in the buffer, four in the L2: none twice.
  two_levels small{{.l2_lines = 4, .of_l1 = "victim_lines = 1", .of_l2 = "inclusion = \"exclusive\""}};
  for (int i = 0; i < 3; ++i)
    for (const std::uint64_t line : {0, 4, 8, 12, 16, 20}) small.access(0, line);
  EXPECT_EQ(small.count("dram 0", "reads"), 6u);
}

// A cache that writes through passes writes on, whether its line is in the buffer or not.
TEST(VictimBuffer, BehindACacheThatWritesThrough) {
  two_levels machine{{.cores = 2, .of_l1 = "victim_lines = 1", .policy = "write_through"}};
  machine.access(0, 0);
  machine.access(0, 4);
  EXPECT_EQ(machine.access(0, 0, access_kind::write), 1u);  // in the buffer, and written into the L2
  EXPECT_EQ(machine.count("L2 0", "hits"), 1u);
  EXPECT_EQ(machine.count("L1d 0", "victim_hits"), 0u);
  EXPECT_EQ(machine.access(0, 0), 2u);
  EXPECT_EQ(machine.count("L1d 0", "victim_hits"), 1u);
  machine.access(0, 4);
  machine.access(1, 0, access_kind::write);
  EXPECT_EQ(machine.access(0, 0), 10u);  // lost to the other core's write
}

// A cache with miss registers: a line that leaves it while it is on its way is not there before it arrives.
TEST(VictimBuffer, AVictimMayBeOnItsWay) {
  two_levels machine{{.of_l1 = "victim_lines = 1\noutstanding = 1", .of_core = "window = 64"}};
  modelled_machine& of = machine.machine();
  const auto read = [&](std::uint64_t line, time_ps now) {
    return of.access(0, line * line_bytes, 8, access_kind::read, now);
  };
  EXPECT_EQ(read(0, 0), 110 * ns);
  EXPECT_EQ(read(4, 50 * ns), 220 * ns);  // there is one register; line 4 takes the place of line 0 at once
  EXPECT_EQ(read(0, 60 * ns), 110 * ns);  // a hit, which needs no register
  EXPECT_EQ(read(4, 300 * ns), 302 * ns);
  EXPECT_EQ(machine.count("L1d 0", "victim_hits"), 2u);
  EXPECT_EQ(machine.count("dram 0", "reads"), 2u);
}

// The reference: of each core the lines of its L1 by set, and a list of victims, the last one first. The L2 holds all
// lines that were ever fetched.
class lists {
 public:
  lists(std::uint32_t cores, std::uint64_t sets, std::size_t victims) : of_(cores), sets_{sets}, victims_{victims} {}

  std::uint64_t read(std::uint32_t core, std::uint64_t line) {
    near& own = of_[core];
    if (own.l1.contains(line % sets_) && own.l1[line % sets_].line == line) {
      ++own.hits;
      return 1;
    }
    return fetch(core, line, false);
  }
  void write(std::uint32_t core, std::uint64_t line) {
    near& own = of_[core];
    if (own.l1.contains(line % sets_) && own.l1[line % sets_].line == line) {
      ++own.hits;
      if (!own.l1[line % sets_].writable) ask(core, line, true);
      own.l1[line % sets_] = {line, true, true};
      return;
    }
    fetch(core, line, true);
  }

  struct held {
    std::uint64_t line = 0;
    bool dirty = false;
    bool writable = false;
  };
  struct near {
    std::map<std::uint64_t, held> l1;
    std::list<held> victims;
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t victim_hits = 0;
    std::uint64_t evictions = 0;
    std::uint64_t write_backs = 0;
    std::uint64_t invalidations = 0;
  };
  [[nodiscard]] const near& of(std::uint32_t core) const { return of_[core]; }

 private:
  struct answer {
    bool any = false;
    std::uint64_t dirty_time = 0;
  };
  answer ask(std::uint32_t core, std::uint64_t line, bool to_own) {
    answer found;
    for (std::uint32_t other = 0; other < of_.size(); ++other) {
      near& peer = of_[other];
      if (other == core) continue;
      const auto see = [&](held& at, std::uint64_t time) {
        found.any = true;
        if (at.dirty) found.dirty_time = time;
        if (to_own) ++peer.invalidations;
        at = {line, false, false};
      };
      const auto at = peer.l1.find(line % sets_);
      if (at != peer.l1.end() && at->second.line == line) {
        see(at->second, 1);
        if (to_own) peer.l1.erase(at);
      }
      const auto victim = std::ranges::find(peer.victims, line, &held::line);
      if (victim != peer.victims.end()) {
        see(*victim, 2);
        if (to_own) peer.victims.erase(victim);
      }
    }
    return found;
  }
  std::uint64_t fetch(std::uint32_t core, std::uint64_t line, bool to_own) {
    near& own = of_[core];
    ++own.misses;
    const answer others = ask(core, line, to_own);
    held made{line, to_own || others.dirty_time > 0, to_own || !others.any};
    std::uint64_t takes = fetched_.insert(line).second ? 110 : 10 + others.dirty_time;
    const auto victim = std::ranges::find(own.victims, line, &held::line);
    if (victim != own.victims.end()) {
      takes = 2;
      ++own.victim_hits;
      made.dirty |= victim->dirty;
      own.victims.erase(victim);
    }
    const auto place = own.l1.find(line % sets_);
    if (place != own.l1.end()) {
      own.victims.push_front({place->second.line, place->second.dirty, true});
      if (own.victims.size() > victims_) {
        ++own.evictions;
        own.write_backs += own.victims.back().dirty ? 1 : 0;
        own.victims.pop_back();
      }
    }
    own.l1[line % sets_] = made;
    return takes;
  }

  std::vector<near> of_;
  std::uint64_t sets_;
  std::size_t victims_;
  std::set<std::uint64_t> fetched_;
};

TEST(VictimBuffer, HoldsTheLinesOfTheLists) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random{seed};
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  for (std::uint32_t run = 0; run < 24; ++run) {
    const std::uint32_t cores = 1 + below(3);
    const std::uint32_t victims = 1 + below(5);
    two_levels machine{{.cores = cores, .of_l1 = fmt::format("victim_lines = {}", victims)}};
    lists reference{cores, 4, victims};
    for (int i = 0; i < 2000; ++i) {
      const std::uint32_t core = below(cores);
      const std::uint64_t line = below(24);
      if (below(3) == 0) {
        machine.access(core, line, access_kind::write);
        reference.write(core, line);
      } else {
        ASSERT_EQ(machine.access(core, line), reference.read(core, line)) << "run " << run << ", access " << i;
      }
    }
    for (std::uint32_t core = 0; core < cores; ++core) {
      const std::string l1 = fmt::format("L1d {}", core);
      EXPECT_EQ(machine.count(l1, "hits"), reference.of(core).hits);
      EXPECT_EQ(machine.count(l1, "misses"), reference.of(core).misses);
      EXPECT_EQ(machine.count(l1, "victim_hits"), reference.of(core).victim_hits);
      EXPECT_EQ(machine.count(l1, "evictions"), reference.of(core).evictions);
      EXPECT_EQ(machine.count(l1, "write_backs"), reference.of(core).write_backs);
      EXPECT_EQ(machine.count(l1, "invalidations"), reference.of(core).invalidations);
    }
  }
}

TEST(VictimBuffer, WrongKeysAreNamed) {
  const auto broken = [](const shape& of) {
    try {
      (void)parse_machine(text_of(of), "two.toml");
    } catch (const error& bad) {
      EXPECT_EQ(bad.code(), errc::bad_file);
      return std::string{bad.message()};
    }
    ADD_FAILURE() << "no error";
    return std::string{};
  };
  EXPECT_THAT(broken({.of_l2 = "victim_lines = 4"}),
              HasSubstr("two.toml:8: node[1]: L2 0: a victim buffer is between"));
  EXPECT_THAT(broken({.of_l1 = "victim_lines = 1000"}), HasSubstr("write 256 at most"));
  EXPECT_THAT(broken({.of_core = "victim_lines = 4"}), HasSubstr("does not belong to kind = \"core\""));
}

constexpr const char* prefetching = "victim_lines = 2\noutstanding = 4\nprefetch_streams = 4\nprefetch_lines = 2";

// The buffers are no parts of their own, so the counters of prefetches are those of the cache with that name.
TEST(VictimBuffer, PrefetchesAreCountedAtTheirCache) {
  modelled_machine machine{parse_machine(text_of({.cores = 2, .of_l1 = prefetching}), "two.toml")};
  machine.map_range(0, 1 << 20, 0);
  time_ps now = 0;
  for (std::uint64_t line = 0; line < 40; ++line) now = machine.access(1, line * line_bytes, 8, access_kind::read, now);
  std::vector<part_counters> parts = machine.counters();
  const std::vector<part_counters> before = parts;
  machine.add_prefetched(parts);
  std::vector<std::string> longer;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].values.size() != before[i].values.size()) longer.push_back(parts[i].part);
  EXPECT_EQ(longer, (std::vector<std::string>{"L1d 0", "L1d 1"}));
  for (const part_counters& part : parts)
    if (part.part == "L1d 1") {
      EXPECT_GT(part["prefetches_useful"] + part["prefetches_late"], 0u);
    }
}

// An entry of a page table that comes back from the buffer belongs to no stream.
TEST(VictimBuffer, WalksTrainNoPrefetcher) {
  modelled_machine machine{parse_machine(
      text_of({.of_l1 = "victim_lines = 16\noutstanding = 4\nprefetch_streams = 16\nprefetch_lines = 2",
               .of_core = "dtlb = { entries = 1, ways = 1, page = \"4 KiB\" }\npage_walks = \"through_caches\""}),
      "two.toml")};
  machine.map_range(0, std::uint64_t{1} << 30, 0);
  time_ps now = 0;
  for (std::uint64_t i = 0; i < 4000; ++i)  // no stream: each page once, at lines that jump about
    now = machine.access(0, i * 4096 + i * 2654435761 % 4096 / 64 * line_bytes, 8, access_kind::read, now);
  for (const part_counters& part : machine.counters())
    if (part.part == "L1d 0") {
      EXPECT_EQ(part["prefetches"], 0u);
    }
}

}  // namespace
}  // namespace situ::model
