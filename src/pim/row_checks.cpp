#include "pim/row_checks.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pim/execute.h"
#include "pim/own_rows.h"

namespace situ::pim {
namespace {

constexpr std::array<std::string_view, named_own_cells> cell_names = {"t0", "t1", "t2", "t3", "dcc0", "dcc1"};

[[noreturn]] void refuse_row(const micro_program& program, std::size_t at, const std::string& what) {
  throw_error(errc::bad_argument, fmt::format("pim: program {}: command {} ({}): {}", program.name, at,
                                              describe(program.commands[at]), what));
}

std::string row_text(const row_name& row) {
  if (row.operand == row_name::scratch) return fmt::format("scratch row {}", row.bit);
  return fmt::format("operand {} bit {}", row.operand, row.bit);
}

// The rows that a command reads, and the one that it writes, if any. Rows that it only restores count as read.
struct used_rows {
  std::optional<row_name> read;
  std::optional<row_name> written;
};

used_rows rows_of(const command& step) {
  switch (step.op) {
    case micro_op::ap:
    case micro_op::read_row: return {step.row, {}};
    case micro_op::aap: return {step.row, step.to};
    case micro_op::write_row: return {{}, step.row};
    default: return {};
  }
}

// Which rows hold something that the program may read, after the commands so far.
class defined_rows {
 public:
  defined_rows(const micro_program& program, std::uint64_t undefined_operands)
      : program_{program}, undefined_{undefined_operands}, scratch_(program.scratch_rows) {}

  void check() {
    for (at_ = 0; at_ < program_.commands.size(); ++at_) {
      const used_rows rows = rows_of(program_.commands[at_]);
      if (rows.read) check_read(*rows.read);
      if (rows.read && rows.written) check_word_lines(*rows.read, *rows.written);
      if (rows.written) write(*rows.written);
    }
  }

 private:
  const opened_cells& cells_of(const row_name& row) const {
    if (row.bit >= named_own_rows) refuse_row(program_, at_, "there is no such row");
    return own_row_cells[row.bit];
  }

  void check_read(const row_name& row) {
    if (row.operand == row_name::own) {
      const opened_cells& opened = cells_of(row);
      for (unsigned i = 0; i < opened.cells; ++i)
        if (!cells_[static_cast<unsigned>(opened.cell[i])])
          refuse_row(program_, at_,
                     fmt::format("it reads {}, which no command before it writes",
                                 cell_names[static_cast<unsigned>(opened.cell[i])]));
      return;
    }
    const bool defined = row.operand == row_name::scratch ? row.bit < scratch_.size() && scratch_[row.bit]
                                                          : !starts_undefined(row) || written_.contains(key(row));
    if (!defined)
      refuse_row(program_, at_, fmt::format("it reads {}, which no command before it writes", row_text(row)));
  }

  // A cell that one command opens through both of its word lines is connected to both of its column's bit lines.
  void check_word_lines(const row_name& from, const row_name& to) const {
    if (from.operand != row_name::own || to.operand != row_name::own) return;
    const opened_cells& first = cells_of(from);
    const opened_cells& second = cells_of(to);
    for (unsigned i = 0; i < first.cells; ++i)
      for (unsigned k = 0; k < second.cells; ++k)
        if (first.cell[i] == second.cell[k] && first.inverted(i) != second.inverted(k))
          refuse_row(program_, at_,
                     fmt::format("it opens {} through both of its addresses at once",
                                 cell_names[static_cast<unsigned>(first.cell[i])]));
  }

  void write(const row_name& row) {
    if (row.operand == row_name::scratch && row.bit < scratch_.size()) scratch_[row.bit] = true;
    if (starts_undefined(row)) written_.insert(key(row));
    if (row.operand != row_name::own) return;
    const opened_cells& opened = cells_of(row);
    if (opened.cells == 0) refuse_row(program_, at_, "it writes a constant");
    for (unsigned i = 0; i < opened.cells; ++i) cells_[static_cast<unsigned>(opened.cell[i])] = true;
  }

  bool starts_undefined(const row_name& row) const { return row.operand < 64 && (undefined_ >> row.operand & 1) != 0; }
  static std::uint32_t key(const row_name& row) { return std::uint32_t{row.operand} << 16 | row.bit; }

  const micro_program& program_;
  std::uint64_t undefined_;
  std::size_t at_ = 0;
  std::array<bool, named_own_cells> cells_{};
  std::vector<bool> scratch_;                  // which have been written
  std::unordered_set<std::uint32_t> written_;  // rows of undefined operands, once they are written
};

bool share_rows(const block& a, const block& b) {
  return a.row < b.row + b.rows && b.row < a.row + a.rows && a.rows != 0 && b.rows != 0;
}

bool any_share_rows(std::span<const block> operands, const block& scratch) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (share_rows(operands[i], scratch)) return true;
    for (std::size_t k = 0; k < i; ++k)
      if (share_rows(operands[i], operands[k])) return true;
  }
  return false;
}

}  // namespace

void check_defined_rows(const micro_program& program, std::uint64_t undefined_operands) {
  defined_rows{program, undefined_operands}.check();
}

std::string opened_together(const row_name& pair) {
  const opened_cells& opened = own_row_cells[pair.bit];
  const auto cell = [&](unsigned i) { return cell_names[static_cast<unsigned>(opened.cell[i])]; };
  return fmt::format("{}{} and {}", opened.inverted(0) ? "~" : "", cell(0), cell(1));
}

void check_shared_rows(const micro_program& program, std::span<const block> operands, const block& scratch) {
  if (!any_share_rows(operands, scratch)) return;
  struct writer {
    row_name row;
    std::size_t at;
  };
  std::unordered_map<std::uint32_t, writer> last;  // by row of the subarray
  const auto place = [&](const row_name& row) {
    const bool is_scratch = row.operand == row_name::scratch;
    return (is_scratch ? scratch.row : operands[row.operand].row) + row.bit;
  };
  const auto in_a_block = [&](const std::optional<row_name>& row) {
    return row && (row->operand == row_name::scratch || row->operand < operands.size());
  };
  for (std::size_t at = 0; at < program.commands.size(); ++at) {
    const used_rows rows = rows_of(program.commands[at]);
    if (in_a_block(rows.read)) {
      const auto found = last.find(place(*rows.read));
      if (found != last.end() && found->second.row != *rows.read)
        refuse_row(program, at,
                   fmt::format("it reads {}, which command {} has destroyed: it writes {}, the same row",
                               row_text(*rows.read), found->second.at, row_text(found->second.row)));
    }
    if (in_a_block(rows.written)) last.insert_or_assign(place(*rows.written), writer{*rows.written, at});
  }
}

}  // namespace situ::pim
