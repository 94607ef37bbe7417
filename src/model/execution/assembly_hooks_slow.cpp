// The slow path of the hooks in a program's assembly (assembly_hooks.cpp): ordinary functions, which those call after
// all registers are saved.
#include <cpuid.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "model/execution/engine.h"
#include "model/execution/memory_calls.h"

// The linker's names for the sections that are not empty if a file of the program uses registers beyond the general
// ones and the lower halves of the 16 vector registers; or the x87, as all code with a long double does.
extern "C" [[gnu::weak]] const char __start_situ_model_wide[];  // NOLINT
extern "C" [[gnu::weak]] const char __stop_situ_model_wide[];   // NOLINT
extern "C" [[gnu::weak]] const char __start_situ_model_x87[];   // NOLINT
extern "C" [[gnu::weak]] const char __stop_situ_model_x87[];    // NOLINT

extern "C" {
// The number of bytes that a hook saves on the slow path: 256 for the vector registers' lower halves, or more for all
// state, which takes 20 times as long (some 200 ns).
extern std::uint64_t situ_model_saved_bytes;
std::uint64_t situ_model_saved_bytes = 256;
// Returns whether the program uses the x87 alone of that state: then 256 bytes do while the x87's stack is empty.
extern bool situ_model_has_x87_alone;
bool situ_model_has_x87_alone = false;
}

namespace situ::model {
namespace {

static_assert(static_cast<int>(access_kind::atomic) == 2 && static_cast<int>(access_kind::atomic_read) == 4 &&
                  static_cast<int>(access_kind::atomic_write) == 5,
              "assembly_hooks.cpp has these figures");

[[gnu::constructor(101)]] void choose_what_to_save() {
  const bool is_wide = &__start_situ_model_wide[0] != &__stop_situ_model_wide[0];
  if (!is_wide && &__start_situ_model_x87[0] == &__stop_situ_model_x87[0]) return;
  situ_model_has_x87_alone = !is_wide;
  unsigned all = 0, enabled = 0, other[2] = {};
  if (__get_cpuid_count(13, 0, &other[0], &enabled, &all, &other[1]) != 0)
    situ_model_saved_bytes = std::max(enabled, 576U);
}

}  // namespace
}  // namespace situ::model

using situ::model::access_kind;
using situ::model::running;
using situ::model::the_engine;

extern "C" {
void situ_model_on_access(std::uintptr_t at, std::uint64_t what, std::uintptr_t code) {
  const auto kind = static_cast<access_kind>(what & 7);
  const std::size_t bytes = what >> 3;
  const situ::model::core& c = *running;
  if (&c == &situ::model::nobody) return;
  if (bytes == 0) return the_engine->end_quantum();
  const std::uintptr_t line = at >> c.line_shift;
  const bool is_in_line = (at + bytes - 1) >> c.line_shift == line;
  if (is_in_line && (kind == access_kind::read || kind == access_kind::write) &&
      situ::model::last_touch_of(line) == situ::model::in_order) [[unlikely]] {
    const bool writes = kind == access_kind::write;
    const bool hits = c.hits_front(line, writes) && c.is_in_page(at) && !situ::model::watched.holds(at);
    if (hits && the_engine->hit(at, writes)) {
      if (running->clock > running->quantum_end) the_engine->end_quantum();
      return;
    }
  }
  the_engine->access_of_hook(at, bytes, kind, code);
}
void situ_model_on_block(std::uintptr_t code) {
  if (running != &situ::model::nobody) the_engine->begin_new_block(code);
}
void situ_model_on_fetch(std::uintptr_t code) {
  const std::uintptr_t at = code - reinterpret_cast<std::uintptr_t>(&__executable_start);
  the_engine->fetch(running->block_costs[at].lines, code);
}
// The arguments are where a string instruction has its own: rdi, rsi and rcx; the third is not used.
void situ_model_on_string(void* to, const void* from, std::uintptr_t, std::uint64_t count, std::uint64_t what) {
  const std::uint64_t bytes = count * (what >> 1);
  if ((what & 1) != 0) situ::model::touch_range(from, bytes, false);
  situ::model::touch_range(to, bytes, true);
}
}
