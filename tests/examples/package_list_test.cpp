// From package lists to the graph: names, alternatives, virtual packages, repeated stanzas; and what is installed.
#include "package_list.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace package_rank {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

package_graph read(std::string_view text, bool with_recommends = false) {
  package_list list{with_recommends};
  list.feed(text);
  return list.finish();
}

// "a -> b c", one string a vertex.
std::vector<std::string> edges(const package_graph& g) {
  std::vector<std::string> result;
  for (vertex v = 0; v < g.dependencies.vertex_count(); ++v) {
    std::string line = g.names[v] + " ->";
    for (const vertex target : g.dependencies.row(v)) line += " " + g.names[target];
    result.push_back(line);
  }
  return result;
}

TEST(PackageList, VerticesAreNamesInAlphabeticalOrder) {
  const package_graph g = read("Package: b\n\nPackage: a10\n\nPackage: a9\n");
  EXPECT_THAT(g.names, ElementsAre("a10", "a9", "b"));
  EXPECT_EQ(g.find("a9"), vertex{1});
  EXPECT_EQ(g.find("a"), std::nullopt);
  EXPECT_EQ(g.find("zz"), std::nullopt);
}

TEST(PackageList, DependsPreDependsAndAlternativesAreEdges) {
  EXPECT_THAT(edges(read("Package: a\nDepends: c (>= 1), b | d:any\nPre-Depends: e\nRecommends: f\nSuggests: g\n\n"
                         "Package: b\n\nPackage: c\n\nPackage: d\n\nPackage: e\n\nPackage: f\n\nPackage: g\n")),
              ElementsAre("a -> b c d e", "b ->", "c ->", "d ->", "e ->", "f ->", "g ->"));
}

TEST(PackageList, RecommendsOnRequest) {
  const char* text = "Package: a\nDepends: b\nRecommends: c\n\nPackage: b\n\nPackage: c\n";
  EXPECT_THAT(edges(read(text, false)), ElementsAre("a -> b", "b ->", "c ->"));
  EXPECT_THAT(edges(read(text, true)), ElementsAre("a -> b c", "b ->", "c ->"));
}

TEST(PackageList, RepetitionsAndSelfDependenciesAreDropped) {
  EXPECT_THAT(edges(read("Package: a\nDepends: b (>= 1), b (<< 2), a\n\nPackage: b\nProvides: v\nDepends: v\n")),
              ElementsAre("a -> b", "b ->"));
}

TEST(PackageList, VirtualPackagesLeadToEveryProvider) {
  const package_graph g = read(
      "Package: app\nDepends: awk, missing | gone\n\n"
      "Package: mawk\nProvides: awk, other (= 3)\n\nPackage: gawk\nProvides: awk\n");
  EXPECT_THAT(edges(g), ElementsAre("app -> gawk mawk", "gawk ->", "mawk ->"));
  EXPECT_EQ(g.virtual_names, 2u);
  EXPECT_EQ(g.unknown_names, 2u);
}

TEST(PackageList, AProvidedNameThatIsAlsoAPackageMeansBoth) {
  EXPECT_THAT(edges(read("Package: app\nDepends: libx\n\nPackage: libx\n\nPackage: libx2\nProvides: libx\n")),
              ElementsAre("app -> libx libx2", "libx ->", "libx2 ->"));
}

TEST(PackageList, TheNewestOfSeveralStanzasCounts) {
  const char* text =
      "Package: a\nVersion: 1:1\nDepends: c\nProvides: old\n\n"
      "Package: a\nVersion: 1:1.0~rc1\nDepends: b\n\n"
      "Package: a\nVersion: 1:1.2\nDepends: b\nProvides: new\n\n"
      "Package: a\nVersion: 1:1.2\nDepends: c\n\n"
      "Package: b\nDepends: new\n\nPackage: c\nDepends: old\n";
  const package_graph g = read(text);
  EXPECT_THAT(edges(g), ElementsAre("a -> b", "b -> a", "c ->"));
  EXPECT_EQ(g.stanzas, 6u);
  EXPECT_EQ(g.unknown_names, 1u);
}

TEST(PackageList, FilenamesTellAnArchiveFromAStatusFile) {
  EXPECT_EQ(read("Package: a\nFilename: pool/a.deb\n\nPackage: b\n").with_filename, 1u);
}

TEST(PackageList, EmptyInputIsAnEmptyGraph) {
  const package_graph g = read("");
  EXPECT_THAT(g.names, IsEmpty());
  EXPECT_EQ(g.dependencies.vertex_count(), 0u);
}

std::string error_of(std::string_view text) {
  try {
    (void)read(text);
  } catch (const situ::error& e) {
    EXPECT_EQ(e.code(), situ::errc::bad_file);
    return std::string{e.message()};
  }
  return "no error";
}

TEST(PackageList, MalformedStanzasAreNamed) {
  EXPECT_THAT(error_of("Version: 1\n"), HasSubstr("the stanza at line 1 has no package name"));
  EXPECT_THAT(error_of("Package: a b\n"), HasSubstr("the stanza at line 1 has no package name"));
  EXPECT_THAT(error_of("\nPackage: a\nDepends: b (1)\n"),
              HasSubstr("the stanza at line 2 (package a), field depends: expected a comparison"));
}

constexpr const char* status_file =
    "Package: bash\nEssential: yes\nStatus: install ok installed\n\n"
    "Package: mutt\nStatus: install ok installed\n\n"
    "Package: libc6\nStatus: hold ok installed\nArchitecture: amd64\n\n"
    "Package: libc6\nStatus: install ok installed\nArchitecture: i386\n\n"
    "Package: man-db\nStatus: install ok triggers-pending\n\n"
    "Package: gone\nStatus: deinstall ok config-files\n\n"
    "Package: half\nStatus: install reinstreq half-installed\n\n"
    "Package: never\nStatus: unknown ok not-installed\n\n";

TEST(Installed, StatesOfDpkg) {
  const installed_packages installed = read_installed(status_file, "");
  EXPECT_THAT(installed.names, ElementsAre("bash", "libc6", "man-db", "mutt"));
  EXPECT_EQ(installed.roots, installed.names);
}

TEST(Installed, AutomaticOnesAreNoRootsUnlessEssential) {
  const installed_packages installed =
      read_installed(status_file,
                     "Package: libc6\nArchitecture: amd64\nAuto-Installed: 1\n\nPackage: bash\nAuto-Installed: 1\n\n"
                     "Package: mutt\nAuto-Installed: 0\n\nPackage: elsewhere\nAuto-Installed: 1\n");
  EXPECT_THAT(installed.roots, ElementsAre("bash", "man-db", "mutt"));
}

}  // namespace
}  // namespace package_rank
