// Machines by name: those that come with Situ (machines/) are next to the command, in a build as in an install.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

// Returns the files of the machines that come with Situ, by name. A name is the file's stem.
[[nodiscard]] std::vector<std::filesystem::path> machine_files();

// Returns the file of a machine that the user names. A file's path, `flat` and `flat:...` stay as they are; any other
// name means the machine of that name that comes with Situ. Throws bad_file, with the list of machines, if there is
// none: of all machines, or of those files for which `is_offered` returns true.
[[nodiscard]] std::string machine_file_of(const std::string& given,
                                          bool (*is_offered)(const std::filesystem::path& file) = nullptr);
