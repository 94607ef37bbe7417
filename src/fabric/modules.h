// Which loaded module holds a piece of code, and by which number every place of a job knows it.
//
// A function_id has 16 bits for a module, so a module's number is a hash, and two modules may have the same. What a
// number means is therefore written down once a job, in job_control::modules, by the place that first names code of the
// module:
//
//   place 0 names code of x.so          job_control::modules                 place 1 gets a call to 7 : 0x1139
//   number 7, identity 0xab...  ------> { 0xab..., "x.so" }, ...  ---------> 7 is 0xab...: is that module loaded here?
//
// Invariants
//   1. Entries are only added, at the first empty one, and never change. Of entries with the same number the first has
//      it; a later one is refused: code of that module gets the number `refused_number`, which finds nothing anywhere.
//   2. Code is looked for by the whole identity (64 bits of the build id), never by the number.
//   3. What was named outside a job (by static initialisers, before main) is held against the table when a runtime
//      joins.
// Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace situ::detail {

struct job_control;

// A module as the loader has it now.
struct loaded_module {
  std::uintptr_t base = 0;  // what its offsets count from
  std::uint64_t identity = 0;
  std::string path;                                             // empty: the executable
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> code;  // executable bytes: [first, second)

  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept;
};

// Every loaded module, as of now; valid until the calling thread asks again. cost: a call into the loader where nothing
// was loaded since.
[[nodiscard]] const std::vector<loaded_module>& loaded_modules();

// Of a module with this identity: 1 to 65534.
[[nodiscard]] std::uint64_t module_number(std::uint64_t identity) noexcept;
constexpr std::uint64_t refused_number = 65535;

// The number for function names of this module, after writing it into the tables of all jobs of this process;
// refused_number where another module has it.
std::uint64_t name_module(const loaded_module& module);

// Of the module that has this number in the running job, or, outside one, in this process. Nothing where none has.
[[nodiscard]] std::optional<std::uint64_t> identity_of_number(std::uint64_t number);

// A runtime of this process joins a job: modules that are named already are held against its table, and later ones will
// be. Throws version_mismatch, naming both, where a module's number is another's. forget_job once for each
// announce_modules that returned.
void announce_modules(job_control& control);
void forget_job(job_control& control) noexcept;

// Why a function of the running job's modules is not to be found here, for the caller; and whether the job knows its
// module at all.
[[nodiscard]] std::string describe_missing_function(std::uint64_t function);
[[nodiscard]] bool is_known_to_job(std::uint64_t function) noexcept;

}  // namespace situ::detail
