// The file of a program that is to be started.
#pragma once

#include <string>

namespace situ::os {

// Returns the file of a program: the name itself if it has a '/', else the file next to this program's binary, else the
// one in PATH. Throws bad_launch, naming the folders it searched.
[[nodiscard]] std::string find_program(const std::string& name);

}  // namespace situ::os
