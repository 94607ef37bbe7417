// From package lists to the graph of packages: who needs whom, by name; and from dpkg's records to what is installed,
// and why.
//
// A vertex is a package name that has a stanza. Its number is its rank among all names in alphabetical order, so that
// numbers, and every choice that falls to the smallest number, do not depend on the order of the input or on the
// partition. An edge a -> b says: b can satisfy a dependency of a, alone or as one of several alternatives. A name
// stands for the package of that name and for every package that provides it; versions and architectures are not looked
// at. Of several stanzas with one name (versions, architectures) the newest version counts, the first among equals.
#pragma once

#include "control_file.h"
#include "graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace package_rank {

struct package_graph {
  std::vector<std::string> names;  // ascending; the index is the vertex
  graph dependencies;              // row v: what can satisfy v's dependencies
  std::size_t stanzas = 0;
  std::size_t with_filename = 0;  // stanzas of an archive; a list of installed packages has none
  std::size_t virtual_names = 0;  // provided by somebody, with no package of that name
  std::size_t unknown_names = 0;  // needed by somebody, but neither a package nor provided

  [[nodiscard]] std::optional<vertex> find(std::string_view name) const;
};

// Collects stanzas, in any order, and resolves the names at the end.
class package_list {
 public:
  explicit package_list(bool with_recommends);
  // Takes the next piece of a package list, cut anywhere. Throws situ::error (bad_file), naming the line.
  void feed(std::string_view piece) { reader_.feed(piece); }
  [[nodiscard]] std::size_t stanzas() const noexcept { return stanzas_; }
  // Ends the text and builds the graph. To be called once.
  [[nodiscard]] package_graph finish();

 private:
  using symbol = std::uint32_t;  // any name that occurs
  struct package {
    symbol name = 0;
    std::string version;
    std::vector<symbol> needs;
    std::vector<symbol> provides;
  };
  struct name_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>{}(name); }
  };
  struct resolver;

  void take(const stanza& s);
  void read_relations(const stanza& s, std::size_t field, std::vector<symbol>& into);
  symbol intern(std::string_view name);

  control_reader reader_;
  std::unordered_map<std::string, symbol, name_hash, std::equal_to<>> symbols_;
  std::vector<const std::string*> symbol_names_;
  std::vector<std::uint32_t> package_of_symbol_;  // index in packages_, or no_vertex
  std::vector<package> packages_;
  std::size_t stanzas_ = 0;
  std::size_t with_filename_ = 0;
};

// Whether a stanza with this Status field, "want flag state", is of a package that is there: what awaits configuration
// or triggers is, of config-files nothing else is left.
[[nodiscard]] bool is_installed(std::string_view status) noexcept;

// What is installed on a machine, and what of it is there for its own sake: because somebody asked for it, or as an
// essential part of the system.
struct installed_packages {
  std::vector<std::string> names;  // ascending, without repetitions
  std::vector<std::string> roots;  // those of `names` that are Essential, or not marked as installed automatically
};

// `status` is the text of dpkg's status file, `automatic` that of apt's extended_states (empty: nothing is automatic).
[[nodiscard]] installed_packages read_installed(std::string_view status, std::string_view automatic);

}  // namespace package_rank
