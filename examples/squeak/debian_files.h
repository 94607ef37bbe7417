// The paths of the image and the VM of Debian's packages scratch and squeak-vm, for tests and benchmarks.
//
// SITU_SQUEAK_IMAGE names another image, SITU_SQUEAK_VM another program squeakvm, and SITU_SQUEAK_PLUGINS the folder of
// its plugins.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace squeak {

inline std::string from_environment(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

inline std::string debian_image() { return from_environment("SITU_SQUEAK_IMAGE", "/usr/share/scratch/Scratch.image"); }

// Returns the program, which is in a folder with its version; empty if there is none.
inline std::string debian_vm() {
  std::string found = from_environment("SITU_SQUEAK_VM", "");
  if (!found.empty() || !std::filesystem::exists("/usr/lib/squeak")) return found;
  for (const auto& each : std::filesystem::directory_iterator{"/usr/lib/squeak"})
    if (std::filesystem::exists(each.path() / "squeakvm")) found = each.path() / "squeakvm";
  return found;
}

inline std::string debian_vm_plugins(const std::filesystem::path& vm) {
  return from_environment("SITU_SQUEAK_PLUGINS", vm.parent_path().string()) + "/";
}

}  // namespace squeak
