// The file of a program that is to be started.
//
// Situ's own programs are next to each other in a build. An install has its commands in bin, and its examples and the
// subjects of its benchmarks in libexec/situ.
#pragma once

#include <string>
#include <vector>

namespace situ::os {

// Returns the file of a program: the name itself if it has a '/', else the file next to this program's binary, else the
// one in PATH, else the one in the install's libexec/situ. Throws bad_launch, naming the folders it searched.
[[nodiscard]] std::string find_program(const std::string& name);

// Returns the folders of Situ's own programs: the one of this program's binary, and the install's libexec/situ. Empty
// if the system does not tell where the binary is.
[[nodiscard]] std::vector<std::string> own_program_folders();

// Returns the file of a program of Situ's; an empty string if no folder of own_program_folders() has it.
[[nodiscard]] std::string find_own_program(const std::string& name);

}  // namespace situ::os
