// What administrators write about orderings, and what happens to it.
#include <situ/base/error.h>
#include <situ/machine/discover.h>
#include <situ/machine/ordering.h>
#include <situ/machine/orderings.h>
#include <situ/machine/toml.h>

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <string>

#include "support/build_paths.h"

namespace {

namespace machine = situ::machine;
using machine::orderings;
using machine::processor_set;
using situ::errc;
using situ::intent;

// Two packages, each with DRAM (nodes 0 and 1) and HBM (2 and 3).
machine::tree four_memories() {
  return machine::read_toml(
      (std::filesystem::path{SITU_TEST_SOURCE_DIR}.parent_path() / "machines/xeon-max-9480-flat.toml").string());
}

std::string seen_from(const orderings& all, const intent& what, const char* processors) {
  return to_text(all.find(what, processor_set::parse(processors)));
}

// The message of the error that a text gives.
std::string refusal(const std::string& text) {
  orderings all{four_memories()};
  try {
    all.parse(text, "o.toml");
  } catch (const situ::error& bad) {
    EXPECT_EQ(bad.code(), errc::bad_file);
    return std::string{bad.message()};
  }
  return "none";
}

TEST(intent, has_a_name_and_goes_the_way_of_another) {
  constexpr intent checkpoint{"checkpoint", intent::capacity};
  static_assert(checkpoint.name() == "checkpoint");
  static_assert(checkpoint.decided_by() == intent::criterion::capacity);
  static_assert(intent{"mine"}.decided_by() == intent::criterion::normal);
  static_assert(intent{"bandwidth"} == intent::bandwidth && !(intent::latency == intent::bandwidth));
  EXPECT_EQ(std::string{intent{std::string(intent::max_name, 'x')}.name()}, std::string(31, 'x'));
  for (const char* bad : {"", "Bandwidth", "9", "-a", "a b", "a.b", "12345678901234567890123456789012"})
    EXPECT_THROW((void)intent{bad}, situ::error) << bad;
}

TEST(orderings, without_files_the_tree_decides) {
  const orderings all{four_memories()};
  EXPECT_EQ(seen_from(all, intent::bandwidth, "0"), "hbm 1 > dram 0 > hbm 3 > dram 2");
  EXPECT_EQ(all.find(intent::bandwidth, processor_set::parse("0")).source,
            "kinds and nearness: no bandwidth of dram 2 is known");
  EXPECT_EQ(all.find(intent::capacity, processor_set::parse("0")).source, "sizes");
  EXPECT_EQ(seen_from(all, intent{"checkpoint", intent::capacity}, "0"), seen_from(all, intent::capacity, "0"));
  EXPECT_EQ(all.intents().size(), std::size(situ::intents_everywhere));
  EXPECT_TRUE(all.complaints().empty());
}

TEST(orderings, a_file_wins_and_the_last_entry_that_fits_counts) {
  orderings all{four_memories()};
  all.parse(R"(
[[ordering]]
intent = "bandwidth"
memories = "3, 2, 1, 0"
[[ordering]]
intent = "bandwidth"
from = "0"
memories = "2,0"
fill = 75
no_room = "last"
)",
            "system.toml");
  EXPECT_EQ(seen_from(all, intent::bandwidth, "0"), "hbm 1 > dram 0");
  EXPECT_EQ(seen_from(all, intent::bandwidth, "112"), "hbm 3 > hbm 1 > dram 2 > dram 0") << "the second package";
  EXPECT_EQ(seen_from(all, intent::bandwidth, "0,112"), "hbm 3 > hbm 1 > dram 2 > dram 0") << "not only node 0's";
  EXPECT_EQ(seen_from(all, intent::latency, "0"), "dram 0 > hbm 1 > dram 2 > hbm 3") << "not ordered by the file";
  const machine::memory_order order = all.find(intent::bandwidth, processor_set::parse("3"));
  EXPECT_DOUBLE_EQ(order.fill, 0.75);
  EXPECT_EQ(order.when_full, machine::no_room::last);
  EXPECT_EQ(order.source, "system.toml:5: ordering[1]");
  EXPECT_EQ(all.find(intent::bandwidth, processor_set::parse("112")).when_full, machine::no_room::error);
  all.parse("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"1\"\n", "run.toml");
  EXPECT_EQ(seen_from(all, intent::bandwidth, "0"), "dram 2") << "read later";
}

TEST(orderings, a_thread_that_is_not_bound_sees_memories_from_where_it_runs) {
  const machine::tree t = four_memories();
  const auto seen = [&](const char* allowed, std::uint32_t now) {
    return machine::seen_from(t, processor_set::parse(allowed), now).to_string();
  };
  EXPECT_EQ(seen("0-3", 1), "0-3") << "one memory is local to all";
  const processor_set everywhere = t.root().processors;
  const orderings all{four_memories()};
  EXPECT_EQ(to_text(all.find(intent::bandwidth, machine::seen_from(t, everywhere, 0))),
            seen_from(all, intent::bandwidth, "0"));
  const std::uint32_t far = t.at(t.memory(1)).processors.members().front();
  EXPECT_EQ(to_text(all.find(intent::bandwidth, machine::seen_from(t, everywhere, far))),
            "hbm 3 > dram 2 > hbm 1 > dram 0");
  EXPECT_EQ(machine::seen_from(t, everywhere, 100000).to_string(), everywhere.to_string())
      << "nobody knows where it runs";
}

TEST(orderings, a_thread_that_is_bound_sees_them_from_there) {
  const orderings here{machine::discover({.devices = false})};
  const processor_set allowed = processor_set::of_this_thread();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(allowed.members().back(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(to_text(here.find_here(intent::capacity)),
            to_text(here.find(intent::capacity, processor_set::of_this_thread())));
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const std::uint32_t each : allowed.members()) CPU_SET(each, &all);
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  EXPECT_FALSE(here.find_here(intent::capacity).steps.empty());
}

TEST(orderings, memories_take_turns_by_weight_and_have_names_and_budgets) {
  orderings all{four_memories()};
  all.parse(R"(
[[memory]]
name = "fast"
node = 0
budget = "256 MiB"
[[ordering]]
intent = "checkpoint"
memories = " fast*3 + hbm 1 ,dram 2"
)",
            "o.toml");
  const machine::memory_order order = all.find(intent{"checkpoint"}, processor_set::parse("0"));
  EXPECT_EQ(to_text(order), "fast*3 + hbm 1 > dram 2");
  ASSERT_EQ(order.steps.size(), 2u);
  EXPECT_EQ(order.steps[0][0], (machine::ordered_memory{"fast", 0, std::uint64_t{256} << 20, 3}));
  EXPECT_EQ(order.steps[0][1], (machine::ordered_memory{"hbm 1", 2, 0, 1}));
  EXPECT_EQ(order.steps[1][0].node, 1u);
  EXPECT_EQ(all.intents().back().name(), "checkpoint");
}

TEST(orderings, an_entry_for_another_machine_is_left_out_with_a_sentence) {
  orderings all{four_memories()};
  all.parse(R"(
[[memory]]
name = "far"
node = 9
[[ordering]]
intent = "bandwidth"
memories = "2, 0"
[[ordering]]
intent = "bandwidth"
memories = "7, 2, 0"
[[ordering]]
intent = "latency"
memories = "far, 0"
[[ordering]]
intent = "capacity"
from = "0,12"
memories = "0"
)",
            "o.toml");
  EXPECT_EQ(seen_from(all, intent::bandwidth, "0"), "hbm 1 > dram 0") << "the entry before";
  EXPECT_EQ(seen_from(all, intent::latency, "0"), "dram 0 > hbm 1 > dram 2 > hbm 3") << "the tree";
  ASSERT_EQ(all.complaints().size(), 4u);
  EXPECT_EQ(all.complaints()[0], "o.toml:4: memory[0].node: there is no memory 9 here, so \"far\" is not used");
  EXPECT_EQ(all.complaints()[1],
            "o.toml:10: ordering[1].memories: there is no memory \"7\" here; there are 0 (\"dram 0\"), 2 (\"hbm 1\"), "
            "1 (\"dram 2\"), 3 (\"hbm 3\")");
  EXPECT_EQ(all.complaints()[3], "o.toml:16: ordering[3].from: there is no node 12 here; this ordering is not used");
}

TEST(orderings, what_cannot_be_meant_is_refused_with_its_line) {
  const std::string entry = "[[ordering]]\nintent = \"bandwidth\"\n";
  EXPECT_EQ(refusal(entry + "memories = \"0, 0\"\n"), "o.toml:3: ordering[0].memories: \"dram 0\" stands there twice");
  EXPECT_NE(refusal(entry + "memories = \"0*0\"\n").find("is no memory; write nodes or names"), std::string::npos);
  EXPECT_NE(refusal(entry + "memories = \"\"\n").find("is no memory"), std::string::npos);
  EXPECT_NE(refusal(entry + "memories = \"0,,1\"\n").find("is no memory"), std::string::npos);
  EXPECT_NE(refusal(entry + "memories = \"0*3*4\"\n").find("is no memory"), std::string::npos);
  EXPECT_NE(refusal(entry).find("memories: missing"), std::string::npos);
  EXPECT_NE(refusal(entry + "memories = \"0\"\nfill = 0\n").find("percent"), std::string::npos);
  EXPECT_NE(refusal(entry + "memories = \"0\"\nfill = 101\n").find("percent"), std::string::npos);
  EXPECT_NE(refusal(entry + "memories = \"0\"\nno_room = \"kill\"\n").find("write \"error\""), std::string::npos);
  EXPECT_NE(refusal(entry + "memories = \"0\"\nfrom = \"a\"\n").find("NUMA nodes"), std::string::npos);
  EXPECT_NE(refusal(entry + "memories = \"0\"\nfrom = \"\"\n").find("no node stands there"), std::string::npos);
  EXPECT_NE(refusal(entry + "memory = \"0\"\n").find("memories"), std::string::npos) << "the nearest key is named";
  EXPECT_NE(refusal("[[ordering]]\nintent = \"Fast\"\nmemories = \"0\"\n").find("small letters"), std::string::npos);
  EXPECT_NE(refusal("[[memory]]\nname = \"7\"\nnode = 0\n").find("no number"), std::string::npos);
  EXPECT_NE(refusal("[[memory]]\nname = \"a\"\nnode = 0\nbudget = \"0 B\"\n").find("hold nothing"), std::string::npos);
}

TEST(orderings, figures_that_no_memory_has_are_not_used) {
  // Node 1's latency (in ns) and bandwidth (in MB/s) are exchanged, as firmware has been seen to do.
  const char* const text = R"(
name = "firmware"
[[node]]
id = "dram"
kind = "memory"
[[node]]
id = "hbm"
kind = "memory"
memory = "hbm"
[[node]]
id = "core"
kind = "core"
[[path]]
from = "machine"
to = "dram"
latency = "90 ns"
bandwidth = "100 GB/s"
[[path]]
from = "machine"
to = "hbm"
latency = "{}"
bandwidth = "{}"
)";
  const auto with = [&](std::string latency, std::string bandwidth) {
    std::string filled = text;
    filled.replace(filled.find("{}"), 2, latency);
    filled.replace(filled.find("{}"), 2, bandwidth);
    return orderings{machine::parse_toml(filled, "m.toml")};
  };
  const orderings good = with("110 ns", "50 GB/s");
  EXPECT_TRUE(good.complaints().empty());
  EXPECT_EQ(seen_from(good, intent::bandwidth, "0"), "dram 0 > hbm 1") << "by figures";
  const orderings exchanged = with("409600 ns", "110 MB/s");
  ASSERT_EQ(exchanged.complaints().size(), 1u);
  EXPECT_NE(exchanged.complaints()[0].find("latency and bandwidth look exchanged"), std::string::npos)
      << exchanged.complaints()[0];
  EXPECT_EQ(seen_from(exchanged, intent::bandwidth, "0"), "hbm 1 > dram 0") << "by kind: no figure of hbm 1 is known";
  EXPECT_EQ(exchanged.find(intent::latency, processor_set::parse("0")).source,
            "kinds and nearness: no latency of hbm 1 is known");
  EXPECT_TRUE(with("1800 ns", "400 MB/s").complaints().empty()) << "a prototype's memory";
  EXPECT_EQ(with("40960 ns", "350 MB/s").complaints().size(), 1u);
  const orderings slow = with("110 ns", "1 MB/s");
  ASSERT_EQ(slow.complaints().size(), 1u);
  EXPECT_NE(slow.complaints()[0].find("hbm 1 seen from machine: 1 MB/s is no figure of memory"), std::string::npos)
      << slow.complaints()[0];
}

TEST(orderings, writing_has_an_ordering_of_its_own) {
  const orderings all{machine::parse_toml(R"(
name = "optane"
[[node]]
id = "dram"
kind = "memory"
[[node]]
id = "pmem"
kind = "memory"
memory = "persistent"
[[node]]
id = "core"
kind = "core"
[[path]]
from = "machine"
to = "dram"
read_bandwidth = "30 GB/s"
write_bandwidth = "30 GB/s"
[[path]]
from = "machine"
to = "pmem"
read_bandwidth = "39 GB/s"
write_bandwidth = "13 GB/s"
)",
                                          "m.toml")};
  EXPECT_EQ(seen_from(all, intent::bandwidth, "0"), "persistent 1 > dram 0");
  EXPECT_EQ(seen_from(all, intent::write_bandwidth, "0"), "dram 0 > persistent 1");
}

TEST(orderings, every_machine_file_has_figures_of_memories) {
  const auto folder = std::filesystem::path{SITU_TEST_SOURCE_DIR}.parent_path() / "machines";
  for (const auto& file : std::filesystem::directory_iterator{folder})
    if (file.path().extension() == ".toml") {
      EXPECT_TRUE(machine::doubtful_figures(machine::read_toml(file.path().string())).empty()) << file.path();
    }
}

}  // namespace
