#include "model/assembly/hooks_in_assembly.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <unordered_set>

#include "model/assembly/free_state.h"

namespace situ::model {
namespace {

// One access of an instruction.
struct access {
  std::string address;  // an operand, as text
  bool is_at_stack_pointer = false;
  bool is_thread_local = false;
  std::string hook;  // without the prefix and the suffix
};

// The accesses of an instruction, or why they have no hooks.
struct accesses {
  std::vector<access> all;
  std::string string_hook;  // of movs and stos, which needs no address
  bool is_unseen = false;
};

constexpr std::array<std::size_t, 8> sizes = {1, 2, 4, 8, 10, 16, 32, 64};  // there is a hook for each

[[nodiscard]] std::string sized(std::string_view what, std::size_t bytes) {
  return std::string{what} + std::to_string(bytes);
}

[[nodiscard]] bool is_prefetch_or_none(const decoded_instruction& one) noexcept {
  switch (one.is.meta.category) {
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB: return true;
    default: return one.is.mnemonic == ZYDIS_MNEMONIC_CLFLUSH;
  }
}

[[nodiscard]] bool is_vector_of_addresses(const ZydisDecodedOperand& of) noexcept {
  return of.mem.type == ZYDIS_MEMOP_TYPE_VSIB;
}

class reader_of_accesses {
 public:
  reader_of_accesses(const assembly_line& line, const decoded_instruction& one, atomic_mark mark)
      : line_{line}, one_{one}, mark_{mark} {}

  [[nodiscard]] accesses read() {
    if (is_prefetch_or_none(one_)) return {};
    if (one_.is.meta.category == ZYDIS_CATEGORY_STRINGOP) return string_accesses();
    for (const ZydisDecodedOperand& of : std::span{one_.operands, one_.is.operand_count_visible}) add_explicit(of);
    add_stack();
    return found_;
  }

 private:
  [[nodiscard]] accesses string_accesses() const {
    accesses found;
    const std::size_t bytes = one_.is.operand_width == 0 ? 1 : one_.is.operand_width / 8;
    switch (one_.is.mnemonic) {
      case ZYDIS_MNEMONIC_MOVSB: found.string_hook = "movs1"; break;
      case ZYDIS_MNEMONIC_STOSB: found.string_hook = "stos1"; break;
      case ZYDIS_MNEMONIC_MOVSW:
      case ZYDIS_MNEMONIC_MOVSD:
      case ZYDIS_MNEMONIC_MOVSQ: found.string_hook = sized("movs", bytes); break;
      case ZYDIS_MNEMONIC_STOSW:
      case ZYDIS_MNEMONIC_STOSD:
      case ZYDIS_MNEMONIC_STOSQ: found.string_hook = sized("stos", bytes); break;
      default: found.is_unseen = true;
    }
    const bool repeats = (one_.is.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE)) != 0;
    if (!found.string_hook.empty()) found.string_hook.insert(0, repeats ? "rep_" : "one_");
    return found;
  }

  void add_explicit(const ZydisDecodedOperand& of) {
    if (of.type != ZYDIS_OPERAND_TYPE_MEMORY) return;
    if (is_vector_of_addresses(of)) {
      found_.is_unseen = true;
      return;
    }
    if (of.mem.type != ZYDIS_MEMOP_TYPE_MEM) return;
    const memory_operand text = memory_operand_of(line_.text);
    const std::size_t bytes = of.size / 8;
    if (text.is_relaxed) return;
    if (!text.is_found || std::find(sizes.begin(), sizes.end(), bytes) == sizes.end() ||
        (of.mem.segment == ZYDIS_REGISTER_FS) != text.is_thread_local || of.mem.segment == ZYDIS_REGISTER_GS) {
      found_.is_unseen = true;
      return;
    }
    const auto add = [&](std::string hook) {
      std::string address{text.text};
      if (one_.is.mnemonic == ZYDIS_MNEMONIC_POP && of.mem.base == ZYDIS_REGISTER_RSP)  // the address is taken after it
        address.insert(0, address.starts_with('(') ? "8" : "8+");
      found_.all.push_back({.address = std::move(address),
                            .is_at_stack_pointer = of.mem.base == ZYDIS_REGISTER_RSP,
                            .is_thread_local = text.is_thread_local,
                            .hook = std::move(hook)});
    };
    if (mark_ == atomic_mark::read) return add(sized("atomic_read", bytes));
    if (mark_ == atomic_mark::write) return add(sized("atomic_write", bytes));
    const bool is_atomic = (one_.is.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 || one_.is.mnemonic == ZYDIS_MNEMONIC_XCHG;
    if (is_atomic) return add(sized("atomic", bytes));
    const bool reads = (of.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    const bool writes = (of.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (reads || writes) add(sized(reads && writes ? "modify" : reads ? "read" : "write", bytes));
  }

  void add_stack() {
    const auto add = [&](std::string address, const char* hook) {
      found_.all.push_back({.address = std::move(address), .is_at_stack_pointer = true, .hook = hook});
    };
    switch (one_.is.meta.category) {
      case ZYDIS_CATEGORY_CALL: return add("-8(%rsp)", "write8");
      case ZYDIS_CATEGORY_RET: return add("(%rsp)", "read8");
      case ZYDIS_CATEGORY_PUSH: return add("-8(%rsp)", "write8");
      case ZYDIS_CATEGORY_POP: return add("(%rsp)", "read8");
      default:
        if (one_.is.mnemonic == ZYDIS_MNEMONIC_LEAVE) found_.all.push_back({.address = "(%rbp)", .hook = "read8"});
    }
  }

  const assembly_line& line_;
  const decoded_instruction& one_;
  const atomic_mark mark_;
  accesses found_;
};

[[nodiscard]] bool is_jump(const decoded_instruction& one) noexcept {
  return one.is.meta.category == ZYDIS_CATEGORY_COND_BR || one.is.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
}

// Code for a thread-local variable of a shared library, which the linker knows by its bytes: nothing may lie within.
[[nodiscard]] bool is_for_linker(std::string_view text) noexcept {
  return text.find("__tls_get_addr") != std::string_view::npos || text.find("rex64") != std::string_view::npos;
}

[[nodiscard]] bool uses_wide_registers(const decoded_instruction& one) noexcept {
  return one.is.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX || one.is.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
}

[[nodiscard]] bool uses_x87(const decoded_instruction& one) noexcept {
  return one.is.meta.category == ZYDIS_CATEGORY_X87_ALU || one.is.meta.category == ZYDIS_CATEGORY_FCMOV ||
         one.is.meta.isa_set == ZYDIS_ISA_SET_X87;
}

class writer {
 public:
  writer(const std::vector<assembly_line>& lines, const decoded_lines& decoded)
      : lines_{lines}, decoded_{decoded}, state_{lines, decoded} {
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (decoded[i] != nullptr && is_jump(*decoded[i])) targets_.insert(jump_target_of(lines[i].text));
    targets_.erase(std::string_view{});
  }

  [[nodiscard]] hooked_assembly write() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const assembly_line& line = lines_[i];
      if (!line.is_from_asm_statement && (begins_block(line.label) || targets_.contains(line.label)))
        begins_block_ = true;
      if (line.begins_asm_statement) begin_asm_statement();
      if (line.is_instruction) write_hooks(i);
      text(line.text);
    }
    // The executor then saves these registers, too, wherever it runs (execution/assembly_hooks.cpp).
    if (is_wide_) text("\t.section situ_model_wide,\"a\",@progbits\n\t.byte 1");
    if (has_x87_) text("\t.section situ_model_x87,\"a\",@progbits\n\t.byte 1");
    return std::move(result_);
  }

 private:
  void text(std::string_view line) { result_.text.append(line).push_back('\n'); }

  // A block that begins with an asm statement begins before it, whatever it holds; jumps within it begin no block.
  void begin_asm_statement() {
    if (begins_block_) text("\tcall\tsitu_model_block_f");
    begins_block_ = false;
  }

  void write_hooks(std::size_t i) {
    const assembly_line& line = lines_[i];
    if (!decoded_[i] || line.is_from_asm_statement) return;
    const decoded_instruction& one = *decoded_[i];
    is_wide_ = is_wide_ || uses_wide_registers(one);
    has_x87_ = has_x87_ || uses_x87(one);
    if (one.is.mnemonic == ZYDIS_MNEMONIC_ENDBR64) return;
    if (is_for_linker(line.text)) return;
    const bool are_flags_free = state_.are_flags_free(i);
    if (begins_block_) text(are_flags_free ? "\tcall\tsitu_model_block" : "\tcall\tsitu_model_block_f");
    begins_block_ = one.is.meta.category == ZYDIS_CATEGORY_COND_BR;
    const atomic_mark mark = begins_exchange(i) ? atomic_mark::read : line.mark;
    accesses made = reader_of_accesses{line, one, mark}.read();
    if (made.is_unseen) ++result_.unseen[ZydisMnemonicGetString(one.is.mnemonic)];
    if (!made.string_hook.empty()) text("\tcall\tsitu_model_" + made.string_hook);
    for (const access& each : made.all) write_access(i, each, are_flags_free);
  }

  // Returns whether the instruction loads the value that a lock cmpxchg of the same word, a few instructions later,
  // compares with: so gcc makes fetch_and, fetch_or and the like, whose load is a part of the atomic.
  [[nodiscard]] bool begins_exchange(std::size_t i) const {
    constexpr int most_between = 12;
    const decoded_instruction& load = *decoded_[i];
    const ZydisDecodedOperand* const operands = load.operands;
    if ((load.is.mnemonic != ZYDIS_MNEMONIC_MOV && load.is.mnemonic != ZYDIS_MNEMONIC_MOVZX) ||
        operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER || operands[1].type != ZYDIS_OPERAND_TYPE_MEMORY ||
        ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operands[0].reg.value) != ZYDIS_REGISTER_RAX)
      return false;
    int between = 0;
    for (std::size_t next = i + 1; next < lines_.size() && between < most_between; ++next) {
      if (!lines_[next].is_instruction) continue;
      if (decoded_[next] == nullptr || is_jump(*decoded_[next]) ||
          decoded_[next]->is.meta.category == ZYDIS_CATEGORY_CALL ||
          decoded_[next]->is.meta.category == ZYDIS_CATEGORY_RET)
        return false;
      if (decoded_[next]->is.mnemonic == ZYDIS_MNEMONIC_CMPXCHG)
        return memory_operand_of(lines_[next].text).text == memory_operand_of(lines_[i].text).text;
      ++between;
    }
    return false;
  }

  void write_access(std::size_t i, const access& of, bool are_flags_free) {
    const bool keeps_rdi = !state_.is_rdi_free(i);
    const bool tells_frame = keeps_rdi && lines_[i].has_frame_at_stack_pointer;
    if (keeps_rdi) text("\tpushq\t%rdi");
    if (tells_frame) text("\t.cfi_adjust_cfa_offset 8");
    std::string address = of.address;
    if (keeps_rdi && of.is_at_stack_pointer) address = address.front() == '(' ? "8" + address : "8+" + address;
    text("\tleaq\t" + address + ", %rdi");
    std::string call = "\tcall\tsitu_model_";
    if (of.is_thread_local) call += "tls_";
    call += of.hook;
    // Hooks of atomics and of thread-local variables always keep the flags.
    if (!are_flags_free && !of.is_thread_local && !of.hook.starts_with("atomic")) call += "_f";
    text(call);
    if (keeps_rdi) text("\tpopq\t%rdi");
    if (tells_frame) text("\t.cfi_adjust_cfa_offset -8");
  }

  const std::vector<assembly_line>& lines_;
  const decoded_lines& decoded_;
  free_state state_;
  std::unordered_set<std::string_view> targets_;  // labels that jumps lead to; few of them have no number
  bool begins_block_ = false;
  bool is_wide_ = false;
  bool has_x87_ = false;
  hooked_assembly result_;
};

}  // namespace

hooked_assembly add_hooks(const std::vector<assembly_line>& lines, const decoded_lines& decoded) {
  return writer{lines, decoded}.write();
}

std::string add_marks(const std::vector<assembly_line>& lines) {
  std::string marked;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].is_instruction) marked.append(mark_of(i)).append(":\n");
    marked.append(lines[i].text).push_back('\n');
  }
  return marked;
}

}  // namespace situ::model
