// Random programs on object heaps beside a plain model of them: every place makes objects, stores into its own and into
// those of others, moves, exchanges and collects them, and compares what it can reach.
#include <situ/heap/object_heap.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/places.h"

namespace {

using situ::ref;

struct item {
  std::uint64_t number;
  std::array<ref<item>, 3> to;
  ref<ref<item>[]> more;
};

// The plain model of an item.
struct plain {
  std::uint64_t number = 0;
  std::array<plain*, 3> to{};
  std::vector<plain*> more;
};

// One place's program: a table of roots in the heap and in the model.
class program {
 public:
  program(situ::object_heap& heap, situ::heap_thread& mine, std::uint32_t seed, bool renumbers)
      : heap_{heap}, mine_{mine}, random_{seed}, renumbers_{renumbers} {
    for (std::size_t i = 0; i < roots; ++i) in_heap_.push_back(std::make_unique<situ::rooted<item>>(mine));
    in_model_.resize(roots);
  }

  void step() {
    mine_.safe_point();
    const std::size_t a = pick(roots), b = pick(roots);
    switch (pick(12)) {
      case 0:
      case 1:
      case 2: make(a); break;
      case 3: make_array(a, pick(6)); break;
      case 4:
      case 5: link(a, pick(3), b); break;
      case 6: link_element(a, b); break;
      case 7: renumber(a); break;
      case 8: follow(a, pick(3)); break;
      case 9: drop(a); break;
      case 10: move(a); break;
      case 11:
        if (pick(4) == 0) exchange(a, b);
        break;
    }
    if (pick(200) == 0) mine_.collect_own();
    if (renumbers_ && pick(100) == 0) mine_.collect({.sorts = pick(2) == 0, .renumbers = true});
  }

  // Compares everything that the roots reach.
  void compare() {
    std::unordered_map<std::uint32_t, plain*> met;
    std::vector<std::pair<ref<item>, plain*>> to_do;
    const auto meet = [&](ref<item> found, plain* expected) {
      ASSERT_EQ(static_cast<bool>(found), expected != nullptr);
      if (!found) return;
      const auto [at, is_new] = met.emplace(found.raw(), expected);
      ASSERT_EQ(at->second, expected);
      if (is_new) to_do.emplace_back(found, expected);
    };
    for (std::size_t i = 0; i < roots; ++i) meet(in_heap_[i]->get(), in_model_[i]);
    situ::heap_section section{mine_};
    while (!to_do.empty() && !testing::Test::HasFatalFailure()) {
      const auto [found, expected] = to_do.back();
      to_do.pop_back();
      ASSERT_EQ(section.load(found, &item::number), expected->number);
      const auto links = section.load(found, &item::to);
      for (std::size_t i = 0; i < 3; ++i) meet(links[i], expected->to[i]);
      const ref<ref<item>[]> more = section.load(found, &item::more);
      ASSERT_EQ(more ? section.size(more) : 0, expected->more.size());
      for (std::uint32_t i = 0; i < expected->more.size(); ++i) meet(section.load(more, i), expected->more[i]);
    }
    reached_ = met.size();
  }
  [[nodiscard]] std::size_t reached() const noexcept { return reached_; }

 private:
  static constexpr std::size_t roots = 24;

  std::size_t pick(std::size_t n) { return std::uniform_int_distribution<std::size_t>{0, n - 1}(random_); }
  void make(std::size_t a) {
    made_.push_back(std::make_unique<plain>());
    made_.back()->number = random_();
    *in_heap_[a] = mine_.make<item>(made_.back()->number);
    in_model_[a] = made_.back().get();
  }
  void make_array(std::size_t a, std::size_t n) {
    if (in_model_[a] == nullptr) return;
    mine_.store(in_heap_[a]->get(), &item::more, mine_.make_array<ref<item>>(static_cast<std::uint32_t>(n)));
    in_model_[a]->more.assign(n, nullptr);
  }
  void link(std::size_t a, std::size_t at, std::size_t b) {
    if (in_model_[a] == nullptr) return;
    situ::heap_section section{mine_};
    const std::uint32_t raw = in_heap_[a]->get().raw(), value = in_heap_[b]->get().raw();
    item& changed = *reinterpret_cast<item*>(section.object_for_reference(raw, value)->bytes());
    situ::detail::racing_store(changed.to[at], in_heap_[b]->get());
    in_model_[a]->to[at] = in_model_[b];
  }
  void link_element(std::size_t a, std::size_t b) {
    if (in_model_[a] == nullptr || in_model_[a]->more.empty()) return;
    const std::size_t at = pick(in_model_[a]->more.size());
    mine_.store(mine_.load(in_heap_[a]->get(), &item::more), static_cast<std::uint32_t>(at), in_heap_[b]->get());
    in_model_[a]->more[at] = in_model_[b];
  }
  void renumber(std::size_t a) {
    if (in_model_[a] == nullptr) return;
    in_model_[a]->number = random_();
    mine_.store(in_heap_[a]->get(), &item::number, in_model_[a]->number);
  }
  void follow(std::size_t a, std::size_t at) {
    if (in_model_[a] == nullptr) return;
    *in_heap_[a] = mine_.load(in_heap_[a]->get(), &item::to)[at];
    in_model_[a] = in_model_[a]->to[at];
  }
  void drop(std::size_t a) {
    *in_heap_[a] = ref<item>{};
    in_model_[a] = nullptr;
  }
  void move(std::size_t a) {
    if (in_model_[a] == nullptr) return;
    if (pick(2) == 0)
      mine_.move(in_heap_[a]->get(), situ::place{static_cast<std::uint32_t>(pick(situ::place_count()))});
    else
      (void)mine_.make_read_mostly(in_heap_[a]->get());
  }
  void exchange(std::size_t a, std::size_t b) {
    if (in_model_[a] == nullptr || in_model_[b] == nullptr) return;
    mine_.exchange(in_heap_[a]->get(), in_heap_[b]->get());
    std::swap(*in_model_[a], *in_model_[b]);
  }

  situ::object_heap& heap_;
  situ::heap_thread& mine_;
  std::mt19937_64 random_;
  bool renumbers_;
  std::vector<std::unique_ptr<situ::rooted<item>>> in_heap_;
  std::vector<plain*> in_model_;
  std::vector<std::unique_ptr<plain>> made_;
  std::size_t reached_ = 0;
};

class heap_random : public situ::test::on_places {};
INSTANTIATE_TEST_SUITE_P(layouts, heap_random, testing::ValuesIn(situ::test::all_layouts()), situ::test::layout_name);

void run_programs(situ::heap_options options, int steps, situ::heap_objects makes = situ::heap_objects::own,
                  bool renumber = false) {
  options.entries = situ::test::or_modelled<std::uint64_t>(1 << 20, 1 << 14);
  situ::object_heap heap{options};
  situ::heap_thread mine{heap, nullptr, makes};
  std::size_t most = 0;
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    program of{heap, mine, 100 * seed + situ::here().index(), renumber};
    for (int i = 0; i < steps; ++i) {
      of.step();
      if (i % 50 == 0) of.compare();
      if (testing::Test::HasFatalFailure()) return;
    }
    mine.collect();
    of.compare();
    most = std::max(most, of.reached());
  }
  EXPECT_GT(most, situ::test::or_modelled<std::size_t>(3, 0));  // few steps are modelled
  EXPECT_EQ(situ::all_reduce(heap.counts().objects_renumbered, std::plus<>{}) != 0, renumber);
  situ::barrier();
}

TEST_P(heap_random, programs_hold) {
  run([] {
    run_programs({.young_bytes = 1 << 20, .replicas = situ::heap_replicas::always}, situ::test::rounds(5000));
  });
}
TEST_P(heap_random, programs_with_a_collection_at_each_safe_point_hold) {
  run([] {
    run_programs({.replicas = situ::heap_replicas::always, .collects_at_each_safe_point = true},
                 situ::test::rounds(1000));
  });
}
TEST_P(heap_random, programs_that_collect_everything_often_hold) {
  run([] {
    run_programs({.young_bytes = 256 << 10,
                  .collect_after = 1,
                  .replicas = situ::heap_replicas::always,
                  .read_mostly_after = 1,
                  .collects_at_each_safe_point = true},
                 situ::test::rounds(200));
  });
}
// Every second place makes objects that are shared from the beginning.
TEST_P(heap_random, programs_that_make_shared_objects_hold) {
  run([] {
    const auto makes = situ::here().index() % 2 == 0 ? situ::heap_objects::shared : situ::heap_objects::own;
    run_programs({.young_bytes = 256 << 10,
                  .collect_after = 1 << 20,
                  .replicas = situ::heap_replicas::always,
                  .read_mostly_after = 2},
                 situ::test::rounds(5000), makes);
  });
}

TEST_P(heap_random, programs_whose_objects_get_new_numbers_hold) {
  run([] {
    const auto makes = situ::here().index() % 3 == 2 ? situ::heap_objects::shared : situ::heap_objects::own;
    run_programs({.young_bytes = 256 << 10, .replicas = situ::heap_replicas::always, .read_mostly_after = 3},
                 situ::test::rounds(2000), makes, true);
  });
}
// A table that is not homed has lines that several places write.
TEST_P(heap_random, programs_with_new_numbers_in_a_replicated_table_hold) {
  run([] {
    run_programs({.table = situ::heap_table::replicated, .collects_at_each_safe_point = true}, situ::test::rounds(500),
                 situ::heap_objects::own, true);
  });
}

}  // namespace
