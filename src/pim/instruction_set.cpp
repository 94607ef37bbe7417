#include "pim/instruction_set.h"

namespace situ::pim {

bool has(instruction_set set) noexcept {
  if (set == instruction_set::portable) return true;
#if SITU_PIM_X86
  if (set == instruction_set::avx2) return __builtin_cpu_supports("avx2") != 0;
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

instruction_set best_instruction_set() noexcept {
  static const instruction_set best = has(instruction_set::avx512) ? instruction_set::avx512
                                      : has(instruction_set::avx2) ? instruction_set::avx2
                                                                   : instruction_set::portable;
  return best;
}

std::string_view name(instruction_set set) noexcept {
  switch (set) {
    case instruction_set::avx2: return "avx2";
    case instruction_set::avx512: return "avx512";
    default: return "portable";
  }
}

}  // namespace situ::pim
