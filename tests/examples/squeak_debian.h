// Debian's image and Debian's VM: SITU_SQUEAK_IMAGE names the image if it is not where the package has it,
// SITU_SQUEAK_VM the program squeakvm, and SITU_SQUEAK_PLUGINS the folder of its plugins.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace squeak::test {

inline std::string from_environment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

inline std::string image_path() { return from_environment("SITU_SQUEAK_IMAGE", "/usr/share/scratch/Scratch.image"); }

// Returns the VM of the package, which is in a folder with its version; empty if there is none.
inline std::string vm_path() {
  std::string found = from_environment("SITU_SQUEAK_VM", "");
  if (!found.empty() || !std::filesystem::exists("/usr/lib/squeak")) return found;
  for (const auto& each : std::filesystem::directory_iterator{"/usr/lib/squeak"})
    if (std::filesystem::exists(each.path() / "squeakvm")) found = each.path() / "squeakvm";
  return found;
}

// CI has the packages, and skips nothing.
inline bool may_skip() { return std::getenv("SITU_SQUEAK_IS_NEEDED") == nullptr; }

// Skips a test, or fails it if nothing may be skipped, if there is no image.
#define SQUEAK_NEEDS_IMAGE()                                                               \
  do {                                                                                     \
    if (std::filesystem::exists(squeak::test::image_path())) break;                        \
    ASSERT_TRUE(squeak::test::may_skip()) << "there is no " << squeak::test::image_path(); \
    GTEST_SKIP() << "there is no " << squeak::test::image_path()                           \
                 << ": install Debian's package scratch, or set SITU_SQUEAK_IMAGE";        \
  } while (false)

}  // namespace squeak::test
