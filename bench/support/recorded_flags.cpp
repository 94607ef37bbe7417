#include "recorded_flags.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace situ::bench {
namespace {

constexpr std::string_view section_name = ".GCC.command.line";

// Nothing where [offset, offset + sizeof(T)) is not within the file.
template <class T>
std::optional<T> read_at(std::string_view file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

std::string_view part_of(std::string_view file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || file.size() - offset < size) return {};
  return file.substr(offset, size);
}

// The section of that name, of the whole file.
std::string_view find_section(std::string_view file, std::string_view wanted) {
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  const auto section = [&](std::uint64_t i) {
    return read_at<Elf64_Shdr>(file, header->e_shoff + i * sizeof(Elf64_Shdr));
  };
  const auto names = section(header->e_shstrndx);
  if (!names) return {};
  const std::string_view texts = part_of(file, names->sh_offset, names->sh_size);
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto each = section(i);
    if (!each || each->sh_name >= texts.size() || each->sh_type == SHT_NOBITS) continue;
    const std::string_view name = texts.substr(each->sh_name);
    if (name.substr(0, name.find('\0')) == wanted) return part_of(file, each->sh_offset, each->sh_size);
  }
  return {};
}

bool decides_speed(std::string_view flag) {
  // What Debian's gcc puts in by itself, and what only lays the file out.
  for (const std::string_view always : {"-fasynchronous-unwind-tables", "-frecord-", "-fdiagnostics", "-fpch"})
    if (flag.starts_with(always)) return false;
  return flag.starts_with("-O") || flag.starts_with("-f") || flag.starts_with("-march=") ||
         flag.starts_with("-mtune=") || flag == "-mavx512f" || flag.starts_with("-mprefer-vector-width=");
}

bool has(const std::vector<std::string>& lines, std::string_view flag) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    std::istringstream words{line};
    for (std::string word; words >> word;)
      if (word == flag) return true;
    return false;
  });
}

}  // namespace

std::string shortened_flags(std::string_view recorded) {
  std::istringstream words{std::string{recorded}};
  std::string text, flags;
  for (std::string word; words >> word;) {
    if (decides_speed(word)) flags += " " + word;
    // "GNU C++20 12.2.0": the version is the first word that begins with a digit.
    if (text.empty() && word[0] >= '0' && word[0] <= '9') text = "gcc " + word;
  }
  if (flags.empty()) return {};
  return text.empty() ? flags.substr(1) : text + flags;
}

std::vector<std::string> recorded_flags(const std::filesystem::path& program) {
  std::ifstream stream{program, std::ios::binary};
  const std::string file{std::istreambuf_iterator<char>{stream}, {}};
  std::vector<std::string> lines;
  for (std::string_view left = find_section(file, section_name); !left.empty();) {
    const std::size_t end = std::min(left.find('\0'), left.size());
    const std::string line = shortened_flags(left.substr(0, end));
    if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return lines;
}

std::string flags_text(const std::filesystem::path& program) {
  std::string text;
  for (const std::string& line : recorded_flags(program)) text += (text.empty() ? "" : "; ") + line;
  return text.empty() ? "unknown" : text;
}

subject_terms terms_of_program(const std::filesystem::path& program) {
  const std::filesystem::path words = program.string() + ".txt";
  std::ifstream file{words};
  std::string built, word;
  while (file >> word) built += (built.empty() ? "" : " ") + word;
  return {flags_text(program), built.empty() ? "unknown: no " + words.filename().string() + " beside it" : built};
}

std::vector<std::string> missing_flags(const std::vector<std::string>& theirs, const std::vector<std::string>& ours) {
  std::vector<std::string> missing;
  for (const std::string& flag : ours) {
    const bool by_fast_math = (flag == "-fno-math-errno" || flag == "-fno-trapping-math") &&
                              (has(theirs, "-ffast-math") || has(theirs, "-Ofast"));
    if (!has(theirs, flag) && !by_fast_math && !(flag == "-O3" && has(theirs, "-Ofast"))) missing.push_back(flag);
  }
  return missing;
}

}  // namespace situ::bench
