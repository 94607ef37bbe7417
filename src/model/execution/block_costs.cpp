#include "model/execution/block_costs.h"

#include <Zydis/Zydis.h>

#include <situ/base/detail/assert.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

// The addresses of the hooks, by the kind of call: the linker's names for the beginnings and ends of sections, into
// which hooks.cpp puts the hooks.
extern "C" {
// NOLINTBEGIN: the linker's names
extern const char __start_situ_hooks_access[], __stop_situ_hooks_access[];
extern const char __start_situ_hooks_atomic[], __stop_situ_hooks_atomic[];
extern const char __start_situ_hooks_plain[], __stop_situ_hooks_plain[];
extern const char __start_situ_hooks_sited[], __stop_situ_hooks_sited[];
extern const char __start_situ_hooks_block[], __stop_situ_hooks_block[];
void __sanitizer_cov_trace_pc();
void __tsan_func_entry(void*);
// NOLINTEND
}

namespace situ::model {
namespace {

enum class callee : std::uint8_t {
  program,
  function_hook,
  access_hook,
  atomic_hook,
  plain_hook,
  sited_hook,
  next_block
};

[[nodiscard]] bool lies_in(std::uintptr_t address, const char* begin, const char* end) noexcept {
  return address >= reinterpret_cast<std::uintptr_t>(begin) && address < reinterpret_cast<std::uintptr_t>(end);
}

[[nodiscard]] callee callee_at(std::uintptr_t target) noexcept {
  if (target == reinterpret_cast<std::uintptr_t>(&__sanitizer_cov_trace_pc)) return callee::next_block;
  if (target == reinterpret_cast<std::uintptr_t>(&__tsan_func_entry)) return callee::function_hook;
  if (lies_in(target, __start_situ_hooks_access, __stop_situ_hooks_access)) return callee::access_hook;
  if (lies_in(target, __start_situ_hooks_atomic, __stop_situ_hooks_atomic)) return callee::atomic_hook;
  if (lies_in(target, __start_situ_hooks_plain, __stop_situ_hooks_plain)) return callee::plain_hook;
  if (lies_in(target, __start_situ_hooks_sited, __stop_situ_hooks_sited)) return callee::sited_hook;
  if (lies_in(target, __start_situ_hooks_block, __stop_situ_hooks_block)) return callee::next_block;
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

[[nodiscard]] bool calls_sited_hook(const std::uint8_t* code) noexcept {
  if (*code != 0xe8) return false;
  std::int32_t distance = 0;
  std::memcpy(&distance, code + 1, sizeof distance);
  const std::uintptr_t target =
      reinterpret_cast<std::uintptr_t>(code) + call_bytes + static_cast<std::uintptr_t>(std::int64_t{distance});
  return callee_at(target) == callee::sited_hook;
}

struct one_instruction {
  ZydisDecodedInstruction is;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

// Returns the target of a call; 0 if the call goes through a register or memory.
[[nodiscard]] std::uintptr_t target_of(const one_instruction& call, std::uintptr_t at) noexcept {
  if (call.is.raw.imm[0].is_relative == 0) return 0;
  return at + call.is.length + static_cast<std::uintptr_t>(call.is.raw.imm[0].value.s);
}

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

// Returns how many memory accesses the instruction makes that a hook may have reported.
[[nodiscard]] std::uint32_t accesses_of(const one_instruction& one) noexcept {
  std::uint32_t made = 0;
  for (std::uint32_t i = 0; i < one.is.operand_count_visible; ++i) {
    const ZydisDecodedOperand& of = one.operands[i];
    if (of.type != ZYDIS_OPERAND_TYPE_MEMORY || of.mem.type != ZYDIS_MEMOP_TYPE_MEM) continue;
    made += (of.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0 ? 1 : 0;
    made += (of.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 ? 1 : 0;
  }
  return made;
}

// Returns whether an operand in memory is addressed by one of these registers.
[[nodiscard]] bool is_at(const one_instruction& one, std::initializer_list<ZydisRegister> bases) noexcept {
  return std::any_of(one.operands, one.operands + one.is.operand_count_visible, [&](const ZydisDecodedOperand& of) {
    return of.type == ZYDIS_OPERAND_TYPE_MEMORY && of.mem.type == ZYDIS_MEMOP_TYPE_MEM &&
           std::find(bases.begin(), bases.end(), of.mem.base) != bases.end();
  });
}

// The state of reading a block.
struct block_reader {
  block_instructions block;
  // accesses whose hooks have been called, and whose instructions still follow
  std::uint32_t told_next = 0;   // the next accesses of any kind are taken for these
  std::uint32_t told_later = 0;  // moves of the frame and of constants taken for accesses; others may replace them
  // parts of the block's classes that cannot be the set-up of a later hook, since they access memory for a told access
  std::uint32_t joined_integer = 0;
  std::uint32_t joined_move = 0;
  std::uint32_t sited = 0;  // hooks in assembly that are for the next instruction
};

// Takes note of hooks in assembly that were called for an instruction. Returns whether the instruction is priced whole.
[[nodiscard]] bool take_sited(block_reader& reader, bool moves) noexcept {
  if (std::exchange(reader.sited, 0) == 0) return false;
  if (moves) {
    ++reader.block.priced;
    return true;
  }
  ++reader.block.joined;
  return false;
}

void count(block_reader& reader, const one_instruction& one) noexcept {
  block_instructions& block = reader.block;
  const ZydisMnemonic what = one.is.mnemonic;
  const ZydisInstructionCategory category = one.is.meta.category;
  if (category == ZYDIS_CATEGORY_NOP || category == ZYDIS_CATEGORY_WIDENOP || category == ZYDIS_CATEGORY_CET) return;
  const bool is_move = category == ZYDIS_CATEGORY_DATAXFER || category == ZYDIS_CATEGORY_PUSH ||
                       category == ZYDIS_CATEGORY_POP || category == ZYDIS_CATEGORY_STRINGOP;
  const bool has_sited = reader.sited > 0;
  if (take_sited(reader, is_move)) return;
  const std::uint32_t made = has_sited ? 0 : accesses_of(one);
  const std::uint32_t priced = std::min(made, reader.told_next);
  const bool moves = category == ZYDIS_CATEGORY_DATAXFER;
  const bool is_own = is_at(one, {ZYDIS_REGISTER_RSP, ZYDIS_REGISTER_RBP});
  reader.told_next -= priced;
  if (priced > 0 && moves) {
    if (is_own || is_at(one, {ZYDIS_REGISTER_RIP})) reader.told_later += priced;
    ++block.priced;
    return;
  }
  const bool is_late = made > 0 && priced == 0 && !is_own && reader.told_later > 0;
  if (is_late) --reader.told_later;
  const std::uint32_t joined = priced > 0 || is_late ? 1 : 0;
  block.joined += joined;
  if (what == ZYDIS_MNEMONIC_IMUL || what == ZYDIS_MNEMONIC_MUL || what == ZYDIS_MNEMONIC_MULX) {
    ++block.multiply;
  } else if (divides(what)) {
    ++block.divide;
  } else if (moves && is_own) {
    ++block.frame;
  } else if (moves) {
    ++block.move;
    reader.joined_move += joined;
  } else if (is_floating(one)) {
    ++block.floating;
  } else {
    ++block.integer;
    reader.joined_integer += joined;
  }
}

// Counts a call; returns false if the block ends before the call.
[[nodiscard]] bool count_call(block_reader& reader, callee to) noexcept {
  block_instructions& block = reader.block;
  // Leaves out the instructions that set up a hook's arguments, if they are in this block: the latest of them that are
  // not known to be the program's own.
  const auto leave_out = [&](std::uint32_t set_up) {
    struct {
      std::uint32_t& count;
      std::uint32_t kept;
    } const classes[] = {{block.move, reader.joined_move}, {block.integer, reader.joined_integer}, {block.frame, 0}};
    for (const auto& [count, kept] : classes) {
      const std::uint32_t less = std::min(count - kept, set_up);
      count -= less;
      set_up -= less;
    }
  };
  switch (to) {
    case callee::next_block: return false;
    case callee::plain_hook: break;
    case callee::function_hook: leave_out(1); break;  // for the caller's address
    case callee::access_hook:
      leave_out(1);  // the address
      ++reader.told_next;
      ++block.accesses;
      break;
    case callee::atomic_hook:
      leave_out(2);  // for the address and the memory order
      ++block.integer;
      break;
    case callee::sited_hook:  // its set-up is known: read_block() has passed over it
    case callee::program:
      static_cast<void>(take_sited(reader, false));
      ++block.call;
      break;
  }
  return true;
}

[[nodiscard]] ZydisDecoder make_decoder() noexcept {
  ZydisDecoder made;
  ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return made;
}

}  // namespace

hook_call hook_called(std::uintptr_t target) noexcept {
  switch (callee_at(target)) {
    case callee::plain_hook:
    case callee::next_block: return hook_call::bare;
    case callee::function_hook:
    case callee::access_hook: return hook_call::addressed;
    case callee::sited_hook: return hook_call::sited;
    case callee::program:
    case callee::atomic_hook: break;
  }
  return hook_call::none;
}

std::size_t hook_site_bytes(std::uintptr_t code) noexcept {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(code);
  for (const bool is_pushed : {true, false}) {
    if (is_pushed && *first != push_rdi) continue;
    const std::uint8_t* at = first + (is_pushed ? 1 : 0);
    const std::size_t address = address_bytes(at);
    if (address == 0 || !calls_sited_hook(at + address)) continue;
    at += address + call_bytes;
    if (is_pushed && *at != pop_rdi) continue;  // the program's own push
    return static_cast<std::size_t>(at - first) + (is_pushed ? 1 : 0);
  }
  return 0;
}

block_instructions read_block(std::uintptr_t code, std::uintptr_t& end) noexcept {
  static const ZydisDecoder decoder = make_decoder();
  block_reader reader;
  block_instructions& block = reader.block;
  one_instruction one;
  bool compares = false;  // the last instruction was a comparison
  for (;; code += one.is.length) {
    end = code;
    one.is.length = static_cast<std::uint8_t>(hook_site_bytes(code));
    if (one.is.length != 0) {
      ++reader.sited;
      ++block.accesses;
      continue;
    }
    // Only code follows, unless a call does not return: bytes that cannot be decoded end the block, too.
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, reinterpret_cast<const void*>(code),
                                             ZYDIS_MAX_INSTRUCTION_LENGTH, &one.is, one.operands)))
      break;
    switch (one.is.meta.category) {
      case ZYDIS_CATEGORY_CALL:
        if (!count_call(reader, callee_at(target_of(one, code)))) return block;
        break;
      case ZYDIS_CATEGORY_RET:
        static_cast<void>(take_sited(reader, false));
        ++block.call;
        end += one.is.length;
        return block;
      case ZYDIS_CATEGORY_COND_BR:
        if (compares) ++block.joined;
        ++block.choices;
        static_cast<void>(take_sited(reader, false));
        ++block.branch;
        end += one.is.length;
        return block;
      case ZYDIS_CATEGORY_UNCOND_BR:
        if (one.is.raw.imm[0].is_relative == 0) ++block.choices;
        static_cast<void>(take_sited(reader, false));
        ++block.branch;
        end += one.is.length;
        return block;
      default: count(reader, one);
    }
    if (one.is.mnemonic == ZYDIS_MNEMONIC_UD2) break;
    compares = one.is.mnemonic == ZYDIS_MNEMONIC_CMP || one.is.mnemonic == ZYDIS_MNEMONIC_TEST;
  }
  return block;
}

constexpr std::uint32_t most_in_block = std::numeric_limits<std::uint16_t>::max() / 2;

std::optional<block_cost> cost_of(const block_instructions& block, const machine::instruction_cycles& cycles,
                                  time_ps period, double width) noexcept {
  SITU_ASSERT(1, block.executed_alone() <= block.count(),
              "an instruction is executed together with one access, if it is counted at all");
  const double of_class[] = {block.integer * cycles.integer, block.multiply * cycles.multiply,
                             block.divide * cycles.divide,   block.floating * cycles.floating,
                             block.branch * cycles.branch,   block.call * cycles.call};
  const std::uint32_t count = width > 0 ? block.executed_alone() : block.count();
  double sum = (block.move + block.frame) * cycles.integer;
  for (const double each : of_class) sum += each;
  if (width > 0) {
    const double of_accesses = block.accesses / width;  // share that each access adds
    sum = std::max(*std::max_element(std::begin(of_class), std::end(of_class)) - of_accesses, count / width);
  }
  const double picoseconds = std::max(std::round(sum * static_cast<double>(period)), 1.0);
  const std::uint32_t without_cost = block.priced + (width > 0 ? block.joined : 0);
  if (!(picoseconds <= std::numeric_limits<std::uint32_t>::max()) || count + without_cost > most_in_block)
    return std::nullopt;
  return block_cost{.picoseconds = static_cast<std::uint32_t>(picoseconds),
                    .instructions = static_cast<std::uint16_t>(count),
                    .without_cost = static_cast<std::uint16_t>(without_cost & most_in_block),
                    .branches = static_cast<std::uint16_t>(block.choices & 1),
                    .lines = {}};
}

}  // namespace situ::model
