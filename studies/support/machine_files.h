// The machines of the studies, as their files in machines/ say them: a study runs where these files are not.
#pragma once

#include <string_view>

namespace situ::studies {

[[nodiscard]] std::string_view nemesys_4x4_toml() noexcept;
[[nodiscard]] std::string_view nemesys_2x2_toml() noexcept;
// The two fitted to table 6 of the paper.
[[nodiscard]] std::string_view nemesys_4x4_fitted_toml() noexcept;
[[nodiscard]] std::string_view nemesys_2x2_fitted_toml() noexcept;
[[nodiscard]] std::string_view mppa_256_bostan_toml() noexcept;
// Memories that compute.
[[nodiscard]] std::string_view pim_imi_toml() noexcept;
[[nodiscard]] std::string_view pim_bitsimd_toml() noexcept;
[[nodiscard]] std::string_view pim_ambit_toml() noexcept;
[[nodiscard]] std::string_view pim_simdram_toml() noexcept;
// Pages homed at tiles.
[[nodiscard]] std::string_view tile64_toml() noexcept;

}  // namespace situ::studies
