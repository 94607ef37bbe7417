// What `situ bench heap` measures, and what Situ aims at. The program that takes the samples is in bench/heap.
#include "job_bench.h"

#include <filesystem>

#include "debian_files.h"
#include "os/find_program.h"

namespace situ::bench {
namespace {

using aim = comparison_aim;

comparison_case read(std::string_view name, std::string_view words, double at_most,
                     std::string_view pointers = "itself: as many objects, laid out alike") {
  return {name, words, "read", 0, {{"pointer", pointers}, {"situ", "pointer", aim{at_most}}}};
}

comparison_case vm(std::string_view name, std::string_view words, std::string_view unit) {
  return {name,
          words,
          unit,
          0,
          {{.name = "squeak_vm", .counterpart = "itself: an interpreter in C", .package = "squeak-vm"},
           {.name = "situ", .counterpart = "squeak_vm", .aim = aim{1}, .program = "situ_bench_heap_vm"}}};
}

// Why the VM cannot be compared here.
std::string absence_of_vms() {
  if (os::find_own_program("situ_bench_heap_vm").empty())
    return "this Situ was built without its examples (SITU_BUILD_EXAMPLES)";
  if (const std::string image = squeak::debian_image(); !std::filesystem::exists(image))
    return "there is no " + image + ": install Debian's package scratch, or set SITU_SQUEAK_IMAGE";
  if (const std::string program = squeak::debian_vm(); !std::filesystem::exists(program))
    return "there is no squeakvm: install Debian's package squeak-vm, or set SITU_SQUEAK_VM";
  return {};
}

std::vector<comparison_case> all_vm_cases() {
  return {vm("vm_sends", "`26 benchFib` in a Squeak image: 393 thousand sends", "call"),
          vm("vm_sieve", "`1 benchmark` there: a sieve of 8,190 numbers, 385 thousand bytecodes", "call"),
          vm("vm_compile", "a method of eight messages compiled there", "method")};
}

std::vector<comparison_case> all_heap_cases() {
  return {
      read("read_in_order", "a field of 1e6 objects, in the order in which they were made", 1.1),
      read("read_at_random", "likewise, in random order, after a collection that renumbers; the objects lie as before",
           1.5),
      read("read_chain", "likewise, each object names the next", 2),
      read("read_chain_sorted", "the chain, after a collection that sorts and renumbers", 1.2,
           "itself: objects in the chain's order"),
      read("read_chain_made_sorted", "the same", 1.2, "itself: objects that stay where they were made"),
      {"store_in_cache",
       "a field of 1,000 objects, all in the nearest cache",
       "store",
       0,
       {{"pointer", "itself"}, {"table", "pointer"}, {"situ", "pointer"}}},
      {"barrier",
       "what the test of a store adds: situ - table of store_in_cache; the least is 0.01 ns",
       "store",
       0,
       {{"barrier", "a store through the table without a test", aim{1, false}}}},
      {"allocate_young",
       "44 bytes, set; 5,000 live at a time, and all collections are in the time",
       "object",
       0,
       {{"bump", "itself: a pointer that is moved on, in 16 MB"}, {"malloc", "bump"}, {"situ", "bump", aim{2}}}},
      {"allocate_young_malloc",
       "the same",
       "object",
       0,
       {{"malloc", "itself: malloc and free"}, {"situ", "malloc", aim{0.3}}}},
      {"allocate_fresh",
       "44 bytes, set; 1e6 that all live, in memory that exists",
       "object",
       0,
       {{"bump", "itself: a pointer that is moved on, in 48 MB"}, {"malloc", "bump"}, {"situ", "bump", aim{1.3}}}},
      {"store_while_moving",
       "a counter of one of 1e5 objects, checked and stored; another processor moves batches of 50 all the time",
       "store",
       0,
       {{"still", "itself: nobody moves"}, {"others_move", "still"}, {"moving", "still", aim{1.2}}}},
      {"pause_own",
       "a collection of 16 MB of a thread's own objects; a twentieth lives",
       "pause",
       0,
       {{"median", "itself"}, {"p99", "median", aim{3e6, false}}}},
  };
}

std::vector<std::string_view> names_of(const std::vector<comparison_case>& cases) {
  std::vector<std::string_view> names;
  for (const comparison_case& each : cases) names.push_back(each.name);
  return names;
}

}  // namespace

const job_bench& heap_bench() {
  static const std::vector<comparison_case> of_heap = all_heap_cases(), of_vm = all_vm_cases();
  static const std::vector<comparison_case> cases = [] {
    std::vector<comparison_case> all = of_heap;
    all.insert(all.end(), of_vm.begin(), of_vm.end());
    return all;
  }();
  static const job_bench made{
      .name = "heap",
      .title = "The object heap",
      .words =
          "Objects of 44 bytes. Pages of 4 KiB, of the same segment for all but malloc. Reads and stores within a "
          "section, which polls each 1,000 accesses. `store_while_moving` counts the writer's processor time; a lost "
          "store ends the bench. A Squeak VM on an object heap is compared with Debian's squeak-vm, where that is "
          "installed, by the image's own clock.",
      .help = "References through an object table beside pointers, allocation, moves under writers, pauses",
      .cases = cases,
      .programs = {{.name = "situ_bench_heap", .cases = names_of(of_heap), .places = 2},
                   {.name = "situ_bench_heap_vm", .cases = names_of(of_vm), .places = 1, .absence = absence_of_vms}},
      .subjects = {"pointer", "table", "bump", "malloc", "still", "median", "squeak_vm", "situ", "barrier",
                   "others_move", "moving", "p99"}};
  return made;
}

}  // namespace situ::bench
