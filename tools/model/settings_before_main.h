// Variables of a modelled program's environment that libraries read before its main, when there is no machine yet.
#pragma once

#include <string>
#include <utility>
#include <vector>

// Returns names and values: the numbers of cores (src/model/execution/affinity.h), and that libgomp's threads sleep at
// once (src/model/execution/openmp.h). A machine that cannot be made has one core here; the program says why.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> settings_before_main(
    const std::string& machine, const std::vector<std::string>& settings);
