// An index answers what its list says, built, brought up to another list, migrated, and through the program.
#include "package_index_support.h"
#include "package_list.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "support/build_paths.h"

namespace package_index::test {
namespace {

using nlohmann::ordered_json;
using package_rank::test::command_result;
using package_rank::test::run_command;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_in_answer(const std::vector<named>& told) {
  std::vector<std::string> names;
  for (const named& each : told) names.push_back(each.name);
  return names;
}
std::vector<std::string> listed_in(const std::vector<named>& told) {
  std::vector<std::string> names;
  for (const named& each : told)
    if (each.is_listed) names.push_back(each.name);
  return names;
}

class PackageIndex : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const { return folder.path() + "/" + name; }
  scratch_folder folder;
};

// Stores without a snapshot are found where no sanitizer has the signals.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool may_be_checked = true;
#else
constexpr bool may_be_checked = false;
#endif

// Against the graph that package_rank makes of the same text: another reader of stanzas, that resolves names otherwise.
TEST_F(PackageIndex, answers_as_the_graph_of_packages_does) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const auto archive = make_archive(seed, 400);
    const listing list = read_listing(folder.write("list", archive.list));
    situ::pool in = situ::pool::create(file("index" + std::to_string(seed)));
    build(in, list);
    expect_sound(in);

    package_rank::package_list parsed{false};
    parsed.feed(archive.list);
    const package_rank::package_graph graph = parsed.finish();
    const package_rank::graph turned = package_rank::transpose(graph.dependencies);
    ASSERT_EQ(take_census(in).packages, graph.names.size());
    const auto names_of = [&](std::span<const package_rank::vertex> row) {
      std::vector<std::string> names;
      for (const package_rank::vertex v : row) names.push_back(graph.names[v]);
      return names;
    };
    std::size_t links = 0;
    for (package_rank::vertex v = 0; v < graph.names.size(); ++v) {
      const std::string& name = graph.names[v];
      const std::vector<named> needs = depends(in, name, reach::direct);
      EXPECT_EQ(listed_in(needs), names_of(graph.dependencies.row(v))) << name;
      EXPECT_EQ(names_in_answer(dependents(in, name, reach::direct)), names_of(turned.row(v))) << name;
      links += needs.size();
    }
    EXPECT_GT(links, graph.names.size() / 3);
    EXPECT_EQ(names_in_answer(with_prefix(in, "", ~std::size_t{0})), graph.names);
  }
}

// Sets of vertices that a walk along a graph reaches, by brute force.
TEST_F(PackageIndex, follows_dependencies_to_their_end) {
  const auto archive = make_archive(4, 120);
  situ::pool in = situ::pool::create(file("index"));
  build(in, read_listing(folder.write("list", archive.list)));
  package_rank::package_list parsed{false};
  parsed.feed(archive.list);
  const package_rank::package_graph graph = parsed.finish();
  const std::size_t count = graph.names.size();
  std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count));
  for (package_rank::vertex v = 0; v < count; ++v)
    for (const package_rank::vertex to : graph.dependencies.row(v)) reaches[v][to] = true;
  for (std::size_t through = 0; through < count; ++through)
    for (std::size_t from = 0; from < count; ++from)
      for (std::size_t to = 0; reaches[from][through] && to < count; ++to)
        if (reaches[through][to]) reaches[from][to] = true;
  for (std::size_t v = 0; v < count; ++v) {
    std::vector<std::string> down, up;
    for (std::size_t other = 0; other < count; ++other) {
      if (other != v && reaches[v][other]) down.push_back(graph.names[other]);
      if (other != v && reaches[other][v]) up.push_back(graph.names[other]);
    }
    EXPECT_EQ(listed_in(depends(in, graph.names[v], reach::all)), down);
    EXPECT_EQ(names_in_answer(dependents(in, graph.names[v], reach::all)), up);
  }
}

TEST_F(PackageIndex, finds_prefixes) {
  const listing list = read_listing(folder.write("list", make_archive(5, 300).list));
  situ::pool in = situ::pool::create(file("index"));
  build(in, list);
  for (const char* prefix : {"a", "apkg0000", "nobody", "virtual-", "zz", "~"}) {
    std::vector<named> wanted;
    for (const auto& [name, listed] : list)
      if (name.starts_with(prefix)) wanted.push_back({name, true, listed.version});
    EXPECT_EQ(with_prefix(in, prefix, 1000), wanted) << prefix;
    wanted.resize(std::min<std::size_t>(wanted.size(), 3));
    EXPECT_EQ(with_prefix(in, prefix, 3), wanted) << prefix;
  }
}

TEST_F(PackageIndex, is_brought_to_another_list_and_back) {
  const listing a = read_listing(folder.write("a", make_archive(6, 150).list));
  const listing b = read_listing(folder.write("b", make_archive(7, 180).list));
  situ::pool in = situ::pool::create(file("index"), {.checked = may_be_checked});
  build(in, a);
  ASSERT_EQ(picture_of(in), picture_of(a));
  for (const listing* to : {&b, &a, &b}) {
    const std::size_t wanted = differences(to == &b ? a : b, *to).size();
    const update_counts done = update(in, *to);
    EXPECT_EQ(done.added + done.changed + done.removed, wanted);
    EXPECT_EQ(picture_of(in), picture_of(*to));
    expect_sound(in);
    EXPECT_EQ(update(in, *to).unchanged, to->size());
  }
}

TEST_F(PackageIndex, reads_what_is_installed) {
  const listing list =
      read_listing(folder.write("status",
                                "Package: b\nStatus: install ok installed\nVersion: 1\n"
                                "Pre-Depends: a (>= 1), b\nDepends: c |\n d:any, a\nProvides: v (= 1)\n\n"
                                "Package: a\nStatus: deinstall ok config-files\nVersion: 1\n\n"
                                "Package: c\nVersion: 1.2\n\nPackage: c\nVersion: 1.10\n\n"
                                "Package: c\nVersion: 1.9\n"));
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list.at("c").version, "1.10");
  EXPECT_EQ(list.at("b").depends, "a (>= 1), b, c | d:any, a");
  EXPECT_THAT(names_in(list.at("b").depends, "b"), ElementsAre("a", "c", "d"));
}

TEST_F(PackageIndex, of_version_1_is_refused_until_it_is_migrated) {
  const listing list = read_listing(folder.write("list", make_archive(8, 1000).list));
  situ::pool in = situ::pool::create(file("index"));
  build_version_1(in, list);
  EXPECT_EQ(version_of(in), 1);
  EXPECT_EQ(take_census(in).packages, list.size());
  try {
    (void)describe(in, "x");
    ADD_FAILURE();
  } catch (const situ::error& e) {
    EXPECT_THAT(std::string{e.message()}, HasSubstr("package_index migrate " + file("index")));
  }
  const std::vector<situ::pool_migrated> done = migrate(in);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_GT(done[0].transactions, 3U);
  EXPECT_FALSE(done[0].is_resumed);
  EXPECT_EQ(picture_of(in), picture_of(list));
  expect_sound(in);
  EXPECT_TRUE(migrate(in).empty());
}

// --- the program ---

class PackageIndexProgram : public PackageIndex {
 protected:
  PackageIndexProgram() {
    a = folder.write("a",
                     "Package: mutt\nVersion: 2.2\nDepends: libc6 (>= 2.34), exim4 | mail-transport-agent\n\n"
                     "Package: libc6\nVersion: 2.36\n\n"
                     "Package: postfix\nVersion: 3.7\nDepends: libc6\nProvides: mail-transport-agent\n\n");
    b = folder.write("b", "Package: mutt\nVersion: 2.3\nDepends: libc6, exim4\n\nPackage: libc6\nVersion: 2.36\n");
  }
  [[nodiscard]] command_result run(std::vector<std::string> arguments, const std::string& input = "/dev/null") const {
    arguments.insert(arguments.begin(), SITU_TEST_BIN_DIR "/package_index");
    return run_command(std::move(arguments), {}, input);
  }
  [[nodiscard]] ordered_json json(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    const command_result result = run(std::move(arguments));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return ordered_json::parse(result.out);
  }
  [[nodiscard]] std::vector<std::string> names(std::vector<std::string> arguments) const {
    std::vector<std::string> all;
    const ordered_json told = json(std::move(arguments));
    for (const ordered_json& each : told["packages"]) all.push_back(each["name"]);
    return all;
  }

  std::string a, b;
};

TEST_F(PackageIndexProgram, builds_answers_and_updates) {
  const std::string index = file("index");
  ordered_json told = json({"build", index, "--input", a});
  EXPECT_EQ(told["packages"], 3);
  EXPECT_EQ(told["names"], 2);
  EXPECT_EQ(told["dependencies"], 4);
  EXPECT_EQ(told["shared"], true);

  told = json({"show", index, "mutt"});
  EXPECT_EQ(told["version"], "2.2");
  EXPECT_EQ(told["depends"], "libc6 (>= 2.34), exim4 | mail-transport-agent");
  EXPECT_GT(told["opened_ms"].get<double>(), 0);
  std::printf("opened in %.2f ms, answered in %.3f ms\n", told["opened_ms"].get<double>(),
              told["answered_ms"].get<double>());
  told = json({"show", index, "mail-transport-agent"});
  EXPECT_EQ(told["listed"], false);
  EXPECT_EQ(told["provided_by"], ordered_json({"postfix"}));
  EXPECT_THAT(names({"list", index, "m"}), ElementsAre("mutt"));
  EXPECT_THAT(names({"depends", index, "mutt"}), ElementsAre("exim4", "libc6", "postfix"));
  EXPECT_THAT(names({"dependents", index, "postfix"}), ElementsAre("mutt"));
  EXPECT_THAT(names({"dependents", index, "libc6", "--all"}), ElementsAre("mutt", "postfix"));
  EXPECT_THAT(run({"depends", index, "mutt"}).out, HasSubstr("exim4    (no package has this name)\n"));

  const command_result updated = run({"update", index, "--input", "-"}, b);
  EXPECT_EQ(updated.out, "0 packages came, 1 changed, 1 went; 1 are as they were\n") << updated.err;
  EXPECT_THAT(names({"depends", index, "mutt"}), ElementsAre("exim4", "libc6"));
  told = json({"stat", index, "--check"});
  EXPECT_EQ(told["check"]["sound"], true);
  EXPECT_EQ(told["check"]["leaked"], 0);
  EXPECT_EQ(told["packages"], 2);
  EXPECT_EQ(told["names"], 1);
}

TEST_F(PackageIndexProgram, migrates) {
  const std::string index = file("index");
  EXPECT_EQ(json({"build", index, "--input", a, "--version", "1"})["version"], 1);
  EXPECT_EQ(json({"stat", index, "--check"})["check"]["sound"], true);
  EXPECT_THAT(run({"show", index, "mutt"}).err, HasSubstr("run `package_index migrate " + index + "`"));
  EXPECT_EQ(json({"migrate", index})["steps"][0]["name"], "link packages");
  EXPECT_EQ(run({"migrate", index}).out, "the index has version 2 already\n");
  EXPECT_THAT(names({"dependents", index, "libc6"}), ElementsAre("mutt", "postfix"));
}

TEST_F(PackageIndexProgram, says_what_is_wrong_and_what_to_do) {
  const std::string index = file("index");
  const auto fails = [&](std::vector<std::string> arguments, const std::string& with) {
    const command_result result = run(std::move(arguments));
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr(with));
    EXPECT_EQ(result.out, "");
  };
  fails({"show", index, "mutt"}, "there is no " + index + ": make it by `package_index build " + index + "`");
  fails({"build", index, "--input", file("none")}, "cannot open " + file("none"));
  fails({"build", index, "--input", folder.write("bad", "Package: x\nDepends: y (\n")},
        "line 1 (package 'x'): field depends");
  fails({"build", index, "--input", "/dev/null"}, "/dev/null holds no package");
  EXPECT_FALSE(std::filesystem::exists(index));
  fails({"show", a, "mutt"}, "pool " + a + ", byte ");
  { const situ::pool without = situ::pool::create(index); }
  for (const char* command : {"stat", "migrate"}) fails({command, index}, "`package_index build " + index + "`");
  fails({"update", index, "--input", a}, "has no index");
  EXPECT_EQ(run({"build", index, "--input", a}).exit_code, 0);
  fails({"build", index, "--input", a}, "has an index already");
  fails({"show", index, "libc"}, "has no package 'libc', the next one is 'libc6'");
}

TEST_F(PackageIndexProgram, has_examples_in_its_help) {
  for (const char* command : {"build", "show", "list", "depends", "dependents", "update", "migrate", "stat"})
    EXPECT_THAT(run({command, "--help"}).out, HasSubstr(std::string{"package_index "} + command + " ")) << command;
  EXPECT_THAT(run({"--help"}).out, HasSubstr("Examples:"));
}

}  // namespace
}  // namespace package_index::test
