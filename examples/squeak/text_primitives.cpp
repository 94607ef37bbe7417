// Comparing, searching and translating strings of bytes through a table of 256 bytes.
#include "primitives.h"

#include <algorithm>

namespace squeak {
namespace {

bool is_table(const object_memory& memory, oop o) { return memory.has_bytes(o) && byte_size(*memory.at(o)) >= 256; }

// compare: a with: b collated: order. 1: less, 2: equal, 3: greater.
bool compare(interpreter& vm) {
  object_memory& memory = vm.memory();
  if (!memory.has_bytes(vm.stack(2)) || !memory.has_bytes(vm.stack(1)) || !is_table(memory, vm.stack())) return false;
  const object &a = *memory.at(vm.stack(2)), &b = *memory.at(vm.stack(1));
  const std::uint8_t* const order = bytes_of(*memory.at(vm.stack()));
  const std::uint32_t both = std::min(byte_size(a), byte_size(b));
  int result = byte_size(a) == byte_size(b) ? 2 : byte_size(a) < byte_size(b) ? 1 : 3;
  for (std::uint32_t i = 0; i < both; ++i) {
    const std::uint8_t x = order[bytes_of(a)[i]], y = order[bytes_of(b)[i]];
    if (x == y) continue;
    result = x < y ? 1 : 3;
    break;
  }
  vm.answer_with(3, word_of(result));
  return true;
}

// translate: text from: start to: stop table: table
bool translate(interpreter& vm) {
  object_memory& memory = vm.memory();
  const oop text = vm.stack(3), start = vm.stack(2), stop = vm.stack(1);
  if (!memory.has_bytes(text) || !is_integer(start) || !is_integer(stop) || !is_table(memory, vm.stack())) return false;
  const std::int64_t first = integer_of(start), last = integer_of(stop);
  if (first < 1 || last > byte_size(*memory.at(text))) return false;
  std::uint8_t* const bytes = bytes_of(*memory.at_to_change(text));
  const std::uint8_t* const table = bytes_of(*memory.at(vm.stack()));
  for (std::int64_t i = first - 1; i < last; ++i) bytes[i] = table[bytes[i]];
  vm.answer_with(4, vm.stack(4));
  return true;
}

// findSubstring: key in: body startingAt: start matchTable: table
bool find(interpreter& vm) {
  object_memory& memory = vm.memory();
  if (!memory.has_bytes(vm.stack(3)) || !memory.has_bytes(vm.stack(2)) || !is_integer(vm.stack(1)) ||
      !is_table(memory, vm.stack()))
    return false;
  const object &key = *memory.at(vm.stack(3)), &body = *memory.at(vm.stack(2));
  const std::uint8_t* const table = bytes_of(*memory.at(vm.stack()));
  const auto matches = [&](std::uint8_t a, std::uint8_t b) { return table[a] == table[b]; };
  const std::uint8_t *const begin = bytes_of(body), *const end = begin + byte_size(body);
  const std::int64_t start = std::max(integer_of(vm.stack(1)), 1);
  std::int32_t found = 0;
  if (byte_size(key) != 0 && start <= byte_size(body)) {
    const std::uint8_t* const at =
        std::search(begin + start - 1, end, bytes_of(key), bytes_of(key) + byte_size(key), matches);
    if (at != end) found = static_cast<std::int32_t>(at - begin) + 1;
  }
  vm.answer_with(4, word_of(found));
  return true;
}

}  // namespace

bool text_primitive(interpreter& vm, std::uint32_t number, int arguments) {
  switch (number) {
    case 235: return arguments == 3 && compare(vm);
    case 243: return arguments == 4 && translate(vm);
    default: return arguments == 4 && find(vm);
  }
}

}  // namespace squeak
