// Who clients are: applications, each with a key of 256 bits that its clients and the servers know. A key file has a
// line for each, `NAME KEY` or `NAME KEY operator`, the key as 64 hexadecimal digits; # begins a comment. Nobody but
// its owner may read or write it (mode 0600), else it is refused.
//
//   umask 077; situ rmem key packages >packages.key     for clients of `packages`; its line goes into the server's file
//
// Values; thread-safe as those are. cost: reading the file; a new key is 32 bytes of the kernel's random ones.
#pragma once

#include <situ/base/detail/abi.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace situ::rmem {

// An application and its key.
struct application_key {
  std::string application;  // 1 to 23 characters of a-z, A-Z, 0-9, '.', '_', '-'
  std::array<std::byte, 32> key{};
  bool is_operator = false;  // may link the names of servers, and see all regions

  // A new one with a random key. Throws bad_argument for a name that is none.
  [[nodiscard]] static application_key generate(std::string_view application, bool is_operator = false);
  // Its line in a key file, without the newline.
  [[nodiscard]] std::string to_line() const;
};

// The lines of a key file, in order. Throws bad_file where it cannot be read, is open to others, names an application
// twice, or a line is no key; the error has the line's number and never the key.
[[nodiscard]] std::vector<application_key> load_keys(const std::filesystem::path& file);
// The key of an application in a key file; of its first line where no application is named. Throws as load_keys(), and
// bad_argument where there is none.
[[nodiscard]] application_key load_key(const std::filesystem::path& file, std::string_view application = {});

}  // namespace situ::rmem
