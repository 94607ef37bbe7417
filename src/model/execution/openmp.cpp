#include "model/execution/openmp.h"

#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/execution/engine.h"
#include "model/execution/host_calls.h"
#include "model/execution/openmp_gates.h"
#include "os/signals.h"

namespace situ::model {
namespace {

enum class meets : std::uint8_t { on_team, on_argument, begins };

// The word that stands for the state of all teams; on a line of its own.
alignas(64) std::uint32_t team_word = 0;

}  // namespace

// A function of libgomp. Its gate has the address of this in its code.
struct openmp_gate {
  const char* name;
  meets how;
  void* function = nullptr;  // libgomp's own; null: not loaded
};

}  // namespace situ::model

#define SITU_GATE(name, how) situ::model::openmp_gate situ_openmp_gate_##name{#name, situ::model::meets::how};
#define SITU_GATE_BEGINS(name) SITU_GATE(name, begins)
#define SITU_GATE_ON_ARGUMENT(name) SITU_GATE(name, on_argument)
#define SITU_GATE_ON_TEAM(name) SITU_GATE(name, on_team)
extern "C" {
SITU_OPENMP_BEGINS(SITU_GATE_BEGINS)
SITU_OPENMP_ON_ARGUMENT(SITU_GATE_ON_ARGUMENT)
SITU_OPENMP_ON_TEAM(SITU_GATE_ON_TEAM)
}

// The function NAME: keeps the registers of its arguments, calls situ_openmp_pass, and jumps to what that returns, with
// the caller's stack, where further arguments are.
#define SITU_GATE_CODE(name)                                                    \
  asm(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name \
      ":\n"                                                                     \
      "  leaq situ_openmp_gate_" #name                                          \
      "(%rip), %rax\n"                                                          \
      "  jmp situ_openmp_gate\n"                                                \
      ".size " #name ", .-" #name "\n");
SITU_OPENMP_BEGINS(SITU_GATE_CODE)
SITU_OPENMP_ON_ARGUMENT(SITU_GATE_CODE)
SITU_OPENMP_ON_TEAM(SITU_GATE_CODE)

asm(R"(
  .text
  .p2align 4
  .type situ_openmp_gate, @function
situ_openmp_gate:
  .cfi_startproc
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  pushq %rcx
  .cfi_adjust_cfa_offset 8
  pushq %r8
  .cfi_adjust_cfa_offset 8
  pushq %r9
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  movq %rdi, %rsi
  movq %rax, %rdi
  call situ_openmp_pass
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %r9
  .cfi_adjust_cfa_offset -8
  popq %r8
  .cfi_adjust_cfa_offset -8
  popq %rcx
  .cfi_adjust_cfa_offset -8
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  jmp *%rax
  .cfi_endproc
  .size situ_openmp_gate, .-situ_openmp_gate
)");

namespace situ::model {
namespace {

// Called through a function that every libgomp has.
template <class Function>
Function* of_libgomp(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// --- libgomp's system calls

struct two_byte_instruction {
  std::uintptr_t address;
  bool is_pause;
};

// In order of address. Never destroyed, as all of the executor's.
std::vector<two_byte_instruction>& replaced = *new std::vector<two_byte_instruction>;
struct sigaction before_replacing{};

constexpr unsigned char undefined_instruction[2] = {0x0f, 0x0b};

// An instruction that was a system call or a pause.
void on_undefined(int, siginfo_t*, void* given) {
  auto& registers = static_cast<ucontext_t*>(given)->uc_mcontext.gregs;
  const auto address = static_cast<std::uintptr_t>(registers[REG_RIP]);
  const auto found = std::ranges::lower_bound(replaced, address, {}, &two_byte_instruction::address);
  if (found == replaced.end() || found->address != address) {  // comes again, to the handler of crashes
    os::restore_action(SIGILL, before_replacing);
    return;
  }
  registers[REG_RIP] += sizeof undefined_instruction;
  const int kept = errno;
  if (found->is_pause) {
    ::sched_yield();
  } else {
    const long result = ::syscall(registers[REG_RAX], registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                                  registers[REG_R10], registers[REG_R8], registers[REG_R9]);
    registers[REG_RAX] = result == -1 ? -errno : result;
  }
  errno = kept;
}

// Finds system calls and pauses in code, which is decoded from its begin on.
void find_instructions(std::uintptr_t begin, std::uintptr_t end) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  for (std::uintptr_t at = begin; at < end;) {
    ZydisDecodedInstruction one;
    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeInstruction(&decoder, nullptr, reinterpret_cast<const void*>(at), end - at, &one))) {
      ++at;
      continue;
    }
    const bool is_pause = one.mnemonic == ZYDIS_MNEMONIC_PAUSE;
    if ((is_pause || one.mnemonic == ZYDIS_MNEMONIC_SYSCALL) && one.length == sizeof undefined_instruction)
      replaced.push_back({at, is_pause});
    at += one.length;
  }
}

void replace_instructions(std::uintptr_t begin, std::uintptr_t end) {
  const std::uintptr_t first = begin & ~std::uintptr_t{4095};
  const auto protect = [&](int how) {
    return host_call(SYS_mprotect, static_cast<long>(first), static_cast<long>(end - first), how) == 0;
  };
  if (!protect(PROT_READ | PROT_WRITE))
    give_up("the host lets nobody change libgomp's code, so OpenMP cannot wait on modelled time");
  for (const two_byte_instruction& each : replaced)
    if (each.address >= begin && each.address < end)
      std::copy_n(undefined_instruction, sizeof undefined_instruction, reinterpret_cast<unsigned char*>(each.address));
  protect(PROT_READ | PROT_EXEC);
}

int replace_in_libgomp(dl_phdr_info* object, std::size_t, void*) {
  const std::string_view file = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  if (!file.substr(file.rfind('/') + 1).starts_with("libgomp.so")) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    find_instructions(begin, begin + part.p_memsz);
    replace_instructions(begin, begin + part.p_memsz);
  }
  return 1;
}

// --- its gates

#define SITU_GATE_ADDRESS(name) &situ_openmp_gate_##name,
openmp_gate* const gates[] = {SITU_OPENMP_BEGINS(SITU_GATE_ADDRESS) SITU_OPENMP_ON_ARGUMENT(SITU_GATE_ADDRESS)
                                  SITU_OPENMP_ON_TEAM(SITU_GATE_ADDRESS)};

using get_level = int();
get_level* level_of_teams = nullptr;

}  // namespace

void begin_openmp() {
  // dlsym(RTLD_NEXT) looks behind the program, so it does not find the gates.
  for (openmp_gate* const each : gates) each->function = dlsym(RTLD_NEXT, each->name);
  level_of_teams = of_libgomp<get_level>("omp_get_level");
  if (level_of_teams == nullptr) return;
  ::dl_iterate_phdr(&replace_in_libgomp, nullptr);
  if (replaced.empty()) give_up("the program's OpenMP is not gcc's libgomp, whose waits alone are modelled");
  // Not on the stack for signals: a handler that sleeps leaves its thread's stack for another's.
  before_replacing = os::handle_signal(SIGILL, &on_undefined, SA_NODEFER);
}

void end_openmp_of(thread& ending) {
  if (!ending.has_team) return;
  ending.has_team = false;
  using pause = int(int);
  constexpr int softly = 1;  // omp_pause_soft: the threads end, the settings stay
  if (auto* const end_team = of_libgomp<pause>("omp_pause_resource_all")) end_team(softly);
}

}  // namespace situ::model

using namespace situ::model;

// Makes a gate's access. Returns the function behind it.
extern "C" [[gnu::used]] void* situ_openmp_pass(openmp_gate* gate, const void* argument) noexcept {
  if (gate->function == nullptr)
    give_up((std::string{gate->name} + ": the program does not link gcc's libgomp, or another version of it").c_str());
  if (running == &nobody) return gate->function;
  const void* const word = gate->how == meets::on_argument ? argument : &team_word;
  the_engine->access(reinterpret_cast<std::uintptr_t>(word), sizeof team_word, access_kind::atomic);
  thread& self = the_engine->self();
  // The first thread's team lives until the process ends.
  if (gate->how == meets::begins && self.index != 0 && level_of_teams() == 0) self.has_team = true;
  return gate->function;
}
