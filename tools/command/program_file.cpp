#include "program_file.h"

#include "os/find_program.h"

#include <situ/base/error.h>

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20;  // of a segment that is read

std::string read_part(std::ifstream& file, std::uint64_t offset, std::size_t bytes) {
  std::string text(std::min(bytes, most_bytes), '\0');
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

// The head of a file for this kind of machine, and its segments. It is empty for any other file.
class elf_file {
 public:
  // Throws bad_launch if the file cannot be read. A file that may be executed and not read is of no kind.
  explicit elf_file(const std::string& path) : path_{path} {
    errno = 0;
    file_.open(path, std::ios::binary);
    if (!file_.is_open() && errno != ENOENT && errno != ENOTDIR && errno != EACCES)
      situ::throw_error(situ::errc::bad_launch, fmt::format("{}: what kind of program it is cannot be seen: {}", path,
                                                            std::strerror(errno != 0 ? errno : EIO)));
    if (!file_.is_open()) return;
    const std::string head = part(0, sizeof header_);
    if (head.size() < sizeof header_ || std::memcmp(head.data(), ELFMAG, SELFMAG) != 0) return;
    std::memcpy(&header_, head.data(), sizeof header_);
    is_elf_ = true;
    if (!is_for_this_machine()) return;
    const std::string table = part(header_.e_phoff, std::size_t{header_.e_phnum} * sizeof(Elf64_Phdr));
    segments_.resize(table.size() / sizeof(Elf64_Phdr));
    std::memcpy(segments_.data(), table.data(), segments_.size() * sizeof(Elf64_Phdr));
  }
  [[nodiscard]] bool is_elf() const { return is_elf_; }
  [[nodiscard]] bool is_32_bit() const { return header_.e_ident[EI_CLASS] == ELFCLASS32; }
  [[nodiscard]] bool is_for_this_machine() const {
    return is_elf_ && header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_machine == EM_X86_64 &&
           header_.e_phentsize == sizeof(Elf64_Phdr);
  }
  // Returns the contents of the first segment of a kind; nullopt if there is none.
  [[nodiscard]] std::optional<std::string> segment(std::uint32_t kind) {
    for (const Elf64_Phdr& each : segments_)
      if (each.p_type == kind) return part(each.p_offset, each.p_filesz);
    return std::nullopt;
  }
  [[nodiscard]] bool has_note(std::string_view name) {
    return find_note([name](const Elf64_Nhdr&, std::string_view of) { return of == name; }).has_value();
  }
  // Returns nullopt if the linker left none.
  [[nodiscard]] std::optional<std::string> build_id() {
    return find_note(
        [](const Elf64_Nhdr& note, std::string_view of) { return note.n_type == NT_GNU_BUILD_ID && of == "GNU"; });
  }

 private:
  [[nodiscard]] std::string part(std::uint64_t offset, std::size_t bytes) {
    errno = 0;
    std::string text = read_part(file_, offset, bytes);
    if (file_.bad())
      situ::throw_error(situ::errc::bad_launch,
                        fmt::format("{}: cannot be read: {}", path_, std::strerror(errno != 0 ? errno : EIO)));
    return text;
  }
  // Returns the contents of the first matching note.
  template <class IsWanted>
  [[nodiscard]] std::optional<std::string> find_note(IsWanted is_wanted) {
    for (const Elf64_Phdr& each : segments_) {
      if (each.p_type != PT_NOTE) continue;
      const std::string notes = part(each.p_offset, each.p_filesz);
      const std::size_t align = std::max<std::size_t>(each.p_align, 4);
      const auto rounded = [align](std::size_t n) { return (n + align - 1) / align * align; };
      for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
        Elf64_Nhdr note;
        std::memcpy(&note, notes.data() + at, sizeof note);
        const std::size_t said = at + rounded(sizeof note + note.n_namesz);
        if (said + note.n_descsz > notes.size()) break;
        const std::string_view name = std::string_view{notes}.substr(at + sizeof note, note.n_namesz);
        if (is_wanted(note, name.substr(0, name.find('\0')))) return notes.substr(said, note.n_descsz);
        at = said + rounded(note.n_descsz);
      }
    }
    return std::nullopt;
  }

  std::string path_;
  std::ifstream file_;
  bool is_elf_ = false;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
};

// Returns the interpreter's file of a script: "#!/usr/bin/env python3", "#!/bin/sh -e". Returns an empty string if it
// names none.
std::string interpreter_of(const std::string& script) {
  std::ifstream file{script, std::ios::binary};
  std::string line;
  if (!std::getline(file, line) || !line.starts_with("#!")) return {};
  std::istringstream words{line.substr(2)};
  std::string program;
  words >> program;
  if (!program.ends_with("/env")) return program;
  for (std::string word; words >> word;)
    if (!word.starts_with('-') && word.find('=') == std::string::npos) return situ::os::find_program(word);
  return {};
}

// Tells whether executing it gives rights that the user has not got; then the loader ignores LD_PRELOAD.
bool gives_rights(const std::string& file) {
  struct stat what{};
  if (::stat(file.c_str(), &what) != 0)
    situ::throw_error(situ::errc::bad_launch,
                      fmt::format("{}: the user whose rights it has cannot be seen: {}", file, std::strerror(errno)));
  if ((what.st_mode & S_ISUID) != 0 && what.st_uid != ::geteuid()) return true;
  if ((what.st_mode & S_ISGID) != 0 && (what.st_mode & S_IXGRP) != 0 && what.st_gid != ::getegid()) return true;
  return ::geteuid() != 0 && ::getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
}

}  // namespace

bool is_situ_program(const std::string& file) {
  elf_file program{file};
  return program.has_note("Situ");
}

bool is_modelled_program(const std::string& file) {
  elf_file program{file};
  return program.has_note("SituModel");
}

std::string why_not_preloaded(const std::string& file) {
  elf_file program{file};
  if (!program.is_elf()) {
    const std::string interpreter = interpreter_of(file);
    if (interpreter.empty()) return {};  // a shell will run it
    elf_file other{interpreter};
    return other.is_elf() ? why_not_preloaded(interpreter) : std::string{};
  }
  if (program.is_32_bit()) return fmt::format("{} is a 32-bit program: build it for 64 bits", file);
  if (!program.is_for_this_machine()) return fmt::format("{} is a program for another kind of machine", file);
  const std::optional<std::string> loader = program.segment(PT_INTERP);
  if (!loader)
    return fmt::format("{} is statically linked, so that nothing can be brought into it: link it dynamically", file);
  if (loader->find("ld-linux") == std::string::npos)
    return fmt::format("{} uses another C library than glibc (its loader is {})", file, loader->c_str());
  if (gives_rights(file))
    return fmt::format(
        "{} runs with another user's or with more rights, so that its loader brings nothing in: start it "
        "as that user",
        file);
  return {};
}

std::uint64_t identity_of_file(const std::string& file) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  };
  if (const std::optional<std::string> id = elf_file{file}.build_id()) {
    add(*id);
    return hash;
  }
  std::ifstream contents{file, std::ios::binary};
  char buffer[65536];
  while (contents.read(buffer, sizeof buffer), contents.gcount() > 0)
    add({buffer, static_cast<std::size_t>(contents.gcount())});
  if (contents.bad() || !contents.eof())
    situ::throw_error(situ::errc::bad_launch, fmt::format("{} cannot be read", file));
  return hash;
}
