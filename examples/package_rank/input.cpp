#include "input.h"

#include "reference.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace package_rank {
namespace {

constexpr const char* apt_command = "apt-cache dumpavail";
constexpr const char* machine_status = "/var/lib/dpkg/status";
constexpr const char* machine_automatic = "/var/lib/apt/extended_states";
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

// Runs f; what it finds wrong is told with the name of the source.
template <class F>
auto about(const std::string& source, F&& f) {
  try {
    return f();
  } catch (const situ::error& e) {
    fail(fmt::format("{}: {}", source, e.message()));
  }
}

// Calls take(piece) until the end of the file.
template <class Take>
void read_pieces(std::FILE* file, Take&& take) {
  std::vector<char> buffer(piece_bytes);
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file))
    take(std::string_view{buffer.data(), count});
  if (std::ferror(file) != 0) fail(fmt::format("cannot be read: {}", std::strerror(errno)));
}

// The number of packages read so far, in place, while it grows.
class progress_line {
 public:
  progress_line(bool shown, std::string what) : what_{std::move(what)}, shown_{shown} {}
  ~progress_line() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  void show(std::size_t packages) const {
    if (shown_) std::fputs(fmt::format("\rreading {}: {} packages", what_, packages).c_str(), stderr);
  }

 private:
  std::string what_;
  bool shown_;
};

void feed_all(package_list& list, std::FILE* file, const input_options& options) {
  const progress_line line{options.show_progress, describe_source(options)};
  read_pieces(file, [&](std::string_view piece) {
    list.feed(piece);
    line.show(list.stanzas());
  });
}

package_graph read_from_apt(const input_options& options) {
  struct close_pipe {
    void operator()(std::FILE* pipe) const noexcept { pclose(pipe); }
  };
  std::unique_ptr<std::FILE, close_pipe> pipe{popen(fmt::format("LC_ALL=C {}", apt_command).c_str(), "re")};
  if (!pipe) fail(fmt::format("cannot start `{}`: {}", apt_command, std::strerror(errno)));
  package_list list{options.with_recommends};
  about(apt_command, [&] { feed_all(list, pipe.get(), options); });
  const int status = pclose(pipe.release());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    fail("there is no apt-cache on this machine: pass a saved package list with --input FILE");
  if (status != 0) fail(fmt::format("`{}` failed; pass a saved package list with --input FILE", apt_command));
  package_graph packages = about(apt_command, [&] { return list.finish(); });
  if (packages.with_filename == 0)
    fail("apt has no package lists on this machine: run `apt-get update`, or pass a saved list with --input FILE");
  return packages;
}

package_graph read_from_file(const input_options& options) {
  const file_handle file = open_file(options.list);
  return about(describe_source(options), [&] {
    package_list list{options.with_recommends};
    feed_all(list, file.get(), options);
    return list.finish();
  });
}

bool exists(const char* path) {
  struct stat ignored;
  return stat(path, &ignored) == 0;
}

std::string read_text(const std::string& path) {
  std::string text;
  const file_handle file = open_file(path);
  about(path, [&] { read_pieces(file.get(), [&](std::string_view piece) { text += piece; }); });
  return text;
}

installation all_from_roots(const std::vector<std::string>& roots, const package_graph& packages) {
  installation result;
  result.marks.assign(packages.names.size(), usable);
  for (const std::string& name : roots) {
    const auto v = packages.find(name);
    if (!v)
      situ::throw_error(situ::errc::bad_argument, fmt::format("--root {}: no package of this name in the list", name));
    result.roots += (result.marks[*v] & root) == 0;
    result.marks[*v] |= root;
  }
  return result;
}

}  // namespace

std::string describe_source(const input_options& options) {
  return options.list.empty() ? apt_command : options.list == "-" ? "standard input" : options.list;
}

package_graph read_packages(const input_options& options) {
  package_graph packages = options.list.empty() ? read_from_apt(options) : read_from_file(options);
  if (packages.names.empty()) fail(fmt::format("{} holds no package", describe_source(options)));
  return packages;
}

installation read_installation(const input_options& options, const package_graph& packages) {
  if (!options.roots.empty()) return all_from_roots(options.roots, packages);
  installation result;
  result.marks.assign(packages.names.size(), 0);
  const bool given = !options.status.empty();
  if (!given && !exists(machine_status)) return result;
  const std::string automatic = !options.automatic.empty()            ? options.automatic
                                : !given && exists(machine_automatic) ? machine_automatic
                                                                      : "";
  const std::string status = given ? options.status : machine_status;
  const std::string status_text = read_text(status);
  const std::string automatic_text = automatic.empty() ? "" : read_text(automatic);
  const installed_packages installed = about(automatic.empty() ? status : status + " or " + automatic,
                                             [&] { return read_installed(status_text, automatic_text); });
  result.from_status = true;
  result.installed = installed.names.size();
  for (const std::string& name : installed.names) {
    if (const auto v = packages.find(name))
      result.marks[*v] |= usable;
    else
      ++result.not_listed;
  }
  for (const std::string& name : installed.roots) {
    const auto v = packages.find(name);
    if (!v) continue;
    result.marks[*v] |= root;
    ++result.roots;
  }
  return result;
}

}  // namespace package_rank
