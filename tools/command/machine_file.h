// Machines by name: those that come with Situ (machines/) are next to the command, in a build as in an install.
#pragma once

#include <string>

// Returns the file of a machine that the user names. A file's path, `flat` and `flat:...` stay as they are; any other
// name means the machine of that name that comes with Situ. Throws bad_file, with the list of machines, if there is
// none.
[[nodiscard]] std::string machine_file_of(const std::string& given);
