// Clients belong to applications, each with a key of 256 bits that its clients and the servers know. A key file has a
// line for each application, `NAME KEY` or `NAME KEY operator`, with the key as 64 hexadecimal digits; # begins a
// comment. A key file that anyone but its owner may read or write is refused (use mode 0600).
//
//   umask 077; situ rmem key packages >packages.key     for clients of `packages`; its line goes into the server's file
//
// Values; as thread-safe as any. cost: reading the file; a new key takes 32 bytes from the kernel's random generator.
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
  bool is_operator = false;  // may link names of servers, and list all regions

  // Makes a random key. Throws bad_argument if the name is not valid.
  [[nodiscard]] static application_key generate(std::string_view application, bool is_operator = false);
  // Returns the line for a key file, without the newline.
  [[nodiscard]] std::string to_line() const;
};

// Returns the keys of a file, in order. Throws bad_file if the file cannot be read, is open to others, names an
// application twice, or has a malformed line; the error has the line's number and never the key.
[[nodiscard]] std::vector<application_key> load_keys(const std::filesystem::path& file);
// Returns the key of an application in a key file, or of its first line if `application` is empty. Throws as
// load_keys(), and bad_argument if the file has no such key.
[[nodiscard]] application_key load_key(const std::filesystem::path& file, std::string_view application = {});

}  // namespace situ::rmem
