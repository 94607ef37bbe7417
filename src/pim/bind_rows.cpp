// From a program's rows, by operand and bit, to rows of a subarray; and the checks of a program that need no data.
#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include "pim/execute.h"
#include "pim/row_checks.h"

namespace situ::pim {
namespace {

struct op_facts {
  std::string_view name;
  unsigned inputs = 0;  // latches that it reads: a, then b, then c
  bool has_result = false;
};

constexpr op_facts facts[] = {{"read_row", 0, true},    {"write_row", 1, false}, {"set_zero", 0, true},
                              {"set_one", 0, true},     {"move", 1, true},       {"invert", 1, true},
                              {"logic_and", 2, true},   {"logic_or", 2, true},   {"logic_nand", 2, true},
                              {"logic_nor", 2, true},   {"logic_xor", 2, true},  {"logic_xnor", 2, true},
                              {"select", 3, true},      {"shift_left", 1, true}, {"shift_right", 1, true},
                              {"count_ones", 1, false}, {"ap", 0, false},        {"aap", 0, false}};
static_assert(std::size(facts) == static_cast<unsigned>(micro_op::aap) + 1);

constexpr std::string_view own_names[] = {"t0",       "t1",       "t2",         "t3",         "dcc0",  "~dcc0",
                                          "dcc1",     "~dcc1",    "~dcc0+t0",   "~dcc1+t1",   "t2+t3", "t0+t3",
                                          "t0+t1+t2", "t1+t2+t3", "dcc0+t1+t2", "dcc1+t0+t3", "zero",  "one"};
static_assert(std::size(own_names) == static_cast<unsigned>(own_row::one) + 1);

const op_facts& facts_of(micro_op op) noexcept { return facts[static_cast<unsigned>(op)]; }

bool is_row_command(micro_op op) noexcept { return op >= micro_op::ap; }
bool names_a_row(micro_op op) noexcept {
  return op == micro_op::read_row || op == micro_op::write_row || is_row_command(op);
}

std::string in_words(const row_name& row) {
  if (row.operand == row_name::scratch) return fmt::format("scratch row {}", row.bit);
  if (row.operand != row_name::own) return fmt::format("operand {} bit {}", row.operand, row.bit);
  return row.bit < std::size(own_names) ? std::string{own_names[row.bit]} : fmt::format("own row {}", row.bit);
}

// Binds the commands of one program.
class row_binder {
 public:
  row_binder(const cell_storage& cells, const micro_program& program, const bound_blocks& blocks)
      : cells_{cells}, program_{program}, blocks_{blocks} {}

  std::vector<bound_command> bind() {
    check_blocks();
    std::vector<bound_command> bound;
    bound.reserve(program_.commands.size());
    for (at_ = 0; at_ < program_.commands.size(); ++at_) {
      const command& step = program_.commands[at_];
      if (step.op > micro_op::aap) refuse_command("there is no such command");
      check_latches(step);
      bound_command made{step.op, step.d, step.a, step.b, step.c};
      if (step.op == micro_op::read_row) made.d = 0;
      if (names_a_row(step.op)) made.row = resolve(step.row, step.op);
      if (step.op == micro_op::aap) made.to = resolve(step.to, step.op);
      if (step.op == micro_op::aap && is_constant(step.to)) refuse_command("it writes a constant");
      bound.push_back(made);
    }
    check_defined_rows(program_);
    check_shared_rows(program_, blocks_.operands, program_.scratch_rows > 0 ? blocks_.scratch : block{});
    return bound;
  }

 private:
  static bool is_constant(const row_name& row) noexcept {
    return row == row_name{own_row::zero} || row == row_name{own_row::one};
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw_error(errc::bad_argument, fmt::format("pim: program {}: {}", program_.name, what));
  }
  [[noreturn]] void refuse_command(const std::string& what) const {
    refuse(fmt::format("command {} ({}): {}", at_, describe(program_.commands[at_]), what));
  }

  void check_blocks() const {
    if (blocks_.operands.size() != program_.operands)
      refuse(fmt::format("it has {} operands, but {} are bound", program_.operands, blocks_.operands.size()));
    if (program_.scratch_rows > 0 && blocks_.scratch.rows < program_.scratch_rows)
      refuse(fmt::format("it needs {} scratch rows, but {} are bound: allocate a block beside the operands",
                         program_.scratch_rows, blocks_.scratch.rows));
    for (std::size_t k = 0; k < blocks_.operands.size(); ++k)
      check_place(blocks_.operands[k], fmt::format("operand {}", k));
    if (program_.scratch_rows > 0) check_place(blocks_.scratch, "the scratch block");
    if (blocks_.operands.empty() && program_.scratch_rows == 0) refuse("no block says which subarrays it runs on");
  }

  void check_place(const block& where, const std::string& which) const {
    cells_.check_block(where);
    const block& first = blocks_.operands.empty() ? blocks_.scratch : blocks_.operands.front();
    if (where.subarray != first.subarray || where.subarrays != first.subarrays)
      refuse(
          fmt::format("{} is in subarrays {} to {}, operand 0 in {} to {}: operands lie side by side; copy one of "
                      "them",
                      which, where.subarray, where.subarray + where.subarrays - 1, first.subarray,
                      first.subarray + first.subarrays - 1));
  }

  void check_latches(const command& step) {
    const op_facts& of = facts_of(step.op);
    const bool at_amplifiers = step.op == micro_op::write_row || step.op == micro_op::count_ones;
    const std::array<std::uint8_t, 3> inputs{at_amplifiers ? std::uint8_t{0} : step.a, step.b, step.c};
    for (unsigned i = 0; i < of.inputs; ++i) {
      if (inputs[i] >= latches) refuse_command(fmt::format("a subarray has {} latches", latches));
      if (!set_[inputs[i]]) refuse_command(fmt::format("no command before it sets latch {}", inputs[i]));
    }
    if (!of.has_result) return;
    if (step.d >= latches) refuse_command(fmt::format("a subarray has {} latches", latches));
    set_[step.op == micro_op::read_row ? 0 : step.d] = true;
  }

  std::uint32_t resolve(const row_name& row, micro_op op) const {
    if (row.operand == row_name::own) {
      if (!is_row_command(op)) refuse_command("latches read and write rows of blocks, not those for computing");
      if (row.bit >= std::size(own_names)) refuse_command("there is no such row");
      return bound_command::own_flag | row.bit;
    }
    const bool scratch = row.operand == row_name::scratch;
    if (!scratch && row.operand >= program_.operands)
      refuse_command(fmt::format("the program has {} operands", program_.operands));
    const std::uint32_t rows = scratch ? program_.scratch_rows : blocks_.operands[row.operand].rows;
    if (row.bit >= rows) refuse_command(fmt::format("its block has {} rows", rows));
    return (scratch ? blocks_.scratch.row : blocks_.operands[row.operand].row) + row.bit;
  }

  const cell_storage& cells_;
  const micro_program& program_;
  const bound_blocks& blocks_;
  std::size_t at_ = 0;
  std::array<bool, latches> set_{};
};

}  // namespace

std::vector<bound_command> bind_rows(const cell_storage& cells, const micro_program& program,
                                     const bound_blocks& blocks) {
  return row_binder{cells, program, blocks}.bind();
}

std::string describe(const command& step) {
  if (step.op > micro_op::aap) return "unknown";
  const op_facts& of = facts_of(step.op);
  switch (step.op) {
    case micro_op::read_row:
    case micro_op::write_row:
    case micro_op::ap: return fmt::format("{} {}", of.name, in_words(step.row));
    case micro_op::aap: return fmt::format("{} {}, {}", of.name, in_words(step.row), in_words(step.to));
    case micro_op::count_ones: return std::string{of.name};
    default: break;
  }
  std::string text = fmt::format("{} {}", of.name, step.d);
  const std::array<std::uint8_t, 3> inputs{step.a, step.b, step.c};
  for (unsigned i = 0; i < of.inputs; ++i) text += fmt::format("{} {}", i == 0 ? " =" : ",", inputs[i]);
  return text;
}

}  // namespace situ::pim
