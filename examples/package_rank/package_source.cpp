#include "package_source.h"

#include <sys/wait.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

namespace package_rank {
namespace {

constexpr const char* apt_command = "apt-cache dumpavail";
constexpr std::size_t piece_bytes = std::size_t{1} << 18;

[[noreturn]] void fail(const std::string& message) { situ::throw_error(situ::errc::bad_file, message); }

struct close_file {
  void operator()(std::FILE* file) const noexcept {
    if (file != stdin) std::fclose(file);
  }
};
using file_handle = std::unique_ptr<std::FILE, close_file>;

file_handle open_file(const std::string& path) {
  if (path == "-") return file_handle{stdin};
  file_handle file{std::fopen(path.c_str(), "re")};
  if (!file) fail(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  return file;
}

void read_pieces(std::FILE* file, const std::function<void(std::string_view)>& take) {
  std::vector<char> buffer(piece_bytes);
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file))
    take(std::string_view{buffer.data(), count});
  if (std::ferror(file) != 0) fail(fmt::format("cannot be read: {}", std::strerror(errno)));
}

void read_apt(const std::function<void(std::string_view)>& take) {
  struct close_pipe {
    void operator()(std::FILE* pipe) const noexcept { pclose(pipe); }
  };
  std::unique_ptr<std::FILE, close_pipe> pipe{popen(fmt::format("LC_ALL=C {}", apt_command).c_str(), "re")};
  if (!pipe) fail(fmt::format("cannot start `{}`: {}", apt_command, std::strerror(errno)));
  about(apt_command, [&] { read_pieces(pipe.get(), take); });
  const int status = pclose(pipe.release());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    fail("there is no apt-cache on this machine: pass a saved package list with --input FILE");
  if (status != 0) fail(fmt::format("`{}` failed; pass a saved package list with --input FILE", apt_command));
}

}  // namespace

std::string describe_source(const std::string& list) {
  return list.empty() ? apt_command : list == "-" ? "standard input" : list;
}

void read_source(const std::string& list, const std::function<void(std::string_view)>& take) {
  if (list.empty()) return read_apt(take);
  const file_handle file = open_file(list);
  about(describe_source(list), [&] { read_pieces(file.get(), take); });
}

std::string read_text(const std::string& path) {
  std::string text;
  read_source(path, [&](std::string_view piece) { text += piece; });
  return text;
}

void no_lists_of_apt() {
  fail("apt has no package lists on this machine: run `apt-get update`, or pass a saved list with --input FILE");
}

}  // namespace package_rank
