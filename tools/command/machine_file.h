// Machines by name: those that come with Situ (machines/) lie beside the command, in a build as in an install.
#pragma once

#include <string>

// The file of a machine that the user names: a file's path as it is, `flat` and `flat:...` too; else that of the
// machine of this name that comes with Situ. Throws bad_file, with the machines that there are, if there is none.
[[nodiscard]] std::string machine_file_of(const std::string& given);
