#include "model/assembly/assembly_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace situ::model {
namespace {

constexpr std::string_view blanks = " \t";

[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

// Takes the first word off `text`.
std::string_view take_word(std::string_view& text) noexcept {
  text = trimmed(text);
  const std::string_view word = text.substr(0, text.find_first_of(blanks));
  text = trimmed(text.substr(word.size()));
  return word;
}

// The state of the assembler that decides whether a line is an instruction.
class section_state {
 public:
  [[nodiscard]] bool is_code() const noexcept { return is_code_ && repeats_ == 0; }

  // Returns whether the directive changes the section.
  bool handle(std::string_view directive, std::string_view arguments) {
    if (directive == ".macro" || directive == ".rept" || directive == ".irp" || directive == ".irpc") {
      ++repeats_;
    } else if (directive == ".endm" || directive == ".endr") {
      repeats_ -= repeats_ > 0 ? 1 : 0;
    } else if (directive == ".text") {
      enter(true);
    } else if (directive == ".data" || directive == ".bss") {
      enter(false);
    } else if (directive == ".section") {
      enter(holds_code(arguments));
    } else if (directive == ".pushsection") {
      pushed_.emplace_back(is_code_, was_code_);
      enter(holds_code(arguments));
    } else if (directive == ".popsection" && !pushed_.empty()) {
      std::tie(is_code_, was_code_) = pushed_.back();
      pushed_.pop_back();
    } else if (directive == ".previous") {
      std::swap(is_code_, was_code_);
    } else {
      return directive == ".subsection" || directive == ".popsection";
    }
    return true;
  }

 private:
  void enter(bool code) noexcept { was_code_ = std::exchange(is_code_, code); }
  // gcc names the flags of a section when it enters it for the first time.
  [[nodiscard]] bool holds_code(std::string_view arguments) {
    const std::string_view name = trimmed(arguments.substr(0, arguments.find(',')));
    if (name.starts_with(".gnu.lto_"))
      throw std::runtime_error{
          "compiled with -flto, so it has no instructions yet: compile modelled programs without it"};
    const std::size_t flags = arguments.find('"', name.size());
    if (flags == std::string_view::npos) {
      const auto known = code_sections_.find(name);
      return known == code_sections_.end() ? name.starts_with(".text") : known->second;
    }
    const std::string_view text = arguments.substr(flags + 1, arguments.find('"', flags + 1) - flags - 1);
    return code_sections_[name] = text.find('x') != std::string_view::npos;
  }

  bool is_code_ = true;  // the assembler begins in .text
  bool was_code_ = true;
  std::uint32_t repeats_ = 0;  // macros and repetitions that are not over
  std::vector<std::pair<bool, bool>> pushed_;
  std::map<std::string_view, bool> code_sections_;
};

// Which register the unwinder finds the frame by.
class frame_state {
 public:
  [[nodiscard]] bool is_at_stack_pointer() const noexcept { return in_function_ && register_ == stack_pointer; }

  void handle(std::string_view directive, std::string_view arguments) {
    if (directive == ".cfi_startproc") {
      in_function_ = true;
      register_ = stack_pointer;
    } else if (directive == ".cfi_endproc") {
      in_function_ = false;
    } else if (directive == ".cfi_def_cfa_register" || directive == ".cfi_def_cfa") {
      const std::string_view number = arguments.substr(0, arguments.find(','));
      register_ = -1;  // a register by name: the frame is then found by none that a push changes, or not at all
      std::from_chars(number.data(), number.data() + number.size(), register_);
    } else if (directive == ".cfi_escape") {
      register_ = -1;
    } else if (directive == ".cfi_remember_state") {
      remembered_.push_back(register_);
    } else if (directive == ".cfi_restore_state" && !remembered_.empty()) {
      register_ = remembered_.back();
      remembered_.pop_back();
    }
  }

 private:
  static constexpr int stack_pointer = 7;  // DWARF's number of rsp
  bool in_function_ = false;
  int register_ = stack_pointer;
  std::vector<int> remembered_;
};

[[nodiscard]] bool is_name(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);  // above 127: of a letter beyond ASCII
    return std::isalnum(byte) != 0 || byte > 127 || c == '_' || c == '.' || c == '$';
  });
}

// Returns the part of an instruction behind its mnemonic and its prefixes.
[[nodiscard]] std::string_view operands_of(std::string_view instruction) noexcept {
  constexpr std::array prefixes = {"lock",  "lock;", "rep",    "rep;",    "repz",  "repe",     "repnz",
                                   "repne", "bnd",   "data16", "notrack", "rex64", "xacquire", "xrelease"};
  while (true) {
    const std::string_view word = take_word(instruction);
    const bool is_encoding = word.starts_with('{');  // {vex}, {evex}
    if (!is_encoding &&
        std::none_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) { return prefix == word; }))
      break;
  }
  return trimmed(instruction.substr(0, instruction.find('#')));
}

}  // namespace

std::vector<assembly_line> read_lines(std::string_view text) {
  std::vector<assembly_line> lines;
  section_state section;
  frame_state frame;
  bool in_asm_statement = false;
  atomic_mark mark = atomic_mark::none;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    assembly_line line{.text = text.substr(0, end)};
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string_view rest = trimmed(line.text);
    if (rest.starts_with("#APP")) {
      in_asm_statement = true;
      line.begins_asm_statement = section.is_code();
    }
    if (rest.starts_with("#NO_APP")) in_asm_statement = false;
    if (rest.starts_with("#situ.atomic_read")) mark = atomic_mark::read;
    if (rest.starts_with("#situ.atomic_write")) mark = atomic_mark::write;
    // An asm statement may have several statements on a line, of which the first decides what the line is.
    bool is_first = true;
    while (!rest.empty() && rest.front() != '#') {
      std::string_view one = rest.substr(0, in_asm_statement ? rest.find(';') : rest.size());
      rest = one.size() < rest.size() ? trimmed(rest.substr(one.size() + 1)) : std::string_view{};
      const std::string_view first = take_word(one);
      if (first.empty()) continue;
      if (first.ends_with(':') && is_name(first.substr(0, first.size() - 1)) && one.empty()) {
        if (is_first) line.label = first.substr(0, first.size() - 1);
        line.is_from_asm_statement = in_asm_statement || !section.is_code();
      } else if (first == ".intel_syntax") {
        throw std::runtime_error{"written in Intel's syntax: compile modelled programs without -masm=intel"};
      } else if (first.front() == '.') {
        line.changes_section = section.handle(first, one) || line.changes_section;
        frame.handle(first, one);
      } else if (is_first && section.is_code() && !one.starts_with('=')) {  // name = value is no instruction
        if (one.find("__morestack") != std::string_view::npos)
          throw std::runtime_error{"its functions split the stack: compile modelled programs without -fsplit-stack"};
        line.is_instruction = true;
        line.mark = std::exchange(mark, atomic_mark::none);
        line.is_from_asm_statement = in_asm_statement && line.mark == atomic_mark::none;
        line.has_frame_at_stack_pointer = frame.is_at_stack_pointer();
      }
      is_first = false;
    }
    lines.push_back(line);
  }
  return lines;
}

bool begins_block(std::string_view label) noexcept {
  if (!label.starts_with(".L")) return !label.empty();
  label.remove_prefix(2);
  return !label.empty() && std::all_of(label.begin(), label.end(),
                                       [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

memory_operand memory_operand_of(std::string_view instruction) noexcept {
  std::string_view operands = operands_of(instruction);
  while (!operands.empty()) {
    // The next operand ends at a comma outside of parentheses.
    std::size_t end = 0;
    for (int depth = 0; end < operands.size() && (depth > 0 || operands[end] != ','); ++end)
      depth += operands[end] == '(' ? 1 : operands[end] == ')' ? -1 : 0;
    std::string_view one = trimmed(operands.substr(0, end));
    operands.remove_prefix(std::min(end + 1, operands.size()));
    memory_operand found;
    if (one.starts_with('*')) one = trimmed(one.substr(1));
    if (one.starts_with("%fs:")) {
      found.is_thread_local = true;
      one.remove_prefix(4);
    }
    if (one.empty() || one.front() == '%' || one.front() == '$' || one.front() == '{') continue;
    // What follows the address of a vector's access in braces: a mask.
    found.text = trimmed(one.substr(0, one.find('{')));
    found.is_found = true;
    found.is_relaxed = one.find('@') != std::string_view::npos && one.find("@tpoff") == std::string_view::npos &&
                       one.find("@dtpoff") == std::string_view::npos;
    return found;
  }
  return {};
}

std::string_view jump_target_of(std::string_view instruction) noexcept {
  const std::string_view target = operands_of(instruction);
  return is_name(target) ? target : std::string_view{};
}

}  // namespace situ::model
