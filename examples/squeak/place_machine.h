// One place's part of a machine: the heap as that place sees it, its thread, its interpreter. Every place makes one, at
// the same time as the others.
#pragma once

#include "baton.h"
#include "interpreter.h"
#include "object_memory.h"

#include <situ/heap/object_heap.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace squeak {

// The objects of a loaded image that become read-mostly.
enum class read_mostly : std::uint8_t { none, methods, all };

// The ways in which several places can run an image.
struct place_options {
  read_mostly replicated = read_mostly::none;
  bool one_heap = false;         // the baton goes to no receiver that is read-mostly
  std::uint32_t clock_call = 0;  // rounds of a loop that each pass of the baton takes
};

struct place_machine {
  // Collective. heap: with room for all places together.
  place_machine(situ::heap_options heap, const place_options& how);
  ~place_machine();
  place_machine(const place_machine&) = delete;
  place_machine& operator=(const place_machine&) = delete;

  // Runs the interpreter whenever this place has the baton, until the main place ends. For the other places. Throws
  // baton_abandoned.
  void help(const interpreter_options& options);

  situ::object_heap heap;
  situ::heap_thread thread;
  image_layouts layouts;
  object_memory memory;
  std::optional<baton> own_baton;  // if there are several places
  std::optional<interpreter> vm;
  std::vector<std::uint64_t> all;  // the machines of all places, each an address in its process
};

// Makes a machine, and helps the main place with it until that one ends: for the other places. The options are those of
// the main place. Throws place_lost_error.
void help_main_place(const interpreter_options& options, const situ::heap_options& heap, const place_options& how);

}  // namespace squeak
