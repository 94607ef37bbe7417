// The functions that the hooks in a program's assembly call (assembly/hooks_in_assembly.h): before each access, with
// its address in rdi, and in each basic block. They keep all registers, since the program's instructions are those
// that the compiler chose without hooks; those whose names end in _f, and those of thread-local variables, of atomics
// and of string instructions keep the flags, too.
//
// Most accesses are aligned and hit the core's first cache. Their hooks are in assembly (situ_hit_hook), since gcc saves
// twice as many registers as they need; whatever else they meet, they go on in the function in C++ for that access, which
// looks again. This file is compiled for general registers alone, so these leave the others as they are; the slow path
// saves them, since it calls the executor and may run other threads.
#include <cstddef>
#include <cstdint>

#include "model/execution/engine.h"

// The slow path. Arguments: the address, bytes << 3 | kind of access (0: the quantum has ended), the accessing code.
extern "C" [[gnu::no_caller_saved_registers]] void situ_model_slow_access(std::uintptr_t at, std::uint64_t what,
                                                                          std::uintptr_t code);
extern "C" [[gnu::no_caller_saved_registers]] void situ_model_slow_block(std::uintptr_t code);
extern "C" [[gnu::no_caller_saved_registers]] void situ_model_slow_fetch(std::uintptr_t code);

namespace situ::model {
namespace {

template <std::size_t Bytes, bool Writes>
[[gnu::always_inline]] inline void access(std::uintptr_t at, std::uintptr_t code) {
  core& c = *running;
  const std::uintptr_t line = at >> c.line_shift;
  time_ps& touch = last_touch_of(line);
  const bool is_in_line = Bytes == 1 || ((at ^ (at + Bytes - 1)) >> c.line_shift) == 0;
  if (!is_in_line || !c.hits_front(line, Writes) || !c.is_in_page(at) || touch == in_order) [[unlikely]] {
    if (&c != &nobody)
      situ_model_slow_access(at, Bytes << 3 | static_cast<unsigned>(Writes ? access_kind::write : access_kind::read),
                             code);
    return;
  }
  ++c.hits[Writes ? 1 : 0];
  c.clock += c.hit_ps;
  touch = c.clock;
  if (c.clock > c.quantum_end) [[unlikely]]
    situ_model_slow_access(0, 0, code);
}

template <std::size_t Bytes>
[[gnu::always_inline]] inline void modify(std::uintptr_t at, std::uintptr_t code) {
  ++running->modified;
  access<Bytes, false>(at, code);
  access<Bytes, true>(at, code);
}

[[gnu::always_inline]] inline void begin_block(std::uintptr_t code) {
  core& c = *running;
  const std::uintptr_t at = code - reinterpret_cast<std::uintptr_t>(&__executable_start);
  if (at >= c.text_bytes || !c.block_costs[at].is_known()) [[unlikely]] {
    if (&c != &nobody) situ_model_slow_block(code);
    return;
  }
  const block_cost& cost = c.block_costs[at];
  c.add_block(cost);
  if (cost.lines != c.fetched) [[unlikely]]
    situ_model_slow_fetch(code);
}

// situ_hit_hook and situ_model_block take these places for granted.
static_assert(offsetof(core, clock) == 0 && offsetof(core, quantum_end) == 8 && offsetof(core, ways) == 32 &&
              offsetof(core, aligned_front) == 40 && offsetof(core, aligned_mask) == 48 &&
              offsetof(core, line_shift) == 56 && offsetof(core, page_mask) == 64 && offsetof(core, page) == 72 &&
              offsetof(core, hit_ps) == 80 && offsetof(core, hits) == 88 && offsetof(core, modified) == 104);
static_assert(offsetof(core, block_costs) == 112 && offsetof(core, text_bytes) == 120 &&
              offsetof(core, blocks) == 128 && offsetof(core, instructions) == 136 &&
              offsetof(core, without_cost) == 144 && offsetof(core, branches) == 152 && offsetof(core, fetched) == 160);
static_assert(sizeof(block_cost) == 24 && offsetof(block_cost, picoseconds) == 0 &&
              offsetof(block_cost, instructions) == 4 && offsetof(block_cost, without_cost) == 8 &&
              offsetof(block_cost, branches) == 12 && offsetof(block_cost, lines) == 16 && sizeof(fetched_lines) == 8);
static_assert(touch_slots == std::size_t{1} << 16 && in_order == ~time_ps{0} && sizeof(time_ps) == 8 &&
              front_cache::dirty_and_writable == 3);

}  // namespace
}  // namespace situ::model

// block_costs.cpp recognises the calls of hooks by the hooks' sections.
#define SITU_ACCESSES [[gnu::section("situ_hooks_access"), gnu::no_caller_saved_registers]]
#define SITU_MODIFIES [[gnu::section("situ_hooks_modify"), gnu::no_caller_saved_registers]]
#define SITU_BLOCK [[gnu::section("situ_hooks_block"), gnu::no_caller_saved_registers]]
#define SITU_KEEPS [[gnu::no_caller_saved_registers]]
#define SITU_CODE reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

// NOLINTBEGIN: names as the assembly has them
// clang-format off
#define SITU_KIND(section, kind, bytes, function)                                                       \
  section void situ_model_##kind##bytes(std::uintptr_t at) { situ::model::function(at, SITU_CODE); }     \
  SITU_KEEPS void situ_model_##kind##_of##bytes(std::uintptr_t at, std::uintptr_t code) { situ::model::function(at, code); }
#define SITU_COMMA ,
// The functions in which the hooks in assembly go on.
#define SITU_GENERAL(bytes)                                                     \
  SITU_KIND(SITU_KEEPS, general_read, bytes, access<bytes SITU_COMMA false>)    \
  SITU_KIND(SITU_KEEPS, general_write, bytes, access<bytes SITU_COMMA true>)    \
  SITU_KIND(SITU_KEEPS, general_modify, bytes, modify<bytes>)
#define SITU_ACCESS(bytes)                                                      \
  SITU_KIND(SITU_ACCESSES, read, bytes, access<bytes SITU_COMMA false>)         \
  SITU_KIND(SITU_ACCESSES, write, bytes, access<bytes SITU_COMMA true>)         \
  SITU_KIND(SITU_MODIFIES, modify, bytes, modify<bytes>)
// clang-format on

extern "C" {
SITU_GENERAL(1)
SITU_GENERAL(2)
SITU_GENERAL(4)
SITU_GENERAL(8)
SITU_GENERAL(16)
SITU_ACCESS(10)
SITU_ACCESS(32)
SITU_ACCESS(64)
SITU_KEEPS void situ_model_quantum_ended() { situ_model_slow_access(0, 0, SITU_CODE); }
SITU_KEEPS void situ_model_lines_changed() { situ_model_slow_fetch(SITU_CODE); }
SITU_KEEPS void situ_model_general_block() { situ::model::begin_block(SITU_CODE); }
SITU_KEEPS void situ_model_block_of(std::uintptr_t code) { situ::model::begin_block(code); }
}
// NOLINTEND

// The hooks that keep the flags: OF by seto, the others by lahf. On the stack of an access's hook, from the top: rsi,
// flags, rax, the return address.
asm(R"(
  .macro situ_save reg
    pushq \reg
    .cfi_adjust_cfa_offset 8
  .endm
  .macro situ_restore reg
    popq \reg
    .cfi_adjust_cfa_offset -8
  .endm
  .macro situ_save_flags
    situ_save %rax
    lahf
    seto %al
    situ_save %rax
  .endm
  .macro situ_return_with_flags
    situ_restore %rax
    addb $127, %al
    sahf
    situ_restore %rax
    ret
  .endm
  # rsi: the accessing code
  .macro situ_begin_access
    situ_save_flags
    situ_save %rsi
    movq 24(%rsp), %rsi
  .endm
  .macro situ_end_access
    situ_restore %rsi
    situ_return_with_flags
  .endm
  .macro situ_function name
    .globl \name
    .type \name, @function
    .p2align 4
  \name:
    .cfi_startproc
  .endm
  .macro situ_end name
    .cfi_endproc
    .size \name, .-\name
  .endm

  # rdi: the address. rdx: the core, rcx: the line's slot in last_touch.
  .macro situ_hit_hook kind bytes
    situ_function situ_model_\kind\bytes
    situ_save %rax
    situ_save %rcx
    situ_save %rdx
    movq _ZN4situ5model7runningE(%rip), %rdx
    .if \bytes > 1
    testb $(\bytes - 1), %dil
    jnz 9f
    .endif
    movq %rdi, %rax
    andq 64(%rdx), %rax
    cmpq 72(%rdx), %rax
    jne 9f
    movl 56(%rdx), %ecx
    movq %rdi, %rax
    shrq %cl, %rax
    movq %rax, %rcx
    andq 48(%rdx), %rcx
    imulq 32(%rdx), %rcx
    shlq $3, %rcx
    addq 40(%rdx), %rcx
    movq (%rcx), %rcx
    .ifc \kind, read
    shrq $2, %rcx
    .else
    xorq $3, %rcx
    rorq $2, %rcx
    .endif
    cmpq %rax, %rcx
    jne 9f
    movzwl %ax, %ecx
    cmpq $-1, _ZN4situ5model10last_touchE(,%rcx,8)
    je 9f
    movq (%rdx), %rax
    addq 80(%rdx), %rax
    .ifc \kind, modify
    addq 80(%rdx), %rax
    cmpq 8(%rdx), %rax
    ja 9f
    incq 88(%rdx)
    incq 96(%rdx)
    incq 104(%rdx)
    .endif
    movq %rax, (%rdx)
    movq %rax, _ZN4situ5model10last_touchE(,%rcx,8)
    .ifc \kind, read
    incq 88(%rdx)
    .endif
    .ifc \kind, write
    incq 96(%rdx)
    .endif
    cmpq 8(%rdx), %rax
    situ_restore %rdx
    situ_restore %rcx
    situ_restore %rax
    .ifnc \kind, modify
    ja 8f
    .endif
    ret
  8:
    jmp situ_model_quantum_ended
  9:
    .cfi_adjust_cfa_offset 24
    situ_restore %rdx
    situ_restore %rcx
    situ_restore %rax
    jmp situ_model_general_\kind\bytes
    situ_end situ_model_\kind\bytes
  .endm

  .macro situ_access_hooks kind bytes general
    situ_function situ_model_\kind\bytes\()_f
    situ_begin_access
    call situ_model_\general\kind\()_of\bytes
    situ_end_access
    situ_end situ_model_\kind\bytes\()_f

    situ_function situ_model_tls_\kind\bytes
    situ_begin_access
    addq %fs:0, %rdi
    call situ_model_\general\kind\()_of\bytes
    situ_end_access
    situ_end situ_model_tls_\kind\bytes
  .endm

  # what: bytes << 3 | access_kind
  .macro situ_atomic_hook prefix name bytes what
    situ_function situ_model_\prefix\name\bytes
    situ_begin_access
    situ_save %rdx
    movq %rsi, %rdx
    movl $\what, %esi
    .ifnb \prefix
    addq %fs:0, %rdi
    .endif
    call situ_model_slow_access
    situ_restore %rdx
    situ_end_access
    situ_end situ_model_\prefix\name\bytes
  .endm

  # A string instruction, of rcx elements or of one. r8: bytes << 1 | whether it reads (movs)
  .macro situ_string_hook name repeats what
    situ_function situ_model_\name
    situ_save_flags
    situ_save %rcx
    situ_save %r8
    .ifeq \repeats
    movl $1, %ecx
    .endif
    movl $\what, %r8d
    call situ_model_slow_string
    situ_restore %r8
    situ_restore %rcx
    situ_return_with_flags
    situ_end situ_model_\name
  .endm

  # A function that keeps all registers: it saves those that a call may change, and calls `called`.
  .macro situ_saving_all name called
    situ_function \name
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    cld
    movq situ_model_saved_bytes(%rip), %rax
    cmpb $0, situ_model_has_x87_alone(%rip)
    je 3f
    # The x87's stack is empty if the top is register 0, and that one is empty: nothing of it is to be saved.
    fnstsw %ax
    testl $0x3800, %eax
    movq situ_model_saved_bytes(%rip), %rax
    jnz 3f
    fxam
    fnstsw %ax
    andl $0x4500, %eax
    cmpl $0x4100, %eax
    movl $256, %eax
    je 3f
    movq situ_model_saved_bytes(%rip), %rax
  3:
    subq %rax, %rsp
    andq $-64, %rsp
    cmpq $256, %rax
    jne 1f
    movaps %xmm0, (%rsp)
    movaps %xmm1, 16(%rsp)
    movaps %xmm2, 32(%rsp)
    movaps %xmm3, 48(%rsp)
    movaps %xmm4, 64(%rsp)
    movaps %xmm5, 80(%rsp)
    movaps %xmm6, 96(%rsp)
    movaps %xmm7, 112(%rsp)
    movaps %xmm8, 128(%rsp)
    movaps %xmm9, 144(%rsp)
    movaps %xmm10, 160(%rsp)
    movaps %xmm11, 176(%rsp)
    movaps %xmm12, 192(%rsp)
    movaps %xmm13, 208(%rsp)
    movaps %xmm14, 224(%rsp)
    movaps %xmm15, 240(%rsp)
    call \called
    movaps (%rsp), %xmm0
    movaps 16(%rsp), %xmm1
    movaps 32(%rsp), %xmm2
    movaps 48(%rsp), %xmm3
    movaps 64(%rsp), %xmm4
    movaps 80(%rsp), %xmm5
    movaps 96(%rsp), %xmm6
    movaps 112(%rsp), %xmm7
    movaps 128(%rsp), %xmm8
    movaps 144(%rsp), %xmm9
    movaps 160(%rsp), %xmm10
    movaps 176(%rsp), %xmm11
    movaps 192(%rsp), %xmm12
    movaps 208(%rsp), %xmm13
    movaps 224(%rsp), %xmm14
    movaps 240(%rsp), %xmm15
    jmp 2f
  1:
    # The state of all registers: the area's header is to be 0 but for what xsave writes.
    movq %rdx, %r9
    xorl %eax, %eax
    movq %rax, 512(%rsp)
    movq %rax, 520(%rsp)
    movq %rax, 528(%rsp)
    movq %rax, 536(%rsp)
    movq %rax, 544(%rsp)
    movq %rax, 552(%rsp)
    movq %rax, 560(%rsp)
    movq %rax, 568(%rsp)
    movl $0xe7, %eax
    xorl %edx, %edx
    xsave64 (%rsp)
    fninit
    movq %r9, %rdx
    call \called
    movl $0xe7, %eax
    xorl %edx, %edx
    xrstor64 (%rsp)
  2:
    leaq -72(%rbp), %rsp
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rax
    popq %rbp
    .cfi_def_cfa %rsp, 8
    ret
    situ_end \name
  .endm

  .pushsection situ_hooks_access, "ax", @progbits
  .irp bytes, 1, 2, 4, 8, 16
    situ_hit_hook read \bytes
    situ_hit_hook write \bytes
    situ_access_hooks read \bytes general_
    situ_access_hooks write \bytes general_
  .endr
  .irp bytes, 10, 32, 64
    situ_access_hooks read \bytes
    situ_access_hooks write \bytes
  .endr
  .irp bytes, 1, 2, 4, 8, 16
    situ_atomic_hook "" atomic \bytes (\bytes << 3 | 2)
    situ_atomic_hook tls_ atomic \bytes (\bytes << 3 | 2)
    situ_atomic_hook "" atomic_read \bytes (\bytes << 3 | 4)
    situ_atomic_hook tls_ atomic_read \bytes (\bytes << 3 | 4)
    situ_atomic_hook "" atomic_write \bytes (\bytes << 3 | 5)
    situ_atomic_hook tls_ atomic_write \bytes (\bytes << 3 | 5)
  .endr
  .popsection

  .pushsection situ_hooks_modify, "ax", @progbits
  .irp bytes, 1, 2, 4, 8, 16
    situ_hit_hook modify \bytes
    situ_access_hooks modify \bytes general_
  .endr
  .irp bytes, 10, 32, 64
    situ_access_hooks modify \bytes
  .endr
  .popsection

  .pushsection situ_hooks_string, "ax", @progbits
  .irp bytes, 1, 2, 4, 8
    situ_string_hook one_movs\bytes 0 (\bytes << 1 | 1)
    situ_string_hook one_stos\bytes 0 (\bytes << 1)
    situ_string_hook rep_movs\bytes 1 (\bytes << 1 | 1)
    situ_string_hook rep_stos\bytes 1 (\bytes << 1)
  .endr
  .popsection

  .pushsection situ_hooks_block, "ax", @progbits
    # rax: the block's cost, rdx: the core
    situ_function situ_model_block
    situ_save %rax
    situ_save %rcx
    situ_save %rdx
    movq _ZN4situ5model7runningE(%rip), %rdx
    movq 24(%rsp), %rax
    subq $__executable_start, %rax
    cmpq 120(%rdx), %rax
    jae 9f
    leaq (%rax,%rax,2), %rax
    movq 112(%rdx), %rcx
    leaq (%rcx,%rax,8), %rax
    movl (%rax), %ecx
    testl %ecx, %ecx
    jz 9f
    addq %rcx, (%rdx)
    incq 128(%rdx)
    movl 4(%rax), %ecx
    addq %rcx, 136(%rdx)
    movl 8(%rax), %ecx
    addq %rcx, 144(%rdx)
    movl 12(%rax), %ecx
    addq %rcx, 152(%rdx)
    movq 16(%rax), %rcx
    cmpq 160(%rdx), %rcx
    situ_restore %rdx
    situ_restore %rcx
    situ_restore %rax
    jne 8f
    ret
  8:
    jmp situ_model_lines_changed
  9:
    .cfi_adjust_cfa_offset 24
    situ_restore %rdx
    situ_restore %rcx
    situ_restore %rax
    jmp situ_model_general_block
    situ_end situ_model_block

    situ_function situ_model_block_f
    situ_begin_access
    situ_save %rdi
    movq %rsi, %rdi
    call situ_model_block_of
    situ_restore %rdi
    situ_end_access
    situ_end situ_model_block_f
  .popsection

  .pushsection .text
    situ_saving_all situ_model_slow_access situ_model_on_access
    situ_saving_all situ_model_slow_block situ_model_on_block
    situ_saving_all situ_model_slow_fetch situ_model_on_fetch
    situ_saving_all situ_model_slow_string situ_model_on_string
  .popsection
)");
