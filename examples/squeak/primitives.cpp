#include "primitives.h"

#include "named_primitives.h"

namespace squeak {
namespace {

using group = bool (*)(interpreter&, std::uint32_t, int);

// Returns the group of a number; nullptr: it always fails.
group group_of(std::uint32_t number) {
  if (number >= 1 && number <= 18) return integer_primitive;
  if (number >= 23 && number <= 28) return large_comparison;
  if (number >= 40 && number <= 59) return float_primitive;
  switch (number) {
    case 60 ... 64:
    case 73:
    case 74:
    case 105:
    case 132: return element_primitive;
    case 68 ... 72:
    case 75 ... 79:
    case 89:
    case 110:
    case 111:
    case 116:
    case 119:
    case 128:
    case 148:
    case 168: return object_primitive;
    case 85 ... 88:
    case 124:
    case 125:
    case 136:
    case 230: return process_primitive;
    case 97:
    case 112:
    case 113:
    case 115:
    case 121:
    case 129:
    case 130:
    case 131:
    case 135:
    case 137:
    case 142:
    case 149: return system_primitive;
    case 235:
    case 243:
    case 246: return text_primitive;
    case 600 ... 607: return place_primitive;
    default: return nullptr;
  }
}

}  // namespace

bool interpreter::run_primitive(std::uint32_t number, int arguments) {
  if (options_.counts) ++counts_.primitives;
  if (number == guarded_entry) return fail_on_guarded_entry(arguments);
  if (number == 117) {
    const bool is_done = named_->call(*this, arguments);
    refresh_addresses();
    return is_done;
  }
  if (number >= 256 && number < 520) {
    answer_with(arguments, quick_answer(number, stack(arguments)));
    return true;
  }
  if (number == 81) return activate_block(arguments);
  const group found = group_of(number);
  const bool is_done = found != nullptr && found(*this, number, arguments);
  refresh_addresses();
  return is_done;
}

}  // namespace squeak
