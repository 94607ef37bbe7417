// Memory by intent on a Linux with memories of four kinds. It runs in the guest of guest.py, whose table it knows;
// elsewhere it is skipped (exit code 77). Node 2 is fast, 3 is slow, and the two without processors are nobody's first
// choice.

#include <situ/base/error.h>
#include <situ/machine/orderings.h>
#include <situ/stencil/stencil.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "guest_support.h"
#include "support/forked.h"

namespace {

using namespace situ;
using namespace situ::guest_support;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string nodes_of(const machine::memory_order& order) {
  std::string text;
  for (const auto& step : order.steps)
    for (const machine::ordered_memory& memory : step) text += std::to_string(memory.node) + " ";
  return text;
}

TEST_F(guest, the_firmware_gives_the_orderings_of_each_initiator) {
  const machine::orderings all = machine::orderings::of_this_machine();
  EXPECT_TRUE(all.complaints().empty()) << all.complaints().front();
  const auto seen = [&](const intent& what, const char* processors) {
    return nodes_of(all.find(what, machine::processor_set::parse(processors)));
  };
  EXPECT_EQ(seen(intent::bandwidth, "0"), "2 0 1 3 ");
  EXPECT_EQ(seen(intent::bandwidth, "1"), "2 1 0 3 ");
  EXPECT_EQ(seen(intent::latency, "0"), "0 2 1 3 ");
  EXPECT_EQ(seen(intent::latency, "1"), "1 0 2 3 ");
  EXPECT_EQ(seen(intent::capacity, "0").substr(0, 2), "3 ");
  EXPECT_EQ(all.find(intent::bandwidth, machine::processor_set::parse("0")).source, "figures");
}

TEST_F(guest, memory_goes_along_the_ordering) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 0, 1, 3\"\n");
  holder one{900 * mib, &intent::bandwidth};
  const told where = one.listen();
  EXPECT_EQ(where.error, "");
  EXPECT_EQ(where.sum(), 900 * mib);
  expect_filled({2, 0, 1});
  EXPECT_GT(where.bytes.at(3), 0u);
  EXPECT_LT(memory_of(3).percent_used(), 89);
  EXPECT_EQ(one.end(), 0);
}

TEST_F(guest, a_threshold_can_be_set) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 3\"\nfill = 50\n");
  holder one{200 * mib, &intent::bandwidth};
  EXPECT_EQ(one.listen().sum(), 200 * mib);
  expect_filled({2}, 50);
}

TEST_F(guest, two_that_compete_are_both_placed_in_order) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 0, 1, 3\"\n");
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE(round);
    holder first{500 * mib, &intent::bandwidth};
    holder second{500 * mib, &intent::bandwidth};
    const told one = first.listen();
    const told other = second.listen();
    EXPECT_EQ(one.error + other.error, "");
    EXPECT_EQ(one.sum() + other.sum(), 1000 * mib);
    expect_filled({2, 0, 1});
    EXPECT_EQ(first.end(), 0);
    EXPECT_EQ(second.end(), 0);
  }
}

TEST_F(guest, past_all_thresholds_is_an_error_with_the_fills) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 0\"\n");
  holder one{900 * mib, &intent::bandwidth};
  EXPECT_THAT(one.listen().error,
              AllOf(HasSubstr("no memory of its ordering has room"), HasSubstr("node 2"), HasSubstr("90.0 %")));
  EXPECT_EQ(one.end(), 0);
}

TEST_F(guest, the_last_memory_takes_the_rest_but_never_the_systems_own) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 3\"\nno_room = \"last\"\nfill = 60\n");
  {
    // How much of a node the kernel has at boot differs by some 30 MiB: well within the rest of node 3.
    holder one{470 * mib, &intent::bandwidth};
    const told where = one.listen();
    EXPECT_EQ(where.error, "");
    expect_filled({2}, 60);
    EXPECT_GT(memory_of(3).percent_used(), 62);
  }
  holder too_much{800 * mib, &intent::bandwidth};
  EXPECT_THAT(too_much.listen().error, HasSubstr("no memory of its ordering has room"));
  EXPECT_EQ(too_much.end(), 0);
}

TEST_F(guest, memories_take_turns) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2*3 + 0, 1\"\n");
  holder one{64 * mib, &intent::bandwidth};
  const told where = one.listen();
  EXPECT_EQ(where.error, "");
  EXPECT_EQ(where.bytes.at(2), 48 * mib);
  EXPECT_EQ(where.bytes.at(0), 16 * mib);
}

// What a process of its own, which reads the orderings anew, says of a dataset of so many bytes.
// The options are made there: a store has a thread.
std::string said_of_dataset(stencil::options (*make)(), std::uint64_t bytes, std::uint32_t node) {
  const test::said_by_child said = test::said_in_forked_child([&] {
    try {
      stencil::options how = make();
      how.threads = 1;
      const std::uint64_t unused = memory_of(node).unused;
      stencil::context c{std::move(how)};
      const stencil::block<1> line{c, "line"};
      const auto n = static_cast<int>(bytes / sizeof(double));
      const stencil::dataset<double, 1> u{line, "u", {n}};
      stencil::par_loop("fill", line, stencil::range(0, n), [](auto x) { x(0) = 1; }, stencil::write(u));
      const stencil::reduction<double> total{c, "total"};
      stencil::par_loop(
          "total", line, stencil::range(0, n), [](auto x, double& s) { s += x(0); }, stencil::read(u),
          stencil::sum(total));
      return total.value() == n ? std::to_string((unused - memory_of(node).unused) / mib) : "another sum";
    } catch (const error& bad) {
      return std::string{bad.what()};
    }
  });
  const int code = test::code_of(said.end);
  return code == 0 ? said.text : "ended with code " + std::to_string(code);
}

TEST_F(guest, datasets_go_along_the_ordering) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 3\"\n");
  const auto how = [] {
    stencil::options o;
    o.run_by = stencil::executor::plain;
    o.memory = intent::bandwidth;
    return o;
  };
  EXPECT_NEAR(std::atof(said_of_dataset(how, 100 * mib, 2).c_str()), 100, 8);
  EXPECT_GT(std::atof(said_of_dataset(how, 300 * mib, 3).c_str()), 60) << "spilt";
  EXPECT_THAT(said_of_dataset(how, 900 * mib, 2), AllOf(HasSubstr("dataset 'u'"), HasSubstr("node 3")));
}

TEST_F(guest, a_store_on_a_full_node_ends_no_process) {
  const auto how = [] {
    stencil::options o;
    o.run_by = stencil::executor::out_of_core;
    o.fast_bytes = 16 * mib;
    o.store = stencil::make_memory_store(memory_kind::of_node(2));
    return o;
  };
  EXPECT_NEAR(std::atof(said_of_dataset(how, 150 * mib, 2).c_str()), 150, 8);
  EXPECT_THAT(said_of_dataset(how, 400 * mib, 2), HasSubstr("memory of NUMA node 2"));
}

// Of a block by intent, as a job allocates it: in huge pages, which the kernel makes on request of small ones, beside a
// block whose small pages are made by faults. In instructions, four of which take a nanosecond there.
class cost_guest : public guest {
 protected:
  void SetUp() override {
    guest::SetUp();
    if (std::getenv("SITU_COUNTS_INSTRUCTIONS") == nullptr) GTEST_SKIP() << "the guest counts no instructions";
  }
};

TEST_F(cost_guest, what_a_page_costs) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"0\"\n");
  double touched = 1e18;
  double placed = 1e18;
  for (int i = 0; i < 3; ++i) {
    holder plain{128 * mib, nullptr};
    touched = std::min(touched, plain.listen().ns_for_a_page / 4);
    plain.end();
    holder by_intent{128 * mib, &intent::bandwidth};
    placed = std::min(placed, by_intent.listen().ns_for_a_page / 4);
  }
  std::printf("a page of 4 KiB, instructions: touched %.0f, placed by intent %.0f (%.2f x)\n", touched, placed,
              placed / touched);
  EXPECT_GT(placed, 0.1 * touched) << "they have not all been made";
  EXPECT_LT(placed, 0.4 * touched) << "0.33 x in huge pages";
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!std::filesystem::exists("/sys/devices/system/node/node3")) return 77;
  return RUN_ALL_TESTS();
}
