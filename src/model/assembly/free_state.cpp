#include "model/assembly/free_state.h"

#include <algorithm>
#include <span>

namespace situ::model {
namespace {

constexpr int most_instructions = 64;
constexpr unsigned arithmetic_flags =
    ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF;

enum class use { none, reads, replaces };

[[nodiscard]] bool is_rdi(ZydisRegister which) noexcept {
  return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, which) == ZYDIS_REGISTER_RDI;
}

[[nodiscard]] use use_of_rdi(const decoded_instruction& one) noexcept {
  bool replaces = false;
  const bool clears = one.is.mnemonic == ZYDIS_MNEMONIC_XOR && one.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                      one.operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                      one.operands[0].reg.value == one.operands[1].reg.value;
  if (clears && (one.operands[0].reg.value == ZYDIS_REGISTER_RDI || one.operands[0].reg.value == ZYDIS_REGISTER_EDI))
    return use::replaces;
  for (const ZydisDecodedOperand& of : std::span{one.operands, one.is.operand_count}) {
    if (of.type == ZYDIS_OPERAND_TYPE_MEMORY && (is_rdi(of.mem.base) || is_rdi(of.mem.index))) return use::reads;
    if (of.type != ZYDIS_OPERAND_TYPE_REGISTER || !is_rdi(of.reg.value)) continue;
    const bool is_whole = of.reg.value == ZYDIS_REGISTER_RDI || of.reg.value == ZYDIS_REGISTER_EDI;
    if ((of.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0 || !is_whole || of.actions != ZYDIS_OPERAND_ACTION_WRITE)
      return use::reads;
    replaces = true;
  }
  return replaces ? use::replaces : use::none;
}

// Takes the flags that `one` replaces off `flags`. Returns whether it reads one of them.
[[nodiscard]] bool reads_flags(const decoded_instruction& one, unsigned& flags) noexcept {
  if (one.is.cpu_flags == nullptr) return false;
  const ZydisAccessedFlags& of = *one.is.cpu_flags;
  if ((of.tested & flags) != 0) return true;
  flags &= ~(of.modified | of.set_0 | of.set_1 | of.undefined);
  return false;
}

}  // namespace

free_state::free_state(const std::vector<assembly_line>& lines, const decoded_lines& decoded)
    : lines_{lines}, decoded_{decoded} {
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!lines[i].label.empty()) labels_.emplace(lines[i].label, i);
}

bool free_state::is_rdi_free(std::size_t line) const {
  search with{.of_flags = false, .left = most_instructions};
  return is_free(line, 0, with);
}

bool free_state::are_flags_free(std::size_t line) const {
  search with{.of_flags = true, .left = most_instructions};
  return is_free(line, arithmetic_flags, with);
}

bool free_state::is_free(std::size_t line, unsigned flags, search& with) const {
  for (; line < lines_.size(); ++line) {
    if (lines_[line].changes_section) return false;
    if (!lines_[line].is_instruction) continue;
    if (--with.left < 0 || lines_[line].is_from_asm_statement || !decoded_[line]) return false;
    const decoded_instruction& one = *decoded_[line];
    if (with.of_flags) {
      if (reads_flags(one, flags)) return false;
      if (flags == 0) return true;
    } else {
      const use used = use_of_rdi(one);
      if (used != use::none) return used == use::replaces;
    }
    switch (one.is.meta.category) {
      // No function expects flags from its caller, nor from one that it calls. A register may be expected (-fipa-ra).
      case ZYDIS_CATEGORY_CALL:
      case ZYDIS_CATEGORY_RET: return with.of_flags;
      case ZYDIS_CATEGORY_UNCOND_BR:
      case ZYDIS_CATEGORY_COND_BR: {
        const bool is_conditional = one.is.meta.category == ZYDIS_CATEGORY_COND_BR;
        // A jump to another function is a call at the end: the function may be replaced by another file's.
        const std::string_view name = jump_target_of(lines_[line].text);
        const auto target = name.starts_with(".L") ? labels_.find(name) : labels_.end();
        if (target == labels_.end()) return with.of_flags && !name.empty() && !is_conditional;
        const bool there = is_free(target->second, flags, with);
        if (!is_conditional || !there) return there;
        break;
      }
      default: break;
    }
  }
  return false;
}

}  // namespace situ::model
