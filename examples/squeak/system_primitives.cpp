// The clock, the heap's room, snapshots, and what the image asks of its surroundings.
#include "primitives.h"

#include <ctime>

namespace squeak {
namespace {

constexpr std::uint32_t seconds_from_1901_to_1970 = 2'177'452'800U;

// The local time, as the image counts seconds.
std::uint32_t seconds() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  if (::localtime_r(&now, &local) == nullptr) local.tm_gmtoff = 0;
  return static_cast<std::uint32_t>(now + local.tm_gmtoff) + seconds_from_1901_to_1970;
}

bool answer_text(interpreter& vm, int arguments, std::string_view text) {
  vm.answer_with(arguments, vm.memory().make_string(text));
  return true;
}

// The image that is written goes on as if this primitive had answered true; here it answers false.
bool snapshot(interpreter& vm) {
  object_memory& memory = vm.memory();
  if (!vm.write_snapshot) return false;
  const oop receiver = vm.stack();
  vm.answer_with(0, memory.known().true_object);
  vm.store_active_process();
  const oop process = vm.active_process();
  const bool is_written = vm.write_snapshot(vm.options().image_path);
  memory.store(process, 1, memory.known().nil);
  vm.answer_with(0, is_written ? memory.known().false_object : receiver);
  return is_written;
}

bool answer_attribute(interpreter& vm, int arguments) {
  if (arguments != 1 || !is_integer(vm.stack())) return false;
  const std::int32_t number = integer_of(vm.stack());
  const interpreter_options& options = vm.options();
  if (number == 0) return answer_text(vm, 1, options.vm_path);
  if (number == 1) return answer_text(vm, 1, options.image_path);
  if (number >= 2 && static_cast<std::size_t>(number) < options.attributes.size() + 2)
    return answer_text(vm, 1, options.attributes[static_cast<std::size_t>(number) - 2]);
  switch (number) {
    case 1001: return answer_text(vm, 1, "unix");
    case 1002: return answer_text(vm, 1, "linux-gnu");
    case 1003: return answer_text(vm, 1, "x86_64");
    case 1004: return answer_text(vm, 1, "Situ's squeak");
    default: return false;
  }
}

// Answers garbageCollect, and bytesLeft.
void answer_bytes_free(interpreter& vm, int arguments) {
  const std::uint64_t free = vm.bytes_free();
  vm.answer_with(arguments, word_of(static_cast<std::int32_t>(std::min<std::uint64_t>(free, (1 << 30) - 1))));
}

}  // namespace

bool system_primitive(interpreter& vm, std::uint32_t number, int arguments) {
  object_memory& memory = vm.memory();
  switch (number) {
    case 97: return arguments == 0 && snapshot(vm);
    case 112: answer_bytes_free(vm, arguments); return true;
    case 113: vm.quit(); return true;
    case 115: {  // oldClass specialObjectsOop: others are known from now on
      const oop specials = vm.stack();
      if (arguments != 1 || !memory.has_pointers(specials) || memory.at(specials)->words < special::least) return false;
      vm.change_specials(specials);
      vm.answer_with(1, vm.stack(1));
      return true;
    }
    case 121:
      if (arguments != 0) return false;
      return answer_text(vm, 0, vm.options().image_path);
    case 129: vm.answer_with(arguments, memory.known().specials); return true;
    case 130:
    case 131:
      vm.collect();
      answer_bytes_free(vm, arguments);
      return true;
    case 135: vm.answer_with(arguments, word_of(static_cast<std::int32_t>(interpreter::milliseconds()))); return true;
    case 137:
      vm.answer_with(arguments, memory.make_unsigned(vm.options().seconds ? *vm.options().seconds : seconds()));
      return true;
    case 142: return answer_text(vm, arguments, vm.options().vm_path);
    default: return answer_attribute(vm, arguments);  // 149
  }
}

}  // namespace squeak
