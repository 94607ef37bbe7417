// place_graph: where units run, that they see what the program's order says, failures and losses. And the rules of
// docs/design/task.md as litmus tests, on threads and processes.
#include <situ/task/place_graph.h>

#include <situ/base/error.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/collective.h>
#include <situ/runtime/runtime.h>

#include "support/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <vector>

namespace situ {
namespace {

using testing::HasSubstr;
using word = std::uint64_t;

class place_graph_on : public test::on_places {};
INSTANTIATE_TEST_SUITE_P(layouts, place_graph_on, testing::ValuesIn(test::layouts({1, 2, 4})), test::layout_name);

// At place 0: body(block), where block[p] are `count` zeroes at place p. The others serve.
template <class Body>
void with_blocks(std::size_t count, Body body) {
  const ptr<word> mine = allocate<word>(count);
  for (std::size_t i = 0; i < count; ++i) mine.local()[i] = 0;
  const std::vector<ptr<word>> block = all_gather(mine);
  if (here().index() == 0) body(block);
  barrier();
  deallocate(mine);
}

TEST_P(place_graph_on, a_unit_runs_where_most_of_its_bytes_are) {
  run([] {
    with_blocks(16, [](const std::vector<ptr<word>>& block) {
      place_graph graph;
      const place last{place_count() - 1};
      const ptr<word> there = block[last.index()], here_ = block[0];
      for (word i = 0; i < 16; ++i)
        graph.add(
            {reads(region(here_, 1)), updates(region(there + i, 2 - i % 2))},
            [](ptr<word> w) { *w.local() = here().index() + 1; }, there + static_cast<std::ptrdiff_t>(i));
      graph.wait();
      for (int i = 0; i < 16; i += 2) EXPECT_EQ(there.local()[i], last.index() + 1);
      EXPECT_GE(graph.units_at()[last.index()], 8);
    });
  });
}

TEST_P(place_graph_on, units_of_no_bytes_are_shared_out) {
  run([] {
    with_blocks(1, [](const std::vector<ptr<word>>& block) {
      place_graph graph;
      for (int i = 0; i < 200; ++i)
        graph.add({}, [](ptr<word> at_zero) { atomic_fetch_add(at_zero, word{1}); }, block[0]);
      graph.wait();
      EXPECT_EQ(*block[0].local(), 200);
      for (const std::uint64_t units : graph.units_at()) EXPECT_GT(units, 0);
    });
  });
}

TEST_P(place_graph_on, says_which_region_nobody_else_reaches) {
  run([] {
    if (here().index() == 0) {
      place_graph graph;
      word mine = 0;
      EXPECT_THROW(graph.add({reads(mine)}, [] {}), error);
      graph.wait();
      EXPECT_EQ(graph.statistics().units, 0);
    }
    barrier();
  });
}

// --- rules ----------------------------------------------------------------------------------------------------------

// Message passing: who reads what was written after x sees x. By declarations alone; nobody waits at a barrier.
TEST_P(place_graph_on, litmus_message_passing) {
  run([] {
    with_blocks(64, [](const std::vector<ptr<word>>& block) {
      place_graph graph;
      const ptr<word> x = block[0], flag = block[place_count() - 1], seen = block[place_count() / 2] + 32;
      for (word i = 1; i <= 300; ++i) {
        graph.add(
            {writes(region(x, 4))},
            [](ptr<word> w, word v) {
              for (int k = 0; k < 4; ++k) w.local()[k] = v;
            },
            x, i);
        graph.add(
            {reads(region(x, 1)), writes(region(flag, 8))},
            [](ptr<word> w, ptr<word> from) { *w.local() = *from.local(); }, flag, x);
        graph.add(
            {reads(region(flag, 1)), reads(region(x + 3, 1)), updates(region(seen, 16))},
            [](ptr<word> f, ptr<word> from, ptr<word> bad) { *bad.local() += *f.local() != *from.local(); }, flag,
            x + 3, seen);
      }
      graph.wait();
      EXPECT_EQ(*seen.local(), 0);
      EXPECT_EQ(*flag.local(), 300);
    });
  });
}

// Coherence of one location: reads in the program's order never go back.
TEST_P(place_graph_on, litmus_coherence_of_a_location) {
  run([] {
    with_blocks(64, [](const std::vector<ptr<word>>& block) {
      place_graph graph;
      const ptr<word> x = block[place_count() - 1], last = block[0] + 8, bad = block[0] + 16;
      for (word i = 1; i <= 300; ++i) {
        graph.add({writes(region(x, 1))}, [](ptr<word> w, word v) { *w.local() = v; }, x, i);
        graph.add(
            {reads(region(x, 1)), updates(region(last, 1)), updates(region(bad, 8))},
            [](ptr<word> from, ptr<word> before, ptr<word> wrong) {
              *wrong.local() += *from.local() <= *before.local();
              *before.local() = *from.local();
            },
            x, last, bad);
      }
      graph.wait();
      EXPECT_EQ(*bad.local(), 0);
    });
  });
}

// Locations of which nobody declares both have no order: a later unit ends while an earlier one cannot.
TEST_P(place_graph_on, litmus_other_locations_do_not_wait) {
  run([] {
    if (place_count() < 2) return;
    with_blocks(64, [](const std::vector<ptr<word>>& block) {
      place_graph graph;
      const ptr<word> held = block[1], go = block[1] + 8, other = block[0];
      graph.add(
          {updates(region(held, 1))},
          [](ptr<word> h, ptr<word> open) {
            while (atomic_load(open) == 0) progress();
            *h.local() = 1;
          },
          held, go);
      graph.add({writes(region(other, 1))}, [](ptr<word> w) { *w.local() = 7; }, other);
      graph.wait_for({reads(region(other, 1))});  // enforced for this location alone
      EXPECT_EQ(*other.local(), 7);
      EXPECT_EQ(atomic_load(held), 0);
      atomic_store(go, word{1});
      graph.wait_for({reads(region(held, 1))});
      EXPECT_EQ(*held.local(), 1);
    });
  });
}

// A unit of this place goes on after a wait for other bytes, without another wait for the graph.
TEST_P(place_graph_on, units_go_on_after_a_wait_for_others) {
  run([] {
    with_blocks(64, [](const std::vector<ptr<word>>& block) {
      place_graph graph;
      const ptr<word> own = block[0], other = block[0] + 8;
      graph.add({writes(region(own, 1))}, [](ptr<word> w) { atomic_store(w, word{7}); }, own);
      graph.wait_for({reads(region(other, 1))});
      while (atomic_load(own) == 0) progress();
      EXPECT_EQ(atomic_load(own), 7);
    });
  });
}

// The granularity is the byte: who shares a word but no byte does not wait, and loses nothing.
TEST_P(place_graph_on, litmus_bytes_of_a_word) {
  run([] {
    with_blocks(8, [](const std::vector<ptr<word>>& block) {
      place_graph graph;
      const ptr<unsigned char> bytes{reinterpret_cast<unsigned char*>(block[place_count() - 1].local())};
      for (int round = 0; round < 50; ++round)
        for (int i = 0; i < 8; ++i)
          graph.add({updates(region(bytes + i, 1))}, [](ptr<unsigned char> b) { ++*b.local(); }, bytes + i);
      graph.wait();
      for (int i = 0; i < 8; ++i) EXPECT_EQ(bytes.local()[i], 50);
    });
  });
}

// --- random programs ------------------------------------------------------------------------------------------------

struct random_unit {
  std::vector<ptr<word>> reads, updates;
  word salt = 0;
  std::uint32_t throws = 0;
};

void compute(const random_unit& unit) {
  if (unit.throws != 0) throw std::runtime_error{std::to_string(unit.throws)};
  word sum = unit.salt;
  for (const ptr<word> each : unit.reads) sum = test::mixed(sum, *each.local());
  for (const ptr<word> each : unit.updates) *each.local() = sum = test::mixed(sum, *each.local());
}

TEST_P(place_graph_on, random_programs_have_the_bits_of_one_unit_after_the_other) {
  run([seed = test::test_seed()] {
    with_blocks(20, [seed](const std::vector<ptr<word>>& block) {
      std::mt19937_64 random{seed};
      const auto any = [&] { return block[random() % block.size()] + static_cast<std::ptrdiff_t>(random() % 20); };
      for (int p = 0; p < 40; ++p) {
        for (const ptr<word> each : block) std::fill_n(each.local(), 20, p);
        std::vector<random_unit> program(1 + random() % 60);
        for (random_unit& unit : program) {
          for (std::size_t i = random() % 3; i > 0; --i) unit.reads.push_back(any());
          for (std::size_t i = random() % 3; i > 0; --i) unit.updates.push_back(any());
          unit.salt = random();
        }
        {
          place_graph graph{{.window = 1U << random() % 8, .at_once = static_cast<std::uint32_t>(1 + random() % 4)}};
          for (const random_unit& unit : program) {
            std::vector<declared_access> all;
            for (const ptr<word> each : unit.reads) all.push_back(reads(region(each, 1)));
            for (const ptr<word> each : unit.updates) all.push_back(updates(region(each, 1)));
            graph.add(all, compute, unit);
          }
          graph.wait();
        }
        std::vector<word> parallel;
        for (const ptr<word> each : block) parallel.insert(parallel.end(), each.local(), each.local() + 20);
        for (const ptr<word> each : block) std::fill_n(each.local(), 20, p);
        for (const random_unit& unit : program) compute(unit);
        std::vector<word> in_order;
        for (const ptr<word> each : block) in_order.insert(in_order.end(), each.local(), each.local() + 20);
        ASSERT_EQ(parallel, in_order) << "program " << p;
      }
    });
  });
}

TEST_P(place_graph_on, a_unit_that_throws_elsewhere_ends_those_after_it) {
  run([] {
    with_blocks(8, [](const std::vector<ptr<word>>& block) {
      place_graph graph;
      const ptr<word> x = block[place_count() - 1], y = block[0] + 1;
      graph.add({updates(region(x, 1))}, compute, random_unit{.throws = 5});
      graph.add({reads(region(x, 1)), writes(region(y, 1))}, [](ptr<word> w) { *w.local() = 1; }, y);
      graph.add({writes(region(y + 1, 1))}, [](ptr<word> w) { *w.local() = 1; }, y + 1);
      try {
        graph.wait();
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::exception& thrown) {
        EXPECT_THAT(thrown.what(), HasSubstr("5"));
      }
      EXPECT_EQ(y.local()[0], 0);
      EXPECT_EQ(y.local()[1], 1);
      EXPECT_EQ(graph.statistics().never_run, 1);
      graph.add({updates(region(x, 1))}, [](ptr<word> w) { *w.local() = 3; }, x);
      graph.wait();
      EXPECT_EQ(*x.local(), 3);
    });
  });
}

// A checked graph has the same results, and names what was not declared: unit, array, element.
TEST_P(place_graph_on, checked_names_what_was_not_declared) {
  run([] {
    with_blocks(32, [](const std::vector<ptr<word>>& block) {
      place_graph graph{{.checked = true}};
      const ptr<word> there = block[place_count() - 1];
      const auto smooth = [](ptr<word> x, std::size_t from, std::size_t to) {
        const declared_span<word> a{"a", {x.local(), 32}};
        for (std::size_t i = from; i < to; ++i) a[i] = a.at(i) + 1;
      };
      for (int i = 0; i < 10; ++i) graph.add({updates(region(there, 16))}, smooth, there, 0, 16);
      graph.wait();
      EXPECT_EQ(there.local()[15], 10);
      graph.add({updates(region(there, 16))}, smooth, there, 8, 17);
      EXPECT_THAT([&] { graph.wait(); }, testing::ThrowsMessage<error>(HasSubstr("unit 11 reads a[16], which it has")));
      EXPECT_EQ(there.local()[16], 0);
    });
  });
}

TEST(place_graph, whoever_waits_is_told_of_a_place_that_dies) {
  launch_options options;
  const launch_result result = launch(
      2,
      [] {
        const ptr<word> mine = allocate<word>(8);
        const std::vector<ptr<word>> block = all_gather(mine);
        if (here().index() == 1) {
          barrier();
          return;
        }
        place_graph graph;
        graph.add({updates(region(block[0], 1))}, [](ptr<word> w) { *w.local() = 1; }, block[0]);
        graph.add({updates(region(block[1], 1))}, [](ptr<word>) { ::raise(SIGKILL); }, block[1]);
        graph.add(
            {reads(region(block[1], 1)), writes(region(block[0] + 1, 1))}, [](ptr<word> w) { *w.local() = 1; },
            block[0] + 1);
        EXPECT_THROW(graph.wait(), place_lost_error);
        EXPECT_EQ(block[0].local()[0], 1);
        if (testing::Test::HasFailure()) std::abort();
      },
      options);
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.message(), HasSubstr("SIGKILL"));
  EXPECT_THAT(result.message(), testing::Not(HasSubstr("SIGABRT")));
}

}  // namespace
}  // namespace situ
