// The study `rmem`: remote memory as RMem's authors measured theirs, and what the ways of replacing pages and of
// fetching ahead are worth, which their paper leaves open.
#pragma once

#include <array>
#include <cstdint>

#include "support/study.h"

namespace situ::studies::rmem {

// What RMem's authors varied: the size of a block with one peer, and the peers at 64 KB.
inline constexpr std::array<std::uint64_t, 12> block_kilobytes{1, 2, 4, 8, 16, 32, 64, 96, 128, 160, 192, 210};
inline constexpr std::array<std::uint32_t, 5> peer_counts{1, 2, 4, 8, 16};

[[nodiscard]] study_result run(const study_context& context);

}  // namespace situ::studies::rmem
