// package_index: Debian's packages, by name and by dependency, in a file that is opened, not read.
//
//   package_index build INDEX                      from `apt-cache dumpavail`, or a list: --input FILE
//   package_index show INDEX mutt                  in another process, whenever
//   package_index dependents INDEX libssl3 --all   while a third one runs
//   package_index update INDEX --input Packages
//
// The index is a pool. Its objects point to each other, so a query follows pointers, and touches the pages that these
// lead to; an update changes each package in a transaction, beside those who query. schema.h says what lies in it,
// changes.cpp how it changes; docs/guide/package_index.md explains it.
#include "answers.h"
#include "changes.h"
#include "report.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>

namespace package_index {
namespace {

struct options {
  std::string index;
  std::string input;
  std::string name;
  std::size_t most = std::numeric_limits<std::size_t>::max();
  int version = 2;
  bool all = false;
  bool check = false;
  bool json = false;
};

// Milliseconds since the last call, or since it was made.
class stopwatch {
 public:
  double lap_ms() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

// An index that is open, and since when.
struct opened_index {
  opened_index(const options& o, situ::pool_access access) : pool{open(o, access)} { took.opened_ms = watch.lap_ms(); }

  static situ::pool open(const options& o, situ::pool_access access) {
    if (!std::filesystem::exists(o.index))
      situ::throw_error(situ::errc::bad_file,
                        fmt::format("there is no {}: make it by `package_index build {}`", o.index, o.index));
    return situ::pool::open(o.index, access);
  }

  stopwatch watch;
  timing took;
  situ::pool pool;
};

// Opens the index, asks, and prints the answer.
template <class Ask>
int answer(const options& o, Ask ask) {
  opened_index it{o, situ::pool_access::read};
  const auto told = ask(it.pool);
  it.took.answered_ms = it.watch.lap_ms();
  print(o.json ? to_json(told, it.took) : to_text(told) + to_text(it.took));
  return 0;
}

// Opens the index for writing, changes it, and prints what was done.
template <class Change>
int change(const options& o, Change how) {
  opened_index it{o, situ::pool_access::write};
  const auto done = how(it.pool);
  it.took.answered_ms = it.watch.lap_ms();
  print(o.json ? to_json(done, it.took) : to_text(done));
  return 0;
}

statistics statistics_of(const situ::pool& in, bool is_checked) {
  statistics told{take_census(in), in.info(), {}};
  if (!is_checked) return told;
  told.found = told.of.version == 1 ? in.check<v1::index>() : in.check<index>();
  if (told.of.version == 2) check_links(in);
  return told;
}

int tell_statistics(const options& o, const situ::pool& in, timing took) {
  stopwatch watch;
  const statistics told = statistics_of(in, o.check);
  took.answered_ms = watch.lap_ms();
  print(o.json ? to_json(told, took) : to_text(told));
  return told.is_sound() ? 0 : 1;
}

int run_build(const options& o) {
  const listing from = read_listing(o.input);  // what is wrong with it is told before there is a file
  stopwatch watch;
  situ::pool in = situ::pool::open_or_create(o.index);
  const timing took{watch.lap_ms(), 0};
  if (o.version == 1) {
    build_version_1(in, from);
  } else {
    build(in, from);
  }
  return tell_statistics(o, in, took);
}

int run_update(const options& o) {
  const listing to = read_listing(o.input);
  return change(o, [&](situ::pool& in) { return update(in, to); });
}

int run_stat(const options& o) {
  const opened_index it{o, situ::pool_access::read};
  return tell_statistics(o, it.pool, it.took);
}

int run(const CLI::App& app, const options& o) {
  const auto is = [&](const char* name) { return app.got_subcommand(name); };
  const reach how_far = o.all ? reach::all : reach::direct;
  if (is("build")) return run_build(o);
  if (is("update")) return run_update(o);
  if (is("migrate")) return change(o, migrate);
  if (is("stat")) return run_stat(o);
  if (is("show")) return answer(o, [&](const situ::pool& in) { return describe(in, o.name); });
  if (is("list")) return answer(o, [&](const situ::pool& in) { return with_prefix(in, o.name, o.most); });
  if (is("depends")) return answer(o, [&](const situ::pool& in) { return depends(in, o.name, how_far); });
  return answer(o, [&](const situ::pool& in) { return dependents(in, o.name, how_far); });
}

CLI::App* command(CLI::App& app, options& o, const char* name, const char* what, const char* examples) {
  CLI::App* const sub = app.add_subcommand(name, what);
  sub->add_option("index", o.index, "The index, a pool")->required()->type_name("INDEX");
  sub->add_flag("--json", o.json, "Print JSON");
  sub->footer(std::string{"Examples:\n"} + examples);
  return sub;
}

void add_input(CLI::App* to, options& o) {
  to->add_option("--input", o.input, "Package list, - for standard input [`apt-cache dumpavail`]")->type_name("FILE");
}

void declare(CLI::App& app, options& o) {
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  package_index build debian.index                     from apt's lists\n"
      "  package_index show debian.index mutt\n"
      "  package_index dependents debian.index libssl3 --all --json\n"
      "  package_index update debian.index --input Packages   others may query meanwhile\n"
      "`package_index COMMAND --help` has more.");

  CLI::App* sub = command(app, o, "build", "Make an index of a package list",
                          "  package_index build debian.index\n"
                          "  package_index build installed.index --input /var/lib/dpkg/status\n"
                          "  xzcat Packages.xz | package_index build debian.index --input -");
  add_input(sub, o);
  sub->add_option("--version", o.version, "Of its types; 1 is what `migrate` is tried on")
      ->check(CLI::IsMember({1, 2}))
      ->capture_default_str();

  sub = command(app, o, "show", "All that is known of one name",
                "  package_index show debian.index mutt\n"
                "  package_index show debian.index mail-transport-agent --json   a virtual name");
  sub->add_option("name", o.name, "Of a package, or a virtual one")->required()->type_name("NAME");

  sub = command(app, o, "list", "Packages whose names begin so",
                "  package_index list debian.index libpng\n"
                "  package_index list debian.index python3- --most 10 --json");
  sub->add_option("prefix", o.name, "Beginning of names [all]")->type_name("PREFIX");
  sub->add_option("--most", o.most, "Stop after so many [no end]")->check(CLI::PositiveNumber);

  sub = command(app, o, "depends", "What a package needs, any of its alternatives, and what provides it",
                "  package_index depends debian.index mutt\n"
                "  package_index depends debian.index mutt --all   and what these need");
  sub->add_option("name", o.name, "Of a package")->required()->type_name("NAME");
  sub->add_flag("--all", o.all, "Also what these need, and so on");

  sub = command(app, o, "dependents", "What needs a package, or something that it provides",
                "  package_index dependents debian.index libssl3\n"
                "  package_index dependents debian.index libssl3 --all --json");
  sub->add_option("name", o.name, "Of a package, or a virtual one")->required()->type_name("NAME");
  sub->add_flag("--all", o.all, "Also what needs these, and so on");

  sub = command(app, o, "update", "Bring an index up to a newer list; others may query it meanwhile",
                "  apt-get update && package_index update debian.index\n"
                "  package_index update debian.index --input Packages   again after it was cut: does what is left");
  add_input(sub, o);

  (void)command(app, o, "migrate", "Bring an index of version 1 to version 2; does what is left of one that was cut",
                "  package_index build old.index --version 1 && package_index migrate old.index");

  sub = command(app, o, "stat", "What an index has",
                "  package_index stat debian.index\n"
                "  package_index stat debian.index --check   exit code 1 where something is wrong");
  sub->add_flag("--check", o.check, "Look at every object and link, and for leaks");
}

}  // namespace
}  // namespace package_index

int main(int argc, char** argv) {
  package_index::options options;
  CLI::App app{"An index of Debian packages, by name and by dependency, in a file that is memory.", "package_index"};
  package_index::declare(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    return package_index::run(app, options);
  } catch (const situ::error& e) {
    std::fprintf(stderr, "package_index: %s\n", std::string{e.message()}.c_str());
    return 1;
  }
}
