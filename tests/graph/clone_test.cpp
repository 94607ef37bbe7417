#include <situ/graph/clone.h>

#include "graph/random_graph.h"
#include "support/places.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <span>
#include <thread>

namespace situ {
namespace {

using test::node;
using test::small;

struct list {
  list* next;
  list* previous;
  std::uint64_t value;
};
static_assert(sizeof(list) == 24);

std::vector<list> make_list(std::size_t n) {
  std::vector<list> nodes(n);
  for (std::size_t i = 0; i < n; ++i)
    nodes[i] = {i + 1 < n ? &nodes[i + 1] : nullptr, i > 0 ? &nodes[i - 1] : nullptr, i};
  return nodes;
}

// Inside a runtime of one place.
template <class Body>
void run_alone(Body body) {
  const launch_result result = test::launch_on({launch_mode::threads, 1}, body);
  EXPECT_TRUE(result.ok()) << result.message();
}

const copy_map all_maps[] = {copy_map::automatic, copy_map::linear, copy_map::hash, copy_map::side_table};

// Of several huge pages each. The first two are moved to where they lie, later ones are made there, and one that is
// longer than was expected is made there until its place ends.
TEST(clone, large_copies_are_made_behind_the_front_of_their_pages) {
  run_alone([] {
    constexpr std::size_t unit = test::or_modelled(10'000, 1'000);
    list* const nodes = allocate<list>(45 * unit).local();
    for (const std::size_t n : {30 * unit, 30 * unit, 30 * unit, 31 * unit, 31 * unit, 45 * unit, 30 * unit}) {
      for (std::size_t i = 0; i < n; ++i)
        nodes[i] = {i + 1 < n ? &nodes[i + 1] : nullptr, i > 0 ? &nodes[i - 1] : nullptr, i};
      const owned<list> copy = clone(nodes);
      EXPECT_EQ(copy.size(), (graph_size{n, n * sizeof(list)}));
      std::size_t seen = 0;
      const list* before = nullptr;
      for (const list* at = copy.get(); at != nullptr; before = at, at = at->next) {
        ASSERT_EQ(at->value, seen++);
        ASSERT_EQ(at->previous, before);
      }
      EXPECT_EQ(seen, n);
    }
    deallocate(ptr<list>{nodes});
  });
}

TEST(clone, copies_a_list_with_its_back_pointers) {
  for (const copy_map map : all_maps) {
    for (const std::size_t n : {1U, 2U, 8U, 9U, 10U, 1000U}) {
      const std::vector<list> original = make_list(n);
      const owned<list> copy = clone(&original[0], {map});
      EXPECT_EQ(copy.size(), (graph_size{n, n * sizeof(list)}));
      const list* before = nullptr;
      std::size_t seen = 0;
      for (const list* at = copy.get(); at != nullptr; before = at, at = at->next) {
        ASSERT_EQ(at->value, seen++);
        ASSERT_EQ(at->previous, before);
        ASSERT_TRUE(at < original.data() || at >= original.data() + n);
      }
      EXPECT_EQ(seen, n);
    }
  }
}

TEST(clone, of_null_is_null) {
  const list* const nothing = nullptr;
  EXPECT_FALSE(clone(nothing));
  EXPECT_EQ(measure(nothing), graph_size{});
}

TEST(clone, keeps_a_cycle_of_one) {
  small self{5, nullptr};
  self.other = &self;
  const owned<small> copy = clone(&self);
  EXPECT_EQ(copy->other, copy.get());
  EXPECT_EQ(copy->value, 5U);
  EXPECT_EQ(copy.size().objects, 1U);
}

TEST(clone, lies_in_one_block) {
  const std::vector<list> original = make_list(500);
  const owned<list> copy = clone(&original[0]);
  const auto* const begin = reinterpret_cast<const std::byte*>(copy.get());
  for (const list* at = copy.get(); at != nullptr; at = at->next) {
    const auto offset = reinterpret_cast<const std::byte*>(at) - begin;
    ASSERT_GE(offset, 0);
    ASSERT_LT(offset, 500 * 24);
  }
}

TEST(clone, of_random_graphs_is_isomorphic_with_every_map) {
  const std::uint64_t seed = test::test_seed();
  for (int round = 0; round < test::rounds(200); ++round) {
    test::graph_maker maker{test::mixed(seed, static_cast<std::uint64_t>(round))};
    const node* const root = maker.make(1 + test::mixed(seed + 1, static_cast<std::uint64_t>(round)) % 300);
    const graph_size expected = measure(root, {copy_map::hash});
    for (const copy_map map : all_maps) {
      SCOPED_TRACE(static_cast<int>(map));
      EXPECT_EQ(measure(root, {map}), expected);
      const owned<node> copy = clone(root, {map});
      EXPECT_EQ(copy.size(), expected);
      ASSERT_EQ(test::graph_comparison{}.difference(root, copy.get()), "");
    }
  }
}

TEST(clone, of_a_clone_is_byte_for_byte_the_same_but_for_addresses) {
  test::graph_maker maker{7};
  const owned<node> first = clone(maker.make(100));
  const owned<node> second = clone(first);
  EXPECT_EQ(first.size(), second.size());
  EXPECT_EQ(test::graph_comparison{}.difference(first.get(), second.get()), "");
}

TEST(clone, containers_in_a_copy_may_grow_and_are_given_back) {
  test::graph_maker maker{11};
  const node* const root = maker.make(50);
  run_alone([&] {
    const memory_usage before = memory_statistics();
    {
      owned<node> copy = clone(root);
      for (node* n = copy.get(); n != nullptr; n = n->next[0]) {
        n->name.append(" and more");
        n->friends.push_back(copy.get());
        n->rows.emplace_back(100, std::uint8_t{1});
        for (auto& row : n->rows) row.push_back(3);
        n->either = situ::string(std::string(100, 'x'));
        n->numbers = situ::array<double>{1, 2, 3};
      }
      ASSERT_EQ(test::graph_comparison{}.difference(copy.get(), clone(copy).get()), "");
    }
    EXPECT_EQ(memory_statistics().live_bytes, before.live_bytes);
    EXPECT_EQ(memory_statistics().live_blocks, before.live_blocks);
  });
}

TEST(clone, lies_in_the_segment_of_the_place_inside_a_runtime) {
  const std::vector<list> original = make_list(100);
  run_alone([&] {
    const std::uint64_t blocks = memory_statistics().live_blocks;
    {
      const owned<list> copy = clone(&original[0]);
      EXPECT_TRUE(ptr<list>{copy.get()}.is_here());
      EXPECT_EQ(memory_statistics().live_blocks, blocks + 1);
    }
    EXPECT_EQ(memory_statistics().live_blocks, blocks);
  });
}

TEST(clone, owners_may_outlive_their_runtime) {
  struct tree {
    situ::vector<int> leaves;
    tree* next;
  };
  situ::owned<tree> kept, second;
  {
    const situ::runtime rt;
    tree a{{1, 2, 3}, nullptr};
    kept = situ::clone(&a);
    kept->leaves.push_back(4);  // grows out of the copy
    second = kept.adopt(kept.get());
  }
  second = {};  // the segment is gone: nothing of it is touched
  kept = {};
  EXPECT_EQ(situ::clone(tree{{5}, nullptr}).get()->leaves[0], 5);  // on the heap
}

TEST(clone, objects_can_be_adopted) {
  std::vector<list> original = make_list(3);
  run_alone([&] {
    const std::uint64_t blocks = memory_statistics().live_blocks;
    owned<list> copy = clone(&original[0]);
    owned<list> last = copy.adopt(copy->next->next);
    copy = nullptr;
    EXPECT_EQ(last->value, 2U);
    EXPECT_EQ(last->previous->value, 1U);
    EXPECT_EQ(memory_statistics().live_blocks, blocks + 1);
    last = nullptr;
    EXPECT_EQ(memory_statistics().live_blocks, blocks);
  });
}

TEST(clone, of_containers_and_values) {
  const situ::vector<situ::string> words{situ::string{"one"}, situ::string{""}, situ::string{"three"}};
  const owned<situ::vector<situ::string>> copy = clone(words);
  EXPECT_EQ(*copy, words);
  EXPECT_NE((*copy)[0].data(), words[0].data());
  EXPECT_STREQ((*copy)[2].c_str(), "three");
}

TEST(clone, refuses_an_object_whose_header_names_no_type) {
  alignas(test::circle) std::byte nothing[sizeof(test::circle)]{};
  const auto* const never_made = reinterpret_cast<const test::shape*>(nothing);
  try {
    (void)clone(never_made);
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::bad_argument);
    EXPECT_NE(std::string{e.what()}.find("shape"), std::string::npos) << e.what();
  }
  EXPECT_EQ(clone(&make_list(10)[0]).size().objects, 10U);  // and the next copy works
}

struct part {
  part* other;
  int value;
};
struct whole {
  part first;
  long more[40];
};
struct derived_whole : part {
  whole* inner;
  SITU_DESCRIBE_DERIVED(derived_whole, (part), inner)
};
struct references {
  part* of_part;
  whole* of_whole;
  part* of_part_again;
  derived_whole* of_derived;
};

// An object and its first member have one address. A long chain before them, so that every map and the quick scan see
// them.
TEST(clone, of_an_object_and_its_first_part_is_one_object_or_an_error) {
  std::vector<part> chain(200);
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) chain[i] = {&chain[i + 1], static_cast<int>(i)};
  whole object{{&chain[0], 1}, {2, 3}};
  derived_whole derived{{&object.first, 4}, nullptr};
  for (const copy_map map : all_maps) {
    references right{nullptr, &object, &object.first, &derived};
    const auto copy = clone(&right, {.map = map});
    EXPECT_EQ(copy->of_part_again, &copy->of_whole->first);
    EXPECT_EQ(copy->of_derived->other, &copy->of_whole->first);
    EXPECT_EQ(copy->of_whole->more[1], 3);
    EXPECT_EQ(copy.size().objects, 203U);
    references wrong{&object.first, &object, nullptr, nullptr};
    const test::caught_error caught = test::error_of([&] { (void)clone(&wrong, {.map = map}); });
    EXPECT_EQ(caught.code, errc::bad_argument);
    EXPECT_TRUE(caught.says("whole") && caught.says("part")) << caught.text;
    derived = {{nullptr, 4}, &object};
    chain[199].other = &derived;  // far behind, by a pointer to the base
    references late{&chain[0], nullptr, nullptr, &derived};
    EXPECT_EQ(clone(&late, {.map = map})->of_derived->inner->more[0], 2);
    references too_late{&chain[150], nullptr, &derived, nullptr};
    EXPECT_EQ(clone(&too_late, {.map = map}).size().objects,
              52U);  // as the base alone; it holds no pointer to the rest
    chain[199].other = nullptr;
    derived = {{&object.first, 4}, nullptr};
  }
}

TEST(clone, may_be_made_by_several_threads_of_the_same_source) {
  const std::vector<list> original = make_list(5000);
  std::vector<std::jthread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < test::rounds(50); ++i) {
        const owned<list> copy = clone(&original[0]);
        std::uint64_t sum = 0;
        for (const list* at = copy.get(); at != nullptr; at = at->next) sum += at->value;
        good += sum == 5000 * 4999 / 2;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(good, 4 * test::rounds(50));
}

TEST(clone, out_of_memory_leaks_nothing) {
  const std::vector<list> original = make_list(400'000);  // 9.6 MB
  launch_options options;
  options.memory_budget = std::uint64_t{8} << 20;
  const launch_result result = test::launch_on(
      {launch_mode::threads, 1},
      [&] {
        const std::uint64_t blocks = memory_statistics().live_blocks;
        for (int i = 0; i < 3; ++i) {
          try {
            (void)clone(&original[0]);
            ADD_FAILURE() << "9.6 MB fitted into a job of 8 MiB";
          } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::out_of_memory);
          }
        }
        EXPECT_EQ(memory_statistics().live_blocks, blocks);
        const std::vector<list> less = make_list(1000);
        EXPECT_EQ(clone(&less[0]).size().objects, 1000U);
      },
      options);
  EXPECT_TRUE(result.ok()) << result.message();
}

// A list is as deep as a graph gets: nothing may recurse. The limit is on the stack of a thread of its own.
TEST(clone, of_ten_million_nodes_needs_no_stack) {
  const std::size_t n = test::with_sanitizer ? 1'000'000 : test::or_modelled(10'000'000, 100'000);
  const std::vector<list> original = make_list(n);
  struct job {
    const std::vector<list>* original;
    std::uint64_t objects = 0;
  } work{&original};
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, test::with_sanitizer ? 256 * 1024 : 64 * 1024), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* argument) -> void* {
                  job& mine = *static_cast<job*>(argument);
                  mine.objects = clone(&(*mine.original)[0]).size().objects;
                  return nullptr;
                },
                &work),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(work.objects, n);
}

// --- shapes for which discovery has loops of its own, against the interpreter (with the hash map all are interpreted)

struct tree {
  tree* left;
  tree* right;
  std::uint64_t value;
};
struct web {
  web* links[4];
  std::uint64_t value;
};
struct leaf {
  std::uint64_t value;
};
struct branch {  // pointers to two types
  branch* next;
  leaf* value;
};
struct bucket {
  situ::vector<leaf*> leaves;
  situ::array<web> webs;
  bucket* next;
};
struct big {
  double numbers[100];
  big* next;
};

// Both copies lie in the order of discovery, so they are the same but for where they lie.
template <class T>
void expect_same_image(const owned<T>& a, const owned<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  const auto words = [](const owned<T>& of) {
    const auto* const begin = reinterpret_cast<const std::uint64_t*>(of.memory().get() + 1);
    return std::span{begin, of.size().bytes / 8};
  };
  const auto base_a = reinterpret_cast<std::uintptr_t>(a.memory().get());
  const auto base_b = reinterpret_cast<std::uintptr_t>(b.memory().get());
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(a.get()) - base_a, reinterpret_cast<std::uintptr_t>(b.get()) - base_b);
  for (std::size_t i = 0; i < words(a).size(); ++i) {
    const std::uint64_t x = words(a)[i];
    const std::uint64_t y = words(b)[i];
    const bool is_pointer = x - base_a < a.memory().get()->bytes;
    ASSERT_EQ(is_pointer ? x - base_a : x, is_pointer ? y - base_b : y) << "word " << i;
  }
}

template <class T>
void expect_same_with_every_map(const T* root) {
  const owned<T> expected = clone(root, {copy_map::hash});
  for (int i = 0; i < 4; ++i) {  // from the third on, the size is expected
    expect_same_image(expected, clone(root));
    expect_same_image(expected, clone(root, {copy_map::side_table}));
  }
  EXPECT_EQ(measure(root), expected.size());
}

// several megabytes: prefetching and huge pages take part
constexpr std::size_t many = test::with_sanitizer ? 60'000 : test::or_modelled(300'000, 20'000);

TEST(clone_shapes, lists_in_order_and_in_disorder) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{4}, std::size_t{100}, many}) {
    std::vector<list> nodes(n);
    std::vector<std::size_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = i;
    expect_same_with_every_map(&make_list(n)[0]);
    std::shuffle(order.begin(), order.end(), std::mt19937_64{test::test_seed()});
    for (std::size_t i = 0; i < n; ++i)
      nodes[order[i]] = {i + 1 < n ? &nodes[order[i + 1]] : nullptr, i > 0 ? &nodes[order[i - 1]] : nullptr, i};
    expect_same_with_every_map(&nodes[order[0]]);
  }
}

TEST(clone_shapes, trees_and_webs) {
  std::mt19937_64 random{test::test_seed()};
  for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{1000}, many}) {
    std::vector<tree> nodes(n);
    for (std::size_t i = 0; i < n; ++i)
      nodes[i] = {2 * i + 1 < n ? &nodes[2 * i + 1] : nullptr, 2 * i + 2 < n ? &nodes[2 * i + 2] : nullptr, i};
    expect_same_with_every_map(&nodes[0]);
    std::vector<web> webs(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (web*& link : webs[i].links) link = random() % 8 == 0 ? nullptr : &webs[random() % n];
      webs[i].value = i;
    }
    expect_same_with_every_map(&webs[0]);
  }
}

TEST(clone_shapes, pointers_to_two_types_and_blocks) {
  std::mt19937_64 random{test::test_seed()};
  std::vector<leaf> leaves(1000);
  for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].value = i;
  std::vector<web> webs(100);
  for (web& each : webs)
    each = {{&webs[random() % 100], nullptr, &webs[random() % 100], &webs[random() % 100]}, random()};
  std::vector<branch> branches(2000);
  for (std::size_t i = 0; i < branches.size(); ++i)
    branches[i] = {i + 1 < branches.size() ? &branches[i + 1] : nullptr,
                   random() % 3 == 0 ? nullptr : &leaves[random() % 1000]};
  expect_same_with_every_map(&branches[0]);
  std::vector<bucket> buckets(300);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    for (std::size_t k = random() % 20; k > 0; --k) buckets[i].leaves.push_back(&leaves[random() % 1000]);
    buckets[i].webs = situ::array<web>{std::span<const web>{webs.data(), random() % 4}};
    buckets[i].next = i + 1 < buckets.size() ? &buckets[i + 1] : nullptr;
  }
  expect_same_with_every_map(&buckets[0]);
}

TEST(clone_shapes, large_objects_and_blocks_of_data) {
  std::vector<big> objects(50);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    for (double& number : objects[i].numbers) number = static_cast<double>(i);
    objects[i].next = &objects[(i * 7 + 1) % 50];
  }
  expect_same_with_every_map(&objects[0]);
  const situ::vector<double> numbers(10'001, 1.5);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*clone(numbers), numbers);
}

// The first block of pointers is met while the search is still linear: that must not make the whole of it so.
TEST(clone_shapes, a_long_block_of_pointers_takes_no_quadratic_time) {
  std::vector<leaf> leaves(many);
  situ::vector<leaf*> pointers;
  for (leaf& each : leaves) pointers.push_back(&each);
  const auto start = std::chrono::steady_clock::now();
  const auto copy = clone(pointers);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{5});  // about 20 ms; quadratic: minutes
  EXPECT_EQ(copy.size().objects, many + 2);
  EXPECT_EQ((*copy)[many - 1] - (*copy)[0], static_cast<std::ptrdiff_t>(many - 1));
}

struct tiny {
  std::uint32_t value;
};
struct tiny_list {
  tiny_list* next;
  tiny* value;
};

// Objects of four bytes side by side share eight bytes of the source.
TEST(clone_shapes, neighbours_of_four_bytes_are_two_objects) {
  std::vector<tiny> values(101);
  std::vector<tiny_list> nodes(100);
  for (std::uint32_t i = 0; i < 101; ++i) values[i].value = i;
  for (std::size_t i = 0; i < 100; ++i) nodes[i] = {i + 1 < 100 ? &nodes[i + 1] : nullptr, &values[i + 1]};
  for (const copy_map map : all_maps) {
    const owned<tiny_list> copy = clone(&nodes[0], {map});
    EXPECT_EQ(copy.size().objects, 200U);
    std::uint32_t i = 1;
    for (const tiny_list* at = copy.get(); at != nullptr; at = at->next) ASSERT_EQ(at->value->value, i++);
  }
}

// Memory for the next copy is taken by the size of those before; the size may change all the same.
TEST(clone_shapes, sizes_that_were_expected_and_others) {
  run_alone([] {
    const std::uint64_t blocks = memory_statistics().live_blocks;
    for (const std::size_t n : {100U, 100U, 100U, 101U, 96U,   90U,   50U,   50U,   50U, 1000U, 1000U, 1000U, 20'000U,
                                1U,   1U,   1U,   1U,   3000U, 3000U, 3000U, 3100U, 6U,  6U,    6U,    7U}) {
      const std::vector<list> original = make_list(n);
      const owned<list> copy = clone(&original[0]);
      expect_same_image(copy, clone(&original[0], {copy_map::hash}));
      EXPECT_EQ(copy.size().objects, n);
      EXPECT_LE(memory_statistics().live_blocks, blocks + 1);
    }
    {
      test::graph_maker maker{3};
      const node* const root = maker.make(100);
      for (int i = 0; i < 5; ++i) ASSERT_EQ(test::graph_comparison{}.difference(root, clone(root).get()), "");
    }
    EXPECT_EQ(memory_statistics().live_blocks, blocks);
  });
}

}  // namespace
}  // namespace situ
