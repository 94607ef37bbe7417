// The counts and costs of blocks of machine code: by hand, and for random code between two bounds.
#include "model/execution/block_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <random>
#include <vector>

// Hooks in their sections, as in assembly_hooks.cpp. Nothing calls them: the tests' code is only decoded.
extern "C" {
[[gnu::section("situ_hooks_access"), gnu::used]] void access_hook(void*) {}
[[gnu::section("situ_hooks_modify"), gnu::used]] void modify_hook(void*) {}
[[gnu::section("situ_hooks_string"), gnu::used]] void string_hook() {}
[[gnu::section("situ_hooks_block"), gnu::used]] void block_hook() {}
void program_function() {}
}

namespace situ::model {
namespace {

// Code is decoded where it is: a call's distance to a hook has 32 bits, so the code lies in the program.
std::uint8_t code_space[1 << 20];

class code {
 public:
  code& add(std::initializer_list<int> bytes) {
    for (const int each : bytes) code_space[size_++] = static_cast<std::uint8_t>(each);
    return *this;
  }
  template <class Function>
  code& call(Function* to) {
    const auto distance = static_cast<std::int32_t>(reinterpret_cast<std::uintptr_t>(to) -
                                                    reinterpret_cast<std::uintptr_t>(code_space + size_ + 5));
    code_space[size_] = 0xe8;
    std::memcpy(code_space + size_ + 1, &distance, sizeof distance);
    size_ += 5;
    return *this;
  }
  // Calls a hook for an access at [rbx + 8], which keeps rdi or not.
  code& hook(void (*to)(void*), bool keeps_rdi) {
    if (keeps_rdi) add({0x57});
    add({0x48, 0x8d, 0x7b, 0x08}).call(to);
    return keeps_rdi ? add({0x5f}) : *this;
  }
  // Ends the code, also within an instruction: the longest one has 15 bytes.
  [[nodiscard]] block_instructions read() {
    for (int i = 0; i < 16; ++i) add({0xc3});
    std::uintptr_t end = 0;
    return read_block(reinterpret_cast<std::uintptr_t>(code_space), end);
  }

 private:
  std::size_t size_ = 0;
};

// One of each class, and the forms that are executed together with an access: with operands in registers, in the frame,
// at other addresses.
const std::initializer_list<int> instructions[] = {
    {0x48, 0x01, 0xd8},                    // add rax, rbx
    {0x48, 0x03, 0x43, 0x08},              // add rax, [rbx + 8]
    {0x48, 0x01, 0x43, 0x08},              // add [rbx + 8], rax
    {0x48, 0x03, 0x44, 0x24, 0x08},        // add rax, [rsp + 8]
    {0x48, 0x83, 0x7b, 0x08, 0x00},        // cmp qword [rbx + 8], 0
    {0x48, 0x39, 0xd8},                    // cmp rax, rbx
    {0x48, 0x85, 0xc0},                    // test rax, rax
    {0x48, 0x8d, 0x7b, 0x08},              // lea rdi, [rbx + 8]
    {0x48, 0x89, 0xdf},                    // mov rdi, rbx
    {0x48, 0x8b, 0x43, 0x08},              // mov rax, [rbx + 8]
    {0x48, 0x89, 0x43, 0x08},              // mov [rbx + 8], rax
    {0x48, 0x8b, 0x7c, 0x24, 0x08},        // mov rdi, [rsp + 8]
    {0x48, 0x8b, 0x3d, 8, 0, 0, 0},        // mov rdi, [rip + 8]
    {0x0f, 0x10, 0x03},                    // movups xmm0, [rbx]
    {0xf2, 0x0f, 0x58, 0xc1},              // addsd xmm0, xmm1
    {0xf2, 0x0f, 0x58, 0x43, 0x08},        // addsd xmm0, [rbx + 8]
    {0xf2, 0x0f, 0x5e, 0x43, 0x08},        // divsd xmm0, [rbx + 8]
    {0x48, 0x0f, 0xaf, 0xc3},              // imul rax, rbx
    {0x48, 0x0f, 0xaf, 0x43, 0x08},        // imul rax, [rbx + 8]
    {0x48, 0xf7, 0x73, 0x08},              // div qword [rbx + 8]
    {0x53},                                // push rbx
    {0x90},                                // nop
    {0xf0, 0x48, 0x0f, 0xc1, 0x43, 0x08},  // lock xadd [rbx + 8], rax
};

constexpr machine::instruction_cycles of_host{
    .integer = 0.17, .multiply = 1.01, .divide = 9.77, .floating = 0.35, .branch = 0.58, .call = 1.71};
constexpr machine::instruction_cycles of_nemesys{
    .integer = 1, .multiply = 4, .divide = 35, .floating = 4, .branch = 1, .call = 3};

// Checks both bounds of a block's time on a core with a width, its accesses included.
void expect_bounded(const block_instructions& block, const machine::instruction_cycles& cycles, time_ps period,
                    double width) {
  ASSERT_LE(block.joined, block.count());
  const auto cost = cost_of(block, cycles, period, width);
  ASSERT_TRUE(cost);
  const double cycle = static_cast<double>(period);
  const double issue = cycle / width;
  const double of_accesses = block.accesses * issue;
  const double time = cost->picoseconds + of_accesses;
  struct instruction_class {
    std::uint32_t count;
    double cycles;
  };
  const instruction_class classes[] = {{block.integer, cycles.integer}, {block.branch, cycles.branch},
                                       {block.call, cycles.call},       {block.multiply, cycles.multiply},
                                       {block.divide, cycles.divide},   {block.floating, cycles.floating}};
  const instruction_class moves{block.move, cycles.integer};  // they take a share of the width alone
  const auto alone = [&](const instruction_class& each) { return each.count * std::max(each.cycles * cycle, issue); };
  double sum = of_accesses + alone(moves);
  for (const instruction_class& each : classes) {
    sum += alone(each);
    EXPECT_GE(time + 1, each.count * each.cycles * cycle);
  }
  EXPECT_GE(time, of_accesses);
  EXPECT_GE(time + 1, (block.executed_alone() + block.accesses) * issue);
  EXPECT_LE(time, sum + 1);
  EXPECT_EQ(cost->instructions, block.executed_alone());
  EXPECT_EQ(cost->instructions + cost->without_cost, block.count() + block.priced);
}

TEST(BlockCosts, AHookIsForTheInstructionBehindIt) {
  code written;
  written.add({0x48, 0x8d, 0x7b, 0x08});                                // lea rdi, [rbx + 8]: the program's own
  written.hook(access_hook, false).add({0x48, 0x03, 0x43, 0x08});       // add rax, [rbx + 8]
  written.hook(access_hook, true).add({0x48, 0x8b, 0x43, 0x08});        // mov rax, [rbx + 8]
  written.hook(modify_hook, true).add({0x48, 0x01, 0x43, 0x08});        // add [rbx + 8], rax
  written.hook(access_hook, true).add({0x53}).add({0x48, 0x89, 0xdf});  // push rbx; mov rdi, rbx
  written.call(string_hook).add({0xf3, 0x48, 0xab});                    // rep stosq
  written.hook(access_hook, true).call(program_function);               // the return address is written
  written.hook(access_hook, true);                                      // and read: ret
  EXPECT_EQ(written.read(),
            (block_instructions{.integer = 3, .move = 1, .accesses = 7, .priced = 3, .joined = 4, .call = 2}));
}

// push rdi for an argument on the stack, then a hook that may change rdi.
TEST(BlockCosts, APushOfTheProgramIsNotTheHooks) {
  code pushed;
  pushed.hook(access_hook, true).add({0x57}).hook(access_hook, false).add({0x48, 0x8b, 0x43, 0x08});
  EXPECT_EQ(pushed.read(), (block_instructions{.accesses = 2, .priced = 2, .call = 1}));
}

TEST(BlockCosts, JumpsWithMoreThanOneWayAreBranches) {
  EXPECT_EQ(code{}.add({0x75, 0x10}).read(), (block_instructions{.branch = 1, .choices = 1}));
  EXPECT_EQ(code{}.add({0xeb, 0x10}).read(), (block_instructions{.branch = 1}));
  EXPECT_EQ(code{}.add({0xff, 0xe0}).read(), (block_instructions{.branch = 1, .choices = 1}));  // jmp rax
  EXPECT_EQ(code{}.add({0x48, 0x39, 0xd8, 0x75, 0x10}).read(),
            (block_instructions{.integer = 1, .joined = 1, .branch = 1, .choices = 1}));
}

TEST(BlockCosts, ARandomBlockCostsMoreThanItsAccessesAndLessThanItsClasses) {
  for (const std::uint32_t seed : {1U, 2U, 3U, 5U, 8U, 13U, 21U, 34U, 55U, 89U, 144U, 233U}) {
    SCOPED_TRACE(seed);
    std::mt19937 random{seed};
    const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    for (int i = 0; i < 500; ++i) {
      code made;
      const std::uint32_t length = 1 + below(40);
      const bool is_noise = below(4) == 0;  // bytes that no compiler writes
      for (std::uint32_t j = 0; j < length; ++j) {
        switch (below(5)) {
          case 0: made.hook(below(3) == 0 ? modify_hook : access_hook, below(2) == 0); break;
          case 1:
            if (below(4) == 0) made.call(access_hook);  // not as the assembler writes it
            if (below(4) == 0) made.call(string_hook);
            if (below(4) == 0) made.call(program_function);
            break;
          default:
            if (is_noise)
              made.add({static_cast<int>(below(256)), static_cast<int>(below(256)), static_cast<int>(below(256))});
            else
              made.add(instructions[below(std::size(instructions))]);
        }
      }
      if (below(2) == 0) made.add({0x75, 0x10});  // jne
      if (below(4) == 0) made.call(block_hook);
      const block_instructions block = made.read();
      EXPECT_LE(block.count(), 15 * length + 17);
      expect_bounded(block, of_host, 279, 5.8);
      expect_bounded(block, of_nemesys, 20'000, 1);
      expect_bounded(block, of_nemesys, 333, 4);
    }
  }
}

TEST(BlockCosts, ALongBlockIsCountedWhole) {
  code made;
  for (int i = 0; i < 100'000; ++i) made.add({0x48, 0x01, 0xd8});
  EXPECT_EQ(made.read(), (block_instructions{.integer = 100'000, .call = 1}));
}

// 2^32 picoseconds: 107,374 divisions of 2 cycles at 50 MHz are 4,294,960,000; one more is too many.
TEST(BlockCosts, ACostOfMoreThanItsBitsIsNotCut) {
  const machine::instruction_cycles two{.divide = 2};
  EXPECT_EQ(cost_of({.divide = 107'374}, two, 20'000)->picoseconds, 4'294'960'000U);
  EXPECT_FALSE(cost_of({.divide = 107'375}, two, 20'000));
  EXPECT_FALSE(cost_of({.divide = 107'375}, two, 20'000, 1));
  EXPECT_EQ(cost_of({}, two, 20'000)->picoseconds, 1U) << "a known block's cost is not 0";
}

TEST(BlockCostsDeathTest, CountsThatCannotBeAreFound) {
  EXPECT_DEATH((void)cost_of({.integer = 1, .joined = 2}, of_host, 279, 5.8), "together with one access");
}

}  // namespace
}  // namespace situ::model
