// The orderings that programs use: those that administrators have written, and otherwise those that follow from the
// machine.
//
// Files, the highest priority first (docs/design/machine.md describes the format):
//   SITU_ORDERINGS                       for a run
//   ~/.config/situ/orderings.toml        for a user; XDG_CONFIG_HOME is respected
//   /etc/situ/orderings.toml             for the machine
// Within a file the last entry for an intent and an initiator counts. If an entry names a memory that does not exist
// (or that this process may not use), it is left out, with a sentence in complaints(), and the next best source
// decides: another entry, or the tree.
//
// A value. cost: reading the files; a look-up is linear in the entries, and sorts the memories if no entry matches.
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

// A memory that allocations can use: a NUMA node, or a part of one.
struct ordered_memory {
  std::string name;                // "hbm 1", or the name that a file gives it
  std::uint32_t node = 0;          // the NUMA node's number
  std::uint64_t budget_bytes = 0;  // most bytes to take from the node; 0: no limit but the node's
  std::uint32_t weight = 1;        // for memories that take turns: units of 2 MiB in a row

  friend bool operator==(const ordered_memory&, const ordered_memory&) = default;
};

// The treatment of an allocation if no memory of its ordering has room.
enum class no_room : std::uint8_t {
  error,  // throws out_of_memory, which lists the room of each memory
  last,   // takes the last memory, as long as the system has pages
};

// The memories for an intent, best first.
struct memory_order {
  // Memories of one step take turns, by their weights; the next step begins when all of them are full.
  std::vector<std::vector<ordered_memory>> steps;
  // the part of a memory that may be in use before the next memory is taken (section 4.3 of the paper)
  double fill = 0.9;
  no_room when_full = no_room::error;
  std::string source;  // the source of this ordering: "figures", "kinds and nearness", "/etc/situ/orderings.toml:3"

  friend bool operator==(const memory_order&, const memory_order&) = default;
};
// Returns the ordering as text, "hbm 1 > dram 0*3 + dram 2 > fast": best first, with + between memories that take
// turns.
[[nodiscard]] std::string to_text(const memory_order& order);

// All orderings of one machine.
class orderings {
 public:
  // Makes orderings from the tree alone.
  explicit orderings(tree machine);
  // Makes the orderings of this machine, with the files that exist. Throws bad_file for a file that is not TOML or not
  // valid as orderings.
  [[nodiscard]] static orderings of_this_machine();

  // Adds the entries of a file, or of a text; messages call the text `file_name`. Throws bad_file.
  void read(const std::string& path);
  void parse(std::string_view text, std::string_view file_name);

  // Returns the ordering for an intent, seen from a node of the tree or from these processors.
  [[nodiscard]] memory_order find(const intent& what, node_id from) const;
  [[nodiscard]] memory_order find(const intent& what, const processor_set& from) const;

  // Returns the ordering for the calling thread, seen from the processors that it may run on. If these are near to
  // different memories, only those near the memory of the thread's current processor count.
  [[nodiscard]] memory_order find_here(const intent& what) const;

  // Returns the intents of the machine (intents_of), then the intents that only files have, sorted.
  [[nodiscard]] std::vector<intent> intents() const;
  // Returns a sentence for each entry, and for each figure of the firmware, that is not used.
  [[nodiscard]] std::span<const std::string> complaints() const noexcept { return complaints_; }
  [[nodiscard]] const tree& machine() const noexcept { return machine_; }

 private:
  struct entry {
    std::string name;  // the intent's name
    // the entry applies to initiators that have no processors outside this set; empty: to all
    processor_set processors;
    memory_order order;
  };
  friend class ordering_reader;
  tree machine_;
  std::vector<ordered_memory> named_;
  std::vector<entry> entries_;
  std::vector<std::string> complaints_;
};

// Returns the processors from which a thread sees memories if it may run on the processors `allowed` and runs on
// processor `now`: all of `allowed` if one memory is local to all of them; otherwise those that share with `now` the
// memory that is local to the fewest.
[[nodiscard]] processor_set seen_from(const tree& machine, const processor_set& allowed, std::uint32_t now);

// The paths of this machine's ordering files, the one with the highest priority last. The files need not exist; a user
// without a home has no file.
struct ordering_files {
  std::string system;
  std::string user;         // empty: none
  std::string environment;  // SITU_ORDERINGS; empty: not set
};
// Returns the paths according to the present environment.
[[nodiscard]] ordering_files where_orderings_are();

}  // namespace situ::machine
