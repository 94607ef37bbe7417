#include "input.h"

#include "package_source.h"
#include "reference.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <sys/stat.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace package_rank {
namespace {

constexpr const char* machine_status = "/var/lib/dpkg/status";
constexpr const char* machine_automatic = "/var/lib/apt/extended_states";

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

package_graph read_list(const input_options& options) {
  const std::string source = describe_source(options.list);
  package_list list{options.with_recommends};
  {
    const progress_line line{options.show_progress, source};
    read_source(options.list, [&](std::string_view piece) {
      list.feed(piece);
      line.show(list.stanzas());
    });
  }
  return about(source, [&] { return list.finish(); });
}

bool exists(const char* path) {
  struct stat ignored;
  return stat(path, &ignored) == 0;
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

package_graph read_packages(const input_options& options) {
  package_graph packages = read_list(options);
  if (options.list.empty() && packages.with_filename == 0) no_lists_of_apt();
  if (packages.names.empty())
    situ::throw_error(situ::errc::bad_file, fmt::format("{} holds no package", describe_source(options.list)));
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
