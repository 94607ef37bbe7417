// Devito, a rival of `situ bench stencil`: from PyPI, in a virtual environment of its own in the user's cache.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "results.h"

namespace situ::bench {

// Makes the environment and writes the script into the directory. Says what it does; where Devito cannot be had says
// why, and returns false.
[[nodiscard]] bool prepare_devito(const std::filesystem::path& directory, bool may_install,
                                  const std::function<void(const std::string&)>& say);

// How situ_bench_stencil starts it: variables of its environment; empty before prepare_devito() has returned true.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> devito_environment(
    const std::filesystem::path& directory);

[[nodiscard]] subject_terms devito_terms();

}  // namespace situ::bench
