// Reads the command line and the environment for `situ run --hosts`.
#include "launch/run_hosts.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace situ::detail {
namespace {

[[noreturn]] void refuse_hosts(std::string_view why) { throw_error(errc::bad_argument, why); }

}  // namespace

std::vector<named_host> parse_hosts(const std::string& text) {
  std::vector<named_host> hosts;
  std::istringstream words{text};
  std::uint64_t places = 0;
  for (std::string word; std::getline(words, word, ',');) {
    named_host host{.name = word};
    if (const std::size_t colon = word.rfind(':'); colon != std::string::npos) {
      const char* const end = word.data() + word.size();
      const auto [rest, failure] = std::from_chars(word.data() + colon + 1, end, host.places);
      if (failure != std::errc{} || rest != end || host.places == 0)
        refuse_hosts(fmt::format("--hosts {}: how many places are \"{}\"? Write host:2,other:2", text, word));
      host.name.resize(colon);
    }
    // A host name that begins so would be an option of the remote shell.
    if (host.name.empty() || host.name.starts_with('-'))
      refuse_hosts(fmt::format("--hosts {}: \"{}\" names no host", text, word));
    if (std::any_of(hosts.begin(), hosts.end(), [&host](const named_host& each) { return each.name == host.name; }))
      refuse_hosts(fmt::format("--hosts {}: {} is named twice", text, host.name));
    places += host.places;
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) refuse_hosts("--hosts names no host");
  if (places > job::max_places)
    refuse_hosts(fmt::format("--hosts {}: a job has up to {} places", text, job::max_places));
  return hosts;
}

std::vector<std::string> variables_to_pass(const std::vector<std::string>& names) {
  std::vector<std::string> passed;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text{*each};
    const std::string_view name = text.substr(0, text.find('='));
    constexpr std::array not_passed{"SITU_JOB_FD", "SITU_PLACE", "SITU_IN_PROCESS", "SITU_TAG"};
    if (name.starts_with("SITU_") && std::find(not_passed.begin(), not_passed.end(), name) == not_passed.end())
      passed.emplace_back(text);
  }
  for (const std::string& name : names) {
    const char* const value = std::getenv(name.c_str());
    if (name.find('=') != std::string::npos) {
      passed.push_back(name);
    } else if (value != nullptr) {
      passed.push_back(name + "=" + value);
    } else {
      refuse_hosts(fmt::format("--env {}: there is no such variable here; --env {}=value sets it", name, name));
    }
  }
  return passed;
}

}  // namespace situ::detail
