// An invented archive: a random graph of packages, written out in the control format with everything that the format
// allows, and kept as a graph beside it, so that the program's reading and computing are held against something that
// was never parsed.
#pragma once

#include "graph.h"
#include "graph_support.h"
#include "reference.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace package_rank::test {

struct archive {
  std::vector<std::string> names;  // by vertex, ascending
  graph dependencies;
  std::vector<std::uint8_t> marks;
  std::string list, status, automatic;  // the files

  [[nodiscard]] vertex find(const std::string& name) const {
    return static_cast<vertex>(std::lower_bound(names.begin(), names.end(), name) - names.begin());
  }
};

inline std::string name_of(vertex v) {
  std::string digits = std::to_string(v);
  return std::string(1, static_cast<char>('a' + v % 26)) + "pkg" + std::string(6 - digits.size(), '0') + digits +
         (v % 3 == 0 ? "+x" : "");
}

// One need: by name, sometimes with a version or an architecture, which mean nothing.
inline std::string decorated(std::mt19937& random, const std::string& name) {
  switch (random() % 5) {
    case 0: return name + " (>= 1:2.3~rc1-4)";
    case 1: return name + ":any";
    case 2: return name + " (= 1.0) [amd64 !i386] <!nocheck>";
    default: return name;
  }
}

// The needs as a relation field, with commas and bars where they fall, folded here and there.
inline std::string relation_field(std::mt19937& random, const std::string& field,
                                  const std::vector<std::string>& needs) {
  std::string text;
  for (const std::string& need : needs) {
    if (!text.empty()) text += random() % 3 == 0 ? " | " : random() % 8 == 0 ? ",\n " : ", ";
    text += decorated(random, need);
  }
  return needs.empty() ? "" : field + ": " + text + "\n";
}

inline archive make_archive(unsigned seed, vertex count) {
  std::mt19937 random{seed};
  archive a;
  for (vertex v = 0; v < count; ++v) a.names.push_back(name_of(v));
  std::sort(a.names.begin(), a.names.end());
  a.dependencies = random_graph(random, count);
  // Some packages are provided under a virtual name, which then stands for them alone.
  std::vector<bool> is_virtual(count);
  for (vertex v = 0; v < count; ++v) is_virtual[v] = random() % 10 == 0;
  std::vector<vertex> order(count);
  for (vertex v = 0; v < count; ++v) order[v] = v;
  std::shuffle(order.begin(), order.end(), random);
  for (const vertex v : order) {
    std::vector<std::string> depends, pre_depends, recommends;
    for (const vertex target : a.dependencies.row(v)) {
      const std::string name = is_virtual[target] ? "virtual-" + a.names[target] : a.names[target];
      (random() % 4 == 0 ? recommends : random() % 4 == 0 ? pre_depends : depends).push_back(name);
    }
    if (random() % 6 == 0) depends.push_back("nobody-provides-this");
    if (random() % 6 == 0) depends.push_back(a.names[v]);
    a.list += "Package: " + a.names[v] + "\nVersion: 2.0\n";
    if (is_virtual[v]) a.list += "Provides: virtual-" + a.names[v] + " (= 2.0), other-" + a.names[v] + "\n";
    a.list += relation_field(random, "Depends", depends) + relation_field(random, "pre-depends", pre_depends) +
              relation_field(random, "Recommends", recommends);
    a.list += "Description: invented\n Depends: nothing, as this is a description\n .\nFilename: pool/x.deb\n\n";
    if (random() % 20 == 0)
      a.list += "Package: " + a.names[v] + "\nVersion: 2.0~older\nDepends: " + a.names[0] + "\n\n";
  }
  for (vertex v = 0; v < count; ++v) {
    const bool installed = random() % 4 != 0;
    const bool automatic = random() % 12 != 0;
    a.marks.push_back(static_cast<std::uint8_t>(installed ? (automatic ? usable : usable | root) : 0));
    a.status += "Package: " + a.names[v] +
                "\nStatus: " + (installed ? "install ok installed" : "deinstall ok config-files") + "\n\n";
    if (automatic) a.automatic += "Package: " + a.names[v] + "\nAuto-Installed: 1\n\n";
  }
  return a;
}

}  // namespace package_rank::test
