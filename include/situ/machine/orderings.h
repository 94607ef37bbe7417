// The orderings that programs go by: what follows from the machine, and what administrators have written, which wins.
//
// Files, the later ones first (docs/design/machine.md describes the format):
//   SITU_ORDERINGS                       for a run
//   ~/.config/situ/orderings.toml        for a user; XDG_CONFIG_HOME is respected
//   /etc/situ/orderings.toml             for the machine
// The last entry for an intent and an initiator counts, within a file and over all of them. An entry that names a
// memory which is not there (or that this process may not use) is left out, with a sentence in complaints(), and the
// next best source decides: another entry, or the tree.
//
// A value. cost: reading the files; a look-up is linear in the entries, and one that none of them fits sorts the
// memories.
#pragma once

#include <situ/machine/intent.h>
#include <situ/machine/processor_set.h>
#include <situ/machine/tree.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ::machine {

// A memory as allocations see it: a NUMA node, or a part of one.
struct ordered_memory {
  std::string name;                // "hbm 1", or what a file calls it
  std::uint32_t node = 0;          // the NUMA node's number
  std::uint64_t budget_bytes = 0;  // no more than this of the node; 0: no limit but the node's
  std::uint32_t weight = 1;        // so many 2 MiB in a row, where memories take turns

  friend bool operator==(const ordered_memory&, const ordered_memory&) = default;
};

// What happens to an allocation that no memory of its ordering has room for.
enum class no_room : std::uint8_t {
  error,  // out_of_memory, with what each memory has
  last,   // the last memory takes it, as long as the system has pages
};

// Which memories an intent takes, best first.
struct memory_order {
  // Memories of one step take turns, by their weights; the next step begins when all of them are full.
  std::vector<std::vector<ordered_memory>> steps;
  double fill = 0.9;  // the part of a memory that may be in use before the next one is taken (section 4.3 of the paper)
  no_room when_full = no_room::error;
  std::string source;  // what decided: "figures", "kinds and nearness", "/etc/situ/orderings.toml:3"

  friend bool operator==(const memory_order&, const memory_order&) = default;
};
// "hbm 1 > dram 0*3 + dram 2 > fast": best first, + between those that take turns.
[[nodiscard]] std::string to_text(const memory_order& order);

// All orderings of one machine.
class orderings {
 public:
  // By the tree alone.
  explicit orderings(tree machine);
  // Of this machine, with the files that exist. Throws bad_file for one that is no TOML, or says what orderings cannot.
  [[nodiscard]] static orderings of_this_machine();

  // Adds what a file, or a text, says; `file_name` is what messages call the text. Throws bad_file.
  void read(const std::string& path);
  void parse(std::string_view text, std::string_view file_name);

  // The ordering for an intent, seen from a node of the tree or from these processors.
  [[nodiscard]] memory_order find(const intent& what, node_id from) const;
  [[nodiscard]] memory_order find(const intent& what, const processor_set& from) const;

  // The ordering for the calling thread: seen from the processors that it may run on or, where these are near to
  // different memories, from those of them that are beside the memory it runs at now.
  [[nodiscard]] memory_order find_here(const intent& what) const;

  // Those that every machine has, then those that only files have, sorted.
  [[nodiscard]] std::vector<intent> intents() const;
  // A sentence for each entry that is not used, and for each figure of the firmware that is not.
  [[nodiscard]] std::span<const std::string> complaints() const noexcept { return complaints_; }
  [[nodiscard]] const tree& machine() const noexcept { return machine_; }

 private:
  struct entry {
    std::string name;          // of the intent
    processor_set processors;  // it is for initiators that have no others; empty: for all
    memory_order order;
  };
  friend class ordering_reader;
  tree machine_;
  std::vector<ordered_memory> named_;
  std::vector<entry> entries_;
  std::vector<std::string> complaints_;
};

// What a thread that may run on the processors `allowed`, and runs on processor `now`, sees memories from. All of them
// where one memory is local to all; else those that share with `now` the memory which is local to the fewest.
[[nodiscard]] processor_set seen_from(const tree& machine, const processor_set& allowed, std::uint32_t now);

// Where orderings are looked for on this machine, the ones that count most last. They need not exist; somebody
// without a home has no file.
struct ordering_files {
  std::string system;
  std::string user;         // empty: none
  std::string environment;  // SITU_ORDERINGS; empty: not set
};
// As the environment says now.
[[nodiscard]] ordering_files where_orderings_are();

}  // namespace situ::machine
