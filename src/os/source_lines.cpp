#include "os/source_lines.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string_view>

namespace situ::detail {
namespace {

// Runs a command and returns its standard output; empty if it cannot be run.
std::string output_of(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 4096> part;
  while (const std::size_t read = std::fread(part.data(), 1, part.size(), pipe)) text.append(part.data(), read);
  ::pclose(pipe);
  return text;
}

// Strips the folder and the trailing remark from a line of addr2line's output; returns an empty text if the line is
// unknown.
std::string_view short_line(std::string_view line) {
  line = line.substr(0, line.find(' '));
  line.remove_prefix(line.rfind('/') + 1);  // none: npos + 1 is 0
  return line.starts_with("??") || line.ends_with(":?") || line.ends_with(":0") ? std::string_view{} : line;
}

// Adds the lines that addr2line has printed.
void add_lines(std::map<std::uintptr_t, std::string>& found, const std::string& text, bool own_only) {
  // The output has for each address: the address, its line, then the lines that it was inlined at.
  std::string* now = nullptr;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = std::string_view{text}.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    if (line.starts_with("0x")) {
      now = &found[std::stoull(std::string{line}, nullptr, 16)];
    } else if (const std::string_view place = short_line(line);
               now != nullptr && !place.empty() && !(own_only && line.starts_with("/usr/"))) {
      *now += now->empty() ? std::string{place} : fmt::format(", from {}", place);
    }
  }
}

}  // namespace

std::map<std::uintptr_t, std::string> source_lines(const std::vector<std::uintptr_t>& code, bool own_only) {
  constexpr std::size_t most_addresses = 2000;  // of a command
  std::map<std::uintptr_t, std::string> found;
  std::error_code ignored;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  if (code.empty() || program.find('\'') != std::string::npos) return found;
  const std::set<std::uintptr_t> each_once{code.begin(), code.end()};
  for (auto each = each_once.begin(); each != each_once.end();) {
    std::string command = fmt::format("addr2line -a -i -e '{}'", program);
    for (std::size_t i = 0; i < most_addresses && each != each_once.end(); ++i, ++each)
      command += fmt::format(" {:#x}", *each);
    add_lines(found, output_of(command + " 2>/dev/null"), own_only);
  }
  std::erase_if(found, [](const auto& each) { return each.second.empty(); });
  return found;
}

}  // namespace situ::detail
