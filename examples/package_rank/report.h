// What the program found, as tables for people or as JSON. For place 0.
#pragma once

#include "reference.h"
#include "traffic.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace package_rank {

struct report {
  struct part {
    std::uint64_t packages, edges, ghosts;
    std::string first, last;  // names; empty where the part is
  };
  struct phase {
    std::string name;
    double seconds;
    std::optional<flow> moved;  // none for what place 0 does alone
    std::string how;
  };
  struct entry {
    std::string package;
    double rank;
    std::uint64_t needed_by;
  };
  struct reason {
    std::string package;
    bool is_usable, is_root;
    std::vector<std::string> chain;  // root first; empty: none
  };
  struct check {
    double largest_difference;           // of two ranks
    double largest_relative_difference;  // against the reference's rank
    std::uint32_t iterations;
    double seconds;  // of the sequential ranks
    bool chains_agree;
    bool passed;
  };

  std::string source;
  std::uint64_t packages = 0, edges = 0, virtual_names = 0, unknown_names = 0;
  bool from_status = false;
  std::uint64_t installed = 0, not_listed = 0, roots = 0;
  rank_options options;
  rank_summary ranking;
  std::vector<part> parts;
  std::vector<phase> phases;
  std::vector<entry> top;
  std::vector<reason> reasons;
  traffic::table moved;
  std::optional<check> checked;
};

[[nodiscard]] std::string to_text(const report& r);
[[nodiscard]] std::string to_json(const report& r);

}  // namespace package_rank
