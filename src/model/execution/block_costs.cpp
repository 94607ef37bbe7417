#include "model/execution/block_costs.h"

#include <Zydis/Zydis.h>

#include <situ/base/detail/assert.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

// The linker's names for the beginnings and ends of the sections into which assembly_hooks.cpp puts the hooks, by kind.
extern "C" {
// NOLINTBEGIN: the linker's names
extern const char __start_situ_hooks_access[], __stop_situ_hooks_access[];
extern const char __start_situ_hooks_modify[], __stop_situ_hooks_modify[];
extern const char __start_situ_hooks_string[], __stop_situ_hooks_string[];
extern const char __start_situ_hooks_block[], __stop_situ_hooks_block[];
// NOLINTEND
}

namespace situ::model {
namespace {

enum class callee : std::uint8_t { program, access_hook, modify_hook, string_hook, next_block };

[[nodiscard]] bool lies_in(std::uintptr_t address, const char* begin, const char* end) noexcept {
  return address >= reinterpret_cast<std::uintptr_t>(begin) && address < reinterpret_cast<std::uintptr_t>(end);
}

[[nodiscard]] callee callee_at(std::uintptr_t target) noexcept {
  if (lies_in(target, __start_situ_hooks_access, __stop_situ_hooks_access)) return callee::access_hook;
  if (lies_in(target, __start_situ_hooks_block, __stop_situ_hooks_block)) return callee::next_block;
  if (lies_in(target, __start_situ_hooks_modify, __stop_situ_hooks_modify)) return callee::modify_hook;
  if (lies_in(target, __start_situ_hooks_string, __stop_situ_hooks_string)) return callee::string_hook;
  return callee::program;
}

constexpr std::uint8_t push_rdi = 0x57;
constexpr std::uint8_t pop_rdi = 0x5f;
constexpr std::size_t call_bytes = 5;

// Returns the length of an instruction at `code` that puts an address into rdi (lea); 0 if it is another instruction.
[[nodiscard]] std::size_t address_bytes(const std::uint8_t* code) noexcept {
  const bool is_wide = (code[0] & 0xfc) == 0x48;                          // a REX prefix; the register has no more bits
  if (!is_wide || code[1] != 0x8d || (code[2] & 0x38) != 0x38) return 0;  // lea to register 7, rdi
  const std::uint8_t mode = code[2] >> 6;
  const bool has_index_byte = (code[2] & 7) == 4;
  const bool is_far = mode == 2 || (mode == 0 && ((code[2] & 7) == 5 || (has_index_byte && (code[3] & 7) == 5)));
  return 3 + (has_index_byte ? 1 : 0) + (is_far ? 4 : mode == 1 ? 1 : 0);
}

// Returns what the 5 bytes at `code` call; `program` if they are no call.
[[nodiscard]] callee called_by(const std::uint8_t* code) noexcept {
  if (*code != 0xe8) return callee::program;
  std::int32_t distance = 0;
  std::memcpy(&distance, code + 1, sizeof distance);
  return callee_at(reinterpret_cast<std::uintptr_t>(code) + call_bytes +
                   static_cast<std::uintptr_t>(std::int64_t{distance}));
}

// A call of a hook with what belongs to it: push rdi; lea address, rdi; call; pop rdi. Without push and pop if the
// program does not need rdi.
struct hook_site {
  std::size_t bytes = 0;  // 0: the code is the program's own
  std::uint32_t accesses = 0;
};

[[nodiscard]] hook_site hook_site_at(std::uintptr_t code) noexcept {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(code);
  for (const bool is_pushed : {true, false}) {
    if (is_pushed && *first != push_rdi) continue;
    const std::uint8_t* at = first + (is_pushed ? 1 : 0);
    const std::size_t address = address_bytes(at);
    if (address == 0) continue;
    at += address;
    const callee to = called_by(at);
    if (to != callee::access_hook && to != callee::modify_hook) continue;
    at += call_bytes;
    if (is_pushed && *at++ != pop_rdi) continue;  // the program's own push
    return {.bytes = static_cast<std::size_t>(at - first), .accesses = to == callee::modify_hook ? 2u : 1u};
  }
  return {};
}

struct one_instruction {
  ZydisDecodedInstruction is;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

[[nodiscard]] bool is_floating(const one_instruction& one) noexcept {
  const ZydisInstructionCategory category = one.is.meta.category;
  if (category == ZYDIS_CATEGORY_DATAXFER || category == ZYDIS_CATEGORY_LOGICAL_FP) return false;
  return std::any_of(one.operands, one.operands + one.is.operand_count_visible, [](const ZydisDecodedOperand& of) {
    return of.element_type == ZYDIS_ELEMENT_TYPE_FLOAT32 || of.element_type == ZYDIS_ELEMENT_TYPE_FLOAT64 ||
           of.element_type == ZYDIS_ELEMENT_TYPE_FLOAT80;
  });
}

[[nodiscard]] bool divides(ZydisMnemonic what) noexcept {
  switch (what) {
    case ZYDIS_MNEMONIC_DIV:
    case ZYDIS_MNEMONIC_IDIV:
    case ZYDIS_MNEMONIC_DIVSS:
    case ZYDIS_MNEMONIC_DIVSD:
    case ZYDIS_MNEMONIC_DIVPS:
    case ZYDIS_MNEMONIC_DIVPD:
    case ZYDIS_MNEMONIC_VDIVSS:
    case ZYDIS_MNEMONIC_VDIVSD:
    case ZYDIS_MNEMONIC_VDIVPS:
    case ZYDIS_MNEMONIC_VDIVPD:
    case ZYDIS_MNEMONIC_SQRTSS:
    case ZYDIS_MNEMONIC_SQRTSD:
    case ZYDIS_MNEMONIC_SQRTPS:
    case ZYDIS_MNEMONIC_SQRTPD:
    case ZYDIS_MNEMONIC_VSQRTSS:
    case ZYDIS_MNEMONIC_VSQRTSD:
    case ZYDIS_MNEMONIC_VSQRTPS:
    case ZYDIS_MNEMONIC_VSQRTPD:
    case ZYDIS_MNEMONIC_FDIV:
    case ZYDIS_MNEMONIC_FDIVP:
    case ZYDIS_MNEMONIC_FDIVR:
    case ZYDIS_MNEMONIC_FDIVRP:
    case ZYDIS_MNEMONIC_FSQRT: return true;
    default: return false;
  }
}

[[nodiscard]] bool is_move(ZydisInstructionCategory category) noexcept {
  switch (category) {
    case ZYDIS_CATEGORY_DATAXFER:
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_POP:
    case ZYDIS_CATEGORY_STRINGOP: return true;
    default: return false;
  }
}

// Counts an instruction that is no jump, call or return. `has_hook`: its accesses have one.
void count(block_instructions& block, const ZydisDecodedInstruction& is, bool is_of_floats, bool has_hook) noexcept {
  const ZydisInstructionCategory category = is.meta.category;
  if (category == ZYDIS_CATEGORY_NOP || category == ZYDIS_CATEGORY_WIDENOP || category == ZYDIS_CATEGORY_CET) return;
  if (has_hook && is_move(category)) {
    ++block.priced;
    return;
  }
  if (has_hook) ++block.joined;
  if (is.mnemonic == ZYDIS_MNEMONIC_IMUL || is.mnemonic == ZYDIS_MNEMONIC_MUL || is.mnemonic == ZYDIS_MNEMONIC_MULX) {
    ++block.multiply;
  } else if (divides(is.mnemonic)) {
    ++block.divide;
  } else if (category == ZYDIS_CATEGORY_DATAXFER) {
    ++block.move;
  } else if (is_of_floats) {
    ++block.floating;
  } else {
    ++block.integer;
  }
}

[[nodiscard]] ZydisDecoder make_decoder() noexcept {
  ZydisDecoder made;
  ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return made;
}

}  // namespace

hook_call hook_called(std::uintptr_t target) noexcept {
  switch (callee_at(target)) {
    case callee::string_hook:
    case callee::next_block: return hook_call::bare;
    case callee::access_hook:
    case callee::modify_hook: return hook_call::addressed;
    case callee::program: break;
  }
  return hook_call::none;
}

block_instructions read_block(std::uintptr_t code, std::uintptr_t& end) noexcept {
  static const ZydisDecoder decoder = make_decoder();
  block_instructions block;
  one_instruction one;
  bool has_hook = false;  // accesses of the next instruction have a hook
  bool compares = false;  // the last instruction was a comparison
  for (;;) {
    end = code;
    if (const hook_site site = hook_site_at(code); site.bytes != 0) {
      has_hook = true;
      block.accesses += site.accesses;
      code += site.bytes;
      continue;
    }
    const callee to = called_by(reinterpret_cast<const std::uint8_t*>(code));
    if (to == callee::next_block) return block;
    if (to == callee::string_hook) {
      has_hook = true;
      code += call_bytes;
      continue;
    }
    // Only code follows, unless a call does not return: bytes that cannot be decoded end the block, too.
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, reinterpret_cast<const void*>(code),
                                             ZYDIS_MAX_INSTRUCTION_LENGTH, &one.is, one.operands)))
      return block;
    switch (one.is.meta.category) {
      case ZYDIS_CATEGORY_CALL:
        ++block.call;
        if (has_hook) ++block.joined;
        break;
      case ZYDIS_CATEGORY_RET:
        ++block.call;
        if (has_hook) ++block.joined;
        end += one.is.length;
        return block;
      case ZYDIS_CATEGORY_COND_BR:
        ++block.branch;
        ++block.choices;
        if (compares) ++block.joined;
        end += one.is.length;
        return block;
      case ZYDIS_CATEGORY_UNCOND_BR:
        ++block.branch;
        if (one.is.raw.imm[0].is_relative == 0) ++block.choices;
        if (has_hook) ++block.joined;
        end += one.is.length;
        return block;
      default: count(block, one.is, is_floating(one), has_hook);
    }
    if (one.is.mnemonic == ZYDIS_MNEMONIC_UD2) return block;
    compares = one.is.mnemonic == ZYDIS_MNEMONIC_CMP || one.is.mnemonic == ZYDIS_MNEMONIC_TEST;
    has_hook = false;
    code += one.is.length;
  }
}

std::optional<block_cost> cost_of(const block_instructions& block, const machine::instruction_cycles& cycles,
                                  time_ps period, double width) noexcept {
  SITU_ASSERT(1, block.executed_alone() <= block.count(),
              "an instruction is executed together with one access, if it is counted at all");
  const double of_class[] = {block.integer * cycles.integer, block.multiply * cycles.multiply,
                             block.divide * cycles.divide,   block.floating * cycles.floating,
                             block.branch * cycles.branch,   block.call * cycles.call};
  const std::uint32_t count = width > 0 ? block.executed_alone() : block.count();
  double sum = block.move * cycles.integer;
  for (const double each : of_class) sum += each;
  if (width > 0) {
    const double of_accesses = block.accesses / width;  // share that each access adds
    sum = std::max(*std::max_element(std::begin(of_class), std::end(of_class)) - of_accesses, count / width);
  }
  const double picoseconds = std::max(std::round(sum * static_cast<double>(period)), 1.0);
  const std::uint32_t without_cost = block.priced + (width > 0 ? block.joined : 0);
  if (!(picoseconds <= std::numeric_limits<std::uint32_t>::max())) return std::nullopt;
  return block_cost{.picoseconds = static_cast<std::uint32_t>(picoseconds),
                    .instructions = count,
                    .without_cost = without_cost,
                    .branches = block.choices,
                    .lines = {}};
}

}  // namespace situ::model
