// The machines of the study, as their files in machines/ say them: the study runs where these files are not.
#pragma once

#include <string_view>

namespace situ::studies::nemesys {

[[nodiscard]] std::string_view nemesys_4x4_toml() noexcept;
[[nodiscard]] std::string_view nemesys_2x2_toml() noexcept;

}  // namespace situ::studies::nemesys
