#include "primitives.h"

namespace squeak {
namespace {

constexpr std::uint32_t process_fields = 4;

bool is_semaphore(const object_memory& memory, oop o) { return memory.has_class(o, memory.known().class_semaphore); }

// A process that can be resumed: it has a context, and waits in no list.
bool can_resume(const object_memory& memory, oop process) {
  if (!memory.has_pointers(process) || memory.at(process)->words < process_fields) return false;
  const oop context = memory.field(process, 1), priority = memory.field(process, 2);
  return memory.has_pointers(context) && memory.is_context(*memory.at(context)) &&
         is_integer(memory.field(context, 1)) && is_integer(priority) && integer_of(priority) >= 1 &&
         integer_of(priority) <= 8;
}

}  // namespace

bool process_primitive(interpreter& vm, std::uint32_t number, int arguments) {
  object_memory& memory = vm.memory();
  const oop receiver = vm.stack(arguments);
  switch (number) {
    case 85:
      if (arguments != 0 || !is_semaphore(memory, receiver)) return false;
      vm.signal(receiver);
      return true;
    case 86:
      if (arguments != 0 || !is_semaphore(memory, receiver)) return false;
      vm.wait(receiver);
      return true;
    case 87:
      if (arguments != 0 || !can_resume(memory, receiver)) return false;
      vm.resume(receiver);
      return true;
    case 88:
      if (arguments != 0 || receiver != vm.active_process()) return false;
      vm.answer_with(0, memory.known().nil);
      vm.suspend_active();
      return true;
    case 124: {
      if (arguments != 1) return false;
      const oop semaphore = is_semaphore(memory, vm.stack()) ? vm.stack() : memory.known().nil;
      memory.store(memory.known().specials, special::low_space_semaphore, semaphore);
      vm.answer_with(1, receiver);
      return true;
    }
    case 125:
      if (arguments != 1 || !is_integer(vm.stack()) || integer_of(vm.stack()) < 0) return false;
      vm.set_low_space_threshold(static_cast<std::uint64_t>(integer_of(vm.stack())));
      vm.answer_with(1, receiver);
      return true;
    case 136: {
      if (arguments != 2 || !is_integer(vm.stack())) return false;
      vm.set_wake_up(vm.stack(1), static_cast<std::uint32_t>(integer_of(vm.stack())));
      vm.answer_with(2, receiver);
      return true;
    }
    default:  // 230: the image's idle process has nothing to do
      if (arguments != 1) return false;
      vm.answer_with(1, receiver);
      vm.idle();
      return true;
  }
}

}  // namespace squeak
