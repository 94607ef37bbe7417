// The loaded modules of this process, and the number by which every place of a job knows the module of a piece of
// code.
//
// A function_id has 16 bits for a module, so a module's number is a hash, and two modules may have the same number.
// The place that first names code of a module therefore writes the meaning of the number into named_modules, once
// a job:
//
//   place 0 names code of x.so          named_modules                        place 1 gets a call to 7 : 0x1139
//   number 7, identity 0xab...  ------> { 0xab..., "x.so" }, ...  ---------> 7 is 0xab...: is that module loaded here?
//
// Invariants
//   1. Entries are only added, at the first empty one, and never change. The first entry with a number has it; a later
//      one is refused: code of that module gets the number `refused_number`, which finds nothing anywhere.
//   2. Code is looked for by the whole identity (64 bits of the build id), never by the number.
//   3. Modules that were named outside a job (by static initialisers, before main) are checked against the table when a
//      runtime joins.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace situ::detail {

struct job_control;

// A module (a shared library) that messages name functions of. Entries are only added.
struct module_entry {
  std::atomic<std::uint64_t> identity{0};  // 0: empty, as all that follow
  std::atomic<std::uint32_t> is_named{0};
  char name[116]{};  // file name; written once, before is_named
};
static_assert(sizeof(module_entry) == 128);

// In the control block of the job.
struct named_modules {
  static constexpr std::size_t most = 256;
  module_entry entries[most]{};
};

// A module as the loader has it now.
struct loaded_module {
  std::uintptr_t base = 0;  // offsets of its code count from here
  std::uint64_t identity = 0;
  std::string path;                                             // empty: the executable
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> code;  // executable bytes: [first, second)

  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept;
};

// Returns every loaded module, as of now; valid until the calling thread calls it again. cost: a call into the loader
// if nothing was loaded since.
[[nodiscard]] const std::vector<loaded_module>& loaded_modules();

// Returns the number of a module with this identity: 1 to 65534.
[[nodiscard]] std::uint64_t module_number(std::uint64_t identity) noexcept;
constexpr std::uint64_t refused_number = 65535;

// Returns the number for function names of this module, after writing the module into the tables of all jobs of this
// process; refused_number if another module has the number.
std::uint64_t name_module(const loaded_module& module);

// Returns the identity of the module that has this number in the running job, or, outside a job, in this process;
// nullopt if no module has it.
[[nodiscard]] std::optional<std::uint64_t> identity_of_number(std::uint64_t number);

// Called when a runtime of this process joins a job: checks the modules that are named already against the job's
// table; later ones will be checked when they are named. Throws version_mismatch, naming both modules, if a module's
// number belongs to another, not_supported if the table is full. The caller calls forget_job once for each
// announce_modules that returned.
void announce_modules(job_control& control);
void forget_job(job_control& control) noexcept;

// describe_missing_function returns the reason, for the caller, why this place does not find a function of the running
// job's modules; is_known_to_job returns true if the job knows the function's module.
[[nodiscard]] std::string describe_missing_function(std::uint64_t function);
[[nodiscard]] bool is_known_to_job(std::uint64_t function) noexcept;

}  // namespace situ::detail
