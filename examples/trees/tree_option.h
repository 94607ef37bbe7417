// The option --tree of the examples: which tree a program works on.
#pragma once

#include <situ/base/error.h>
#include <situ/machine/toml.h>
#include <situ/trees/place_tree.h>

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <string>

inline constexpr const char* tree_help =
    "What the children are: places (of the job), memories (NUMA nodes of this machine, with threads), or a machine "
    "file, "
    "whose shape memories of this process take (places)";

inline situ::place_tree tree_of(const std::string& what, std::uint32_t threads) {
  if (what == "places") return situ::place_tree::of_places();
  if (what == "memories") return situ::place_tree::of_memories({.threads = threads});
  return situ::place_tree::of_machine(situ::machine::read_toml(what), {.threads = threads});
}

// What f returns; false where it throws an error, which is printed.
template <class F>
bool told(const char* program, F f) {
  try {
    return f();
  } catch (const situ::error& bad) {
    fmt::print(stderr, "{}: {}\n", program, bad.message());
    return false;
  }
}
