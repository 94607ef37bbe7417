// Random programs over arrays in slow memories, plain memory and an object graph, with units that throw: the bits of
// one unit after the other.
#include <situ/task/graph_region.h>
#include <situ/task/staged_array.h>

#include "stencil/memory_store.h"
#include "support/places.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace situ {

struct program_node {
  std::uint64_t value = 0;
  program_node* next = nullptr;
  program_node* other = nullptr;
};

namespace {

using word = std::uint64_t;
constexpr std::size_t words = 512;  // of a tile of 4 KiB
constexpr std::size_t tiles = 12, budget = 5;
constexpr std::size_t nodes = 12;

// What a program is about: words in four memories.
enum memory : std::uint8_t { first_array, second_array, plain, graph };
constexpr std::array<std::size_t, 4> words_of{tiles * words, tiles* words, 64, nodes};

struct piece {
  memory in;
  std::size_t first, count;  // of a graph: all of it, or one node
  access_mode mode;
  [[nodiscard]] bool shares(const piece& other) const {
    return in == other.in && first < other.first + other.count && other.first < first + count &&
           (mode != access_mode::read || other.mode != access_mode::read);
  }
};
struct planned_unit {
  std::vector<piece> pieces;
  word salt;
  bool throws;
  [[nodiscard]] bool conflicts(const planned_unit& other) const {
    return std::ranges::any_of(pieces, [&](const piece& mine) {
      return std::ranges::any_of(other.pieces, [&](const piece& its) { return mine.shares(its); });
    });
  }
};

template <class At>
void compute(const planned_unit& unit, At at) {
  word sum = unit.salt;
  for (const piece& each : unit.pieces)
    if (each.mode != access_mode::write)
      for (std::size_t i = 0; i < each.count; ++i) sum = test::mixed(sum, at(each.in, each.first + i));
  for (const piece& each : unit.pieces)
    if (each.mode != access_mode::read)
      for (std::size_t i = 0; i < each.count; ++i) at(each.in, each.first + i) = sum = test::mixed(sum, i);
}

std::vector<planned_unit> random_program(std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const bool with_failures = below(2) == 0;
  std::vector<planned_unit> program(1 + below(40));
  for (planned_unit& unit : program) {
    unit.salt = random();
    unit.throws = with_failures && below(20) == 0;
    unit.pieces.resize(below(3));
    for (piece& each : unit.pieces) {
      each.in = static_cast<memory>(below(4));
      each.mode = static_cast<access_mode>(below(3));
      const bool is_array = each.in <= second_array;
      if (is_array && below(3) == 0) {  // whole tiles
        each.count = words * (1 + below(2));
        each.first = words * below(tiles - 1);
      } else if (each.in == graph) {
        each.count = below(2) == 0 ? nodes : 1;
        each.first = each.count == 1 ? below(nodes) : 0;
      } else {
        each.count = 1 + below(is_array ? 40 : 10);
        each.first = below(words_of[each.in] - each.count);
      }
    }
  }
  return program;
}

// The same words twice: as units have them, and as a program has them that runs one unit after the other.
class memories {
 public:
  memories(task_graph& of, std::shared_ptr<backing_store> a, std::shared_ptr<backing_store> b)
      : graph_{of}, a_{of, std::move(a), words_of[0], options()}, b_{of, std::move(b), words_of[1], options()} {
    for (std::size_t i = 0; i + 1 < nodes; ++i) nodes_[i].next = &nodes_[i + 1];
    for (std::size_t i = 2; i < nodes; i += 3) nodes_[i].other = &nodes_[i / 2];
    whole_ = std::make_unique<graph_region>(nodes_.data());
    for (std::size_t m = 0; m < 4; ++m) expected_[m].resize(words_of[m]);
  }

  void check(const std::vector<planned_unit>& program) {
    std::vector<bool> failed(program.size());
    std::size_t first_failure = program.size(), thrown = program.size();
    for (std::size_t i = 0; i < program.size(); ++i) {
      bool runs = true;
      for (std::size_t before = 0; before < i && runs; ++before)
        runs = !failed[before] || !program[before].conflicts(program[i]);
      failed[i] = !runs || program[i].throws;
      if (!failed[i]) compute(program[i], [this](memory m, std::size_t k) -> word& { return expected_[m][k]; });
      if (runs && program[i].throws) first_failure = std::min(first_failure, i);
    }
    for (std::size_t i = 0; i < program.size(); ++i) {
      std::vector<declared_access> accesses;
      for (const piece& each : program[i].pieces) accesses.push_back(declared(each));
      graph_.add(accesses, [this, &program, i] {
        if (program[i].throws) throw i;
        compute(program[i], [this](memory m, std::size_t k) -> word& { return at(m, k); });
      });
    }
    try {
      graph_.wait();
    } catch (std::size_t i) {
      thrown = i;
    }
    EXPECT_EQ(thrown, first_failure);
    std::vector<word> got(words_of[0]);
    a_.read(0, got.size(), got.data());
    EXPECT_EQ(got, expected_[first_array]);
    b_.read(0, got.size(), got.data());
    EXPECT_EQ(got, expected_[second_array]);
    EXPECT_TRUE(std::equal(plain_.begin(), plain_.end(), expected_[plain].begin()));
    for (std::size_t i = 0; i < nodes; ++i) EXPECT_EQ(nodes_[i].value, expected_[graph][i]) << "node " << i;
    EXPECT_LE(a_.statistics().most_bytes, budget * 4096);
  }

 private:
  static staging_options options() { return {.tile_bytes = 4096, .budget_bytes = budget * 4096}; }
  word& at(memory m, std::size_t i) {
    switch (m) {
      case first_array: return a_.data()[i];
      case second_array: return b_.data()[i];
      case plain: return plain_[i];
      default: return nodes_[i].value;
    }
  }
  declared_access declared(const piece& p) {
    if (p.in == graph && p.count == nodes) return {{}, p.mode, &whole_->pieces()};
    if (p.in == graph) return {detail::region_of(nodes_[p.first]), p.mode};
    return {region(&at(p.in, p.first), p.count), p.mode};
  }

  task_graph& graph_;
  staged_array<word> a_, b_;
  std::array<word, 64> plain_{};
  std::array<program_node, nodes> nodes_{};
  std::unique_ptr<graph_region> whole_;
  std::array<std::vector<word>, 4> expected_;
};

std::shared_ptr<backing_store> random_store(std::mt19937_64& random, const std::string& file) {
  switch (random() % 8) {
    case 0: return make_named_file_store(file, words_of[0] * sizeof(word));
    case 1: return make_named_file_store(file, words_of[0] * sizeof(word), page_cache::through);
    case 2: return make_memory_store(intent::capacity);
    case 3: return make_memory_store(memory_kind::of_node(0));
    default: return std::make_shared<stencil::testing::memory_store>();
  }
}

TEST(random_memories, have_the_bits_of_one_unit_after_the_other) {
  std::mt19937_64 random{test::test_seed()};
  const char* const given = std::getenv("SITU_TASK_PROGRAMS");
  const int programs = given == nullptr ? test::rounds(10'000) : std::atoi(given);
  for (int p = 0; p < programs && !testing::Test::HasFailure();) {
    std::string file = testing::TempDir() + "situ_programs_XXXXXX";
    ::close(::mkstemp(file.data()));
    {
      task_graph graph{{.threads = static_cast<std::uint32_t>(1 + random() % 3),
                        .window = 1U << (random() % 8),
                        .checked = random() % 8 == 0}};
      memories all{graph, random_store(random, file), random_store(random, file + "b")};
      for (int i = 0; i < 50; ++i, ++p) {
        SCOPED_TRACE(p);
        all.check(random_program(random));
      }
    }
    std::filesystem::remove(file);
    std::filesystem::remove(file + "b");
  }
}

}  // namespace
}  // namespace situ
