#include <situ/rmem/keys.h>

#include <situ/base/error_code.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "os/descriptor.h"
#include "rmem/handshake.h"

namespace situ::rmem {
namespace {

constexpr std::size_t most_file_bytes = std::size_t{1} << 20;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& why) {
  throw_error(errc::bad_file, fmt::format("the key file {}: {}", file.string(), why));
}

// The check and the read use the same descriptor, so that no other file can take the place of the checked one.
std::string content_of(const std::filesystem::path& file) {
  const os::descriptor opened{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!opened) refuse(file, std::strerror(errno));
  struct stat status{};
  if (::fstat(opened.number(), &status) != 0) refuse(file, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) refuse(file, "it is no regular file");
  if ((status.st_mode & 077) != 0)
    refuse(file, fmt::format("others than its owner have access (mode {:04o}); chmod 600 it, and make new keys if "
                             "somebody may have read it",
                             status.st_mode & 07777));
  if (status.st_uid != ::geteuid() && ::geteuid() != 0) refuse(file, "it belongs to another user");
  std::string text(most_file_bytes + 1, '\0');
  std::size_t got = 0;
  for (ssize_t part = 1; part > 0 && got < text.size(); got += static_cast<std::size_t>(part)) {
    part = ::read(opened.number(), text.data() + got, text.size() - got);
    if (part < 0) refuse(file, std::strerror(errno));
  }
  if (got > most_file_bytes) refuse(file, "it has more than 1 MiB");
  text.resize(got);
  return text;
}

application_key key_of(const std::filesystem::path& file, std::size_t line, const std::string& text) {
  std::istringstream words{text};
  application_key made;
  std::string digits;
  std::string role;
  std::string rest;
  words >> made.application >> digits >> role >> rest;
  std::size_t length = 0;
  const bool is_key = digits.size() == 2 * made.key.size() &&
                      sodium_hex2bin(reinterpret_cast<unsigned char*>(made.key.data()), made.key.size(), digits.data(),
                                     digits.size(), nullptr, &length, nullptr) == 0 &&
                      length == made.key.size();
  if (!detail::is_application_name(made.application) || !is_key || (!role.empty() && role != "operator") ||
      !rest.empty())
    refuse(file, fmt::format("line {} is not `NAME KEY [operator]` with a key of 64 hexadecimal digits", line));
  made.is_operator = !role.empty();
  return made;
}

}  // namespace

application_key application_key::generate(std::string_view application, bool is_operator) {
  if (!detail::is_application_name(application))
    throw_error(errc::bad_argument,
                fmt::format("an application's name is 1 to {} of a-z, A-Z, 0-9, '.', '_' and '-': \"{}\"",
                            detail::application_bytes - 1, application));
  application_key made{std::string{application}, {}, is_operator};
  detail::fill_random(made.key);
  return made;
}

std::string application_key::to_line() const {
  char digits[2 * sizeof key + 1];
  sodium_bin2hex(digits, sizeof digits, reinterpret_cast<const unsigned char*>(key.data()), key.size());
  return fmt::format("{} {}{}", application, digits, is_operator ? " operator" : "");
}

std::vector<application_key> load_keys(const std::filesystem::path& file) {
  std::vector<application_key> keys;
  std::istringstream lines{content_of(file)};
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    line.erase(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    keys.push_back(key_of(file, number, line));
    const auto same = [&](const application_key& other) { return other.application == keys.back().application; };
    if (std::any_of(keys.begin(), keys.end() - 1, same))
      refuse(file, fmt::format("line {} names {} once more", number, keys.back().application));
  }
  return keys;
}

application_key load_key(const std::filesystem::path& file, std::string_view application) {
  for (application_key& each : load_keys(file))
    if (application.empty() || each.application == application) return std::move(each);
  throw_error(errc::bad_argument, fmt::format("the key file {} has no key{}", file.string(),
                                              application.empty() ? "" : fmt::format(" of {}", application)));
}

}  // namespace situ::rmem
