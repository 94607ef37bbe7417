// The vector instructions that the executor and the transposition use, chosen when the program runs. A function that
// is compiled for one of them has its target as an attribute (SITU_PIM_AVX2, SITU_PIM_AVX512), and its body is an
// inlined function that all targets share. So the sources need no compiler flags of their own, and other processors
// have the portable one alone.
#pragma once

#include <cstdint>
#include <string_view>

#if defined(__x86_64__)
#define SITU_PIM_X86 1
#define SITU_PIM_AVX2 __attribute__((target("avx2")))
#define SITU_PIM_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx2,prefer-vector-width=512")))
#else
#define SITU_PIM_X86 0
#endif
// A body that all targets share: inlined into a function of each target, which it is compiled for.
#define SITU_PIM_BODY __attribute__((always_inline)) inline

namespace situ::pim {

enum class instruction_set : std::uint8_t { portable, avx2, avx512 };

// Returns whether this processor has these instructions.
[[nodiscard]] bool has(instruction_set set) noexcept;
// Returns the widest one that this processor has.
[[nodiscard]] instruction_set best_instruction_set() noexcept;
[[nodiscard]] std::string_view name(instruction_set set) noexcept;

}  // namespace situ::pim
