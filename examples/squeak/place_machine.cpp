#include "place_machine.h"

#include <situ/runtime/collective.h>
#include <situ/runtime/runtime.h>

#include <algorithm>

namespace squeak {
namespace {

// Several places share the entries and the memory of one.
situ::heap_options of_each_place(situ::heap_options of_all) {
  const std::uint64_t places = situ::place_count();
  if (places == 1) return of_all;
  of_all.entries = std::max<std::uint64_t>(of_all.entries / places, 1 << 15);
  if (of_all.collect_after != 0) of_all.collect_after = std::max<std::uint64_t>(of_all.collect_after / places, 1);
  return of_all;
}

situ::heap_objects what_is_made() {
  return situ::place_count() == 1 ? situ::heap_objects::own : situ::heap_objects::shared;
}

}  // namespace

place_machine::place_machine(situ::heap_options of_heap, const place_options& how)
    : heap{of_each_place(of_heap)},
      thread{heap, nullptr, what_is_made()},
      layouts{heap},
      memory{heap, thread, layouts, what_is_made()} {
  if (situ::place_count() == 1) return;
  own_baton.emplace(how.one_heap, how.clock_call);
  memory.ask_others = [this](const std::function<void()>& call) { own_baton->with_others(call); };
  all = situ::all_gather(reinterpret_cast<std::uint64_t>(this));
}

place_machine::~place_machine() = default;

void place_machine::help(const interpreter_options& options) {
  // The main place makes objects here by messages, until it has loaded the image.
  const std::vector<oop> known = situ::broadcast(std::vector<oop>{});
  if (known.empty()) throw baton_abandoned{};
  memory.enter();
  memory.set_specials(known.front());
  vm.emplace(memory, options, &*own_baton);
  for (std::size_t i = 1; i < known.size(); ++i) vm->fail_on_entry(known[i], {});
  vm->help();
  vm.reset();
  memory.leave();
}

void help_main_place(const interpreter_options& options, const situ::heap_options& heap, const place_options& how) {
  try {
    place_machine{heap, how}.help(options);
  } catch (const baton_abandoned&) {  // an error of the main place, which says why
  }
}

}  // namespace squeak
