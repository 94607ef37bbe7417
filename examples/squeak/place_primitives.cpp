// Primitives for programs that know of places: 600 to 607.
//
//   600  placeCount        the number of places
//   601  here              the place that runs this
//   602  home              the place where the receiver lives
//   603  moveTo: place     moves the receiver
//   604  beReadMostly      each place that reads the receiver has a replica, until somebody stores into it
//   605  allReadMostly     likewise all objects but contexts; answers how many
//   606  isReadMostly
//   607  getsBaton: aBoolean   whether the interpreter goes to the receiver's home while it is read-mostly
#include "primitives.h"

#include <situ/runtime/runtime.h>

namespace squeak {
namespace {

// Returns whether it may move: a context's addresses are those of the interpreter.
bool may_move(const object_memory& memory, oop o) { return !is_integer(o) && !memory.is_context(*memory.at(o)); }

oop boolean(const object_memory& memory, bool value) {
  return value ? memory.known().true_object : memory.known().false_object;
}

}  // namespace

bool place_primitive(interpreter& vm, std::uint32_t number, int arguments) {
  object_memory& memory = vm.memory();
  const bool has_argument = number == 603 || number == 607;
  if (arguments != (has_argument ? 1 : 0)) return false;
  const oop receiver = vm.stack(arguments);
  const situ::ref<> of{is_integer(receiver) ? 0 : receiver};
  const auto number_of = [](std::uint64_t n) { return word_of(static_cast<std::int32_t>(n)); };
  switch (number) {
    case 600: vm.answer_with(0, number_of(situ::place_count())); return true;
    case 601: vm.answer_with(0, number_of(situ::here().index())); return true;
    case 602:
      if (is_integer(receiver)) return false;
      vm.answer_with(0, number_of(memory.thread().home(of).index()));
      return true;
    case 603: {
      const oop to = vm.stack();
      if (!may_move(memory, receiver) || !is_integer(to) || integer_of(to) < 0 ||
          static_cast<std::uint32_t>(integer_of(to)) >= situ::place_count())
        return false;
      vm.outside([&] { memory.thread().move(of, situ::place{static_cast<std::uint32_t>(integer_of(to))}); });
      vm.answer_with(1, receiver);
      return true;
    }
    case 604:
      if (!may_move(memory, receiver)) return false;
      vm.outside([&] { (void)memory.thread().make_read_mostly(of); });
      vm.answer_with(0, receiver);
      return true;
    case 605: {
      std::uint64_t made = 0;
      vm.outside([&] { made = vm.make_all_read_mostly(); });
      vm.answer_with(0, number_of(made));
      return true;
    }
    case 606:
      if (is_integer(receiver)) return false;
      vm.answer_with(0, boolean(memory, memory.thread().is_read_mostly(of)));
      return true;
    default: {
      const oop gets = vm.stack();
      const bool is_boolean = gets == memory.known().true_object || gets == memory.known().false_object;
      if (is_integer(receiver) || !is_boolean) return false;
      object* const changed = memory.at_to_change(receiver);
      memory.layouts().set_gets_baton(*changed, gets == memory.known().true_object);
      vm.answer_with(1, receiver);
      return true;
    }
  }
}

}  // namespace squeak
