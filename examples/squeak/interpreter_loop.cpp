// The loop over bytecodes. Its registers are local variables: ip, sp, and what the active context leads to.
//
// Numbers of bytecodes are those of the format. A comparison looks at the bytecode behind it itself, since a jump is
// there most of the time. Each bytecode that is run counts once.
#include "interpreter.h"
#include "primitives.h"

#include <fmt/format.h>

namespace squeak {

// Copy the registers to the members, and back after the frame may have changed.
#define SQUEAK_STORE_REGISTERS() (sp_ = sp, ip_ = ip)
#define SQUEAK_LOAD_REGISTERS() \
  (sp = sp_, ip = ip_, literals = code_->body() + 1, temporaries = home_->body() + 6, receiver = receiver_)
#define SQUEAK_COUNT_BYTECODE() (Counts ? void(++counts_.bytecodes) : void())
// Goes to the code of the next bytecode, from the end of another one's: there the processor predicts it best.
#define SQUEAK_NEXT()        \
  do {                       \
    SQUEAK_COUNT_BYTECODE(); \
    code = *ip++;            \
    goto* codes[code];       \
  } while (false)
#define SQUEAK_4(label) &&label, &&label, &&label, &&label
#define SQUEAK_8(label) SQUEAK_4(label), SQUEAK_4(label)
#define SQUEAK_16(label) SQUEAK_8(label), SQUEAK_8(label)
#define SQUEAK_32(label) SQUEAK_16(label), SQUEAK_16(label)
#define SQUEAK_JUMP_IF(condition, distance)                             \
  do {                                                                  \
    const std::uint32_t jump = (distance);                              \
    if (*sp == (condition)) {                                           \
      ip += jump;                                                       \
    } else if (*sp != known.true_object && *sp != known.false_object) { \
      selector = memory_.special(special::must_be_boolean);             \
      arguments = 0;                                                    \
      goto send;                                                        \
    }                                                                   \
    --sp;                                                               \
  } while (false)
#define SQUEAK_COMPARE(comparison)                                                                  \
  do {                                                                                              \
    if ((sp[-1] & *sp & 1) == 0) goto special_send;                                                 \
    const bool is_so = static_cast<std::int32_t>(sp[-1]) comparison static_cast<std::int32_t>(*sp); \
    *--sp = is_so ? known.true_object : known.false_object;                                         \
    goto compared;                                                                                  \
  } while (false)

template <bool Counts, bool Places>
run_end interpreter::loop() {
  const known_objects& known = memory_.known();
  const std::uint8_t* ip;
  std::uint32_t* sp;
  const std::uint32_t* literals;
  std::uint32_t* temporaries;
  oop receiver;
  SQUEAK_LOAD_REGISTERS();
  std::uint32_t code;
  oop selector;
  int arguments;
  oop start_class;
  oop value;
  method_cache::entry* found;
  [[maybe_unused]] std::uint64_t receiver_entry = 0;  // of the message's receiver; 0: a SmallInteger

  // The code of each bytecode: the frequent ones have their own, the switch has the others.
  // clang-format off: a table, which it lays out in a column
  static const void* const codes[256] = {
      SQUEAK_16(do_push_field), SQUEAK_16(do_push_temporary), SQUEAK_32(do_push_literal), SQUEAK_32(do_push_variable),
      SQUEAK_8(do_store_field), SQUEAK_8(do_store_temporary),
      &&do_push_receiver, &&do_push_true, &&do_push_false, &&do_push_nil, SQUEAK_4(do_push_number),
      &&do_return_receiver, &&others, &&others, &&others, &&do_return_top, &&do_return_from_block, &&others, &&others,
      SQUEAK_4(others), &&others, &&others, &&others, &&do_pop,
      &&do_duplicate, &&others, &&others, &&others, SQUEAK_4(others),
      SQUEAK_8(do_jump), SQUEAK_8(do_jump_on_false),
      SQUEAK_8(do_long_jump), SQUEAK_4(do_long_jump_on_true), SQUEAK_4(do_long_jump_on_false),
      &&do_add, &&do_subtract, &&do_less, &&do_greater, &&do_less_or_equal, &&do_greater_or_equal, &&do_equal,
      &&do_not_equal,
      &&do_multiply, &&others, &&others, &&others, &&others, &&others, &&do_bits, &&do_bits,
      &&do_at, &&do_at_put, &&do_size, &&others, &&others, &&others, &&do_identical, &&do_class_of,
      &&do_block_copy, &&do_value_of_block, &&do_value_of_block, &&others, SQUEAK_4(others),
      SQUEAK_16(do_send_literal), SQUEAK_16(do_send_literal), SQUEAK_16(do_send_literal)};
  // clang-format on

next:
  SQUEAK_NEXT();

others:
  switch (code) {
    case 0 ... 15:
    do_push_field:
      *++sp = memory_.field(receiver, code);
      SQUEAK_NEXT();
    case 16 ... 31:
    do_push_temporary:
      *++sp = temporaries[code - 16];
      SQUEAK_NEXT();
    case 32 ... 63:
    do_push_literal:
      *++sp = literals[code - 32];
      SQUEAK_NEXT();
    case 64 ... 95:
    do_push_variable:
      *++sp = memory_.field(literals[code - 64], 1);
      SQUEAK_NEXT();
    case 96 ... 103:
    do_store_field:
      if (memory_.store(receiver, code - 96, *sp--)) goto moved;
      SQUEAK_NEXT();
    case 104 ... 111:
    do_store_temporary:
      temporaries[code - 104] = *sp--;
      SQUEAK_NEXT();
    case 112:
    do_push_receiver:
      *++sp = receiver;
      SQUEAK_NEXT();
    case 113:
    do_push_true:
      *++sp = known.true_object;
      SQUEAK_NEXT();
    case 114:
    do_push_false:
      *++sp = known.false_object;
      SQUEAK_NEXT();
    case 115:
    do_push_nil:
      *++sp = known.nil;
      SQUEAK_NEXT();
    case 116 ... 119:
    do_push_number:
      *++sp = word_of(static_cast<std::int32_t>(code) - 117);
      SQUEAK_NEXT();
    case 120:
    do_return_receiver:
      value = receiver;
      goto method_return;
    case 121: value = known.true_object; goto method_return;
    case 122: value = known.false_object; goto method_return;
    case 123: value = known.nil; goto method_return;
    case 124:
    do_return_top:
      value = *sp;
      goto method_return;
    case 125:
    do_return_from_block:
      value = *sp;
      goto block_return;
    case 128: {  // push, with a longer number
      const std::uint32_t number = *ip++;
      switch (number >> 6) {
        case 0: value = memory_.field(receiver, number & 63); break;
        case 1: value = temporaries[number & 63]; break;
        case 2: value = literals[number & 63]; break;
        default: value = memory_.field(literals[number & 63], 1); break;
      }
      *++sp = value;
      SQUEAK_NEXT();
    }
    case 129 ... 130: {  // store, and store and pop
      const std::uint32_t number = *ip++;
      switch (number >> 6) {
        case 0: (void)memory_.store(receiver, number & 63, *sp); break;
        case 1: temporaries[number & 63] = *sp; break;
        case 2: goto unknown;
        default: (void)memory_.store(literals[number & 63], 1, *sp); break;
      }
      if (code == 130) --sp;
      goto stored;
    }
    case 132: {  // sends, pushes and stores with a number of 8 bits
      const std::uint32_t what = *ip++, number = *ip++;
      switch (what >> 5) {
        case 0: selector = literals[number], arguments = static_cast<int>(what & 31); goto send;
        case 1: selector = literals[number], arguments = static_cast<int>(what & 31); goto super_send;
        case 2: *++sp = memory_.field(receiver, number); break;
        case 3: *++sp = literals[number]; break;
        case 4: *++sp = memory_.field(literals[number], 1); break;
        case 5: (void)memory_.store(receiver, number, *sp); break;
        case 6: (void)memory_.store(receiver, number, *sp--); break;
        default: (void)memory_.store(literals[number], 1, *sp); break;
      }
      goto stored;
    }
    case 131:
    case 133: {
      const std::uint32_t number = *ip++;
      selector = literals[number & 31], arguments = static_cast<int>(number >> 5);
      if (code == 131) goto send;
      goto super_send;
    }
    case 134: {
      const std::uint32_t number = *ip++;
      selector = literals[number & 63], arguments = static_cast<int>(number >> 6);
      goto send;
    }
    case 135:
    do_pop:
      --sp;
      SQUEAK_NEXT();
    case 136:
    do_duplicate:
      ++sp, *sp = sp[-1];
      SQUEAK_NEXT();
    case 137:
      reclaimable_ = 0;
      SQUEAK_STORE_REGISTERS();
      store_frame();
      *++sp = context_;
      SQUEAK_NEXT();
    case 144 ... 151:
    do_jump:
      ip += code - 143;
      SQUEAK_NEXT();
    case 152 ... 159:
    do_jump_on_false:
      SQUEAK_JUMP_IF(known.false_object, code - 151);
      SQUEAK_NEXT();
    case 160 ... 167:
    do_long_jump: {
      const int distance = (static_cast<int>(code) - 164) * 256 + *ip++;
      ip += distance;
      if (distance < 0 && --until_service_ < 0) goto serve;
      SQUEAK_NEXT();
    }
    case 168 ... 171:
    do_long_jump_on_true:
      ++ip;
      SQUEAK_JUMP_IF(known.true_object, (code - 168) * 256 + ip[-1]);
      SQUEAK_NEXT();
    case 172 ... 175:
    do_long_jump_on_false:
      ++ip;
      SQUEAK_JUMP_IF(known.false_object, (code - 172) * 256 + ip[-1]);
      SQUEAK_NEXT();
    case 176:
    do_add: {  // +
      std::int32_t sum;
      if ((sp[-1] & *sp & 1) == 0 ||
          __builtin_add_overflow(static_cast<std::int32_t>(sp[-1]), static_cast<std::int32_t>(*sp - 1), &sum))
        goto special_send;
      *--sp = static_cast<oop>(sum);
      SQUEAK_NEXT();
    }
    case 177:
    do_subtract: {  // -
      std::int32_t difference;
      if ((sp[-1] & *sp & 1) == 0 ||
          __builtin_sub_overflow(static_cast<std::int32_t>(sp[-1]), static_cast<std::int32_t>(*sp - 1), &difference))
        goto special_send;
      *--sp = static_cast<oop>(difference);
      SQUEAK_NEXT();
    }
    case 178:
    do_less:
      SQUEAK_COMPARE(<);
    case 179:
    do_greater:
      SQUEAK_COMPARE(>);
    case 180:
    do_less_or_equal:
      SQUEAK_COMPARE(<=);
    case 181:
    do_greater_or_equal:
      SQUEAK_COMPARE(>=);
    case 182:
    do_equal:
      SQUEAK_COMPARE(==);
    case 183:
    do_not_equal:
      SQUEAK_COMPARE(!=);
    case 184:
    do_multiply: {  // *
      std::int32_t product;
      if ((sp[-1] & *sp & 1) == 0 || __builtin_mul_overflow(integer_of(sp[-1]), integer_of(*sp), &product) ||
          !fits_integer(product))
        goto special_send;
      *--sp = word_of(product);
      SQUEAK_NEXT();
    }
    case 185 ... 186:
    case 188 ... 189: {  // / \\ bitShift: //
      static constexpr std::uint32_t primitives[] = {10, 11, 0, 17, 12};
      if ((sp[-1] & *sp & 1) == 0) goto special_send;
      SQUEAK_STORE_REGISTERS();
      if (!run_primitive(primitives[code - 185], 1)) goto special_send;
      sp = sp_;
      SQUEAK_NEXT();
    }
    case 190 ... 191:
    do_bits:  // bitAnd: bitOr:
      if ((sp[-1] & *sp & 1) == 0) goto special_send;
      value = code == 190 ? sp[-1] & *sp : sp[-1] | *sp;
      goto answer_binary;
    case 192:
    do_at: {  // at:
      if (is_integer(sp[-1]) || !is_integer(*sp)) goto special_send;
      const object& o = *memory_.at(sp[-1]);
      const std::uint32_t index = static_cast<std::uint32_t>(integer_of(*sp)) - 1;
      if (o.type == known.class_array && index < o.words)
        value = o.body()[index];
      else if (o.type == known.class_string && index < byte_size(o))
        value = memory_.field(memory_.special(special::characters), bytes_of(o)[index]);
      else
        goto special_send;
      goto answer_binary;
    }
    case 193:
    do_at_put: {  // at:put:
      if (is_integer(sp[-2]) || !is_integer(sp[-1])) goto special_send;
      const object& o = *memory_.at(sp[-2]);
      const std::uint32_t index = static_cast<std::uint32_t>(integer_of(sp[-1])) - 1;
      value = *sp;
      if (o.type == known.class_array && index < o.words)
        (void)memory_.store(sp[-2], index, value);
      else if (o.type == known.class_string && index < byte_size(o) && memory_.has_class(value, known.class_character))
        bytes_of(*memory_.at_to_change(sp[-2]))[index] = static_cast<std::uint8_t>(integer_of(memory_.field(value, 0)));
      else
        goto special_send;
      sp -= 2;
      *sp = value;
      goto stored;
    }
    case 194:
    do_size:  // size
      if (!memory_.has_class(*sp, known.class_array)) goto special_send;
      *sp = word_of(static_cast<std::int32_t>(memory_.at(*sp)->words));
      SQUEAK_NEXT();
    case 198:
    do_identical:
      value = sp[-1] == *sp ? known.true_object : known.false_object;
      goto answer_binary;
    case 199:
    do_class_of:
      *sp = memory_.class_of(*sp);
      SQUEAK_NEXT();
    case 200:
    do_block_copy: {  // blockCopy: (the jump around the block has two bytes)
      if (is_integer(sp[-1]) || !memory_.is_context(*memory_.at(sp[-1]))) goto special_send;
      reclaimable_ = 0;
      object* const block = memory_.allocate_context(known.class_block_context, home_->words);
      const oop start = word_of(static_cast<std::int32_t>(ip - bytes_of(*code_)) + 1 + 2);
      std::uint32_t* const body = block->body();
      body[1] = start, body[2] = word_of(0), body[3] = *sp, body[4] = start, body[5] = home_context_;
      *--sp = block->self;
      SQUEAK_NEXT();
    }
    case 201 ... 202:
    do_value_of_block:  // value, value:
      arguments = static_cast<int>(code) - 201;
      if (memory_.has_class(sp[-arguments], known.class_block_context)) goto block_value;
      goto special_send;
    case 208 ... 255:
    do_send_literal:
      selector = literals[code & 15], arguments = static_cast<int>(code - 208) >> 4;
      goto send;
    default:
      if (code >= 176) goto special_send;
      goto unknown;
  }

stored:
  if (!memory_.addresses_changed()) [[likely]]
    SQUEAK_NEXT();
moved:
  SQUEAK_STORE_REGISTERS();
  refresh_addresses();
  SQUEAK_LOAD_REGISTERS();
  goto next;

answer_binary:
  *--sp = value;
  SQUEAK_NEXT();

compared:
  SQUEAK_COUNT_BYTECODE();
  code = *ip;
  if (code >= 152 && code <= 159) {
    ++ip;
    if (*sp-- == known.false_object) ip += code - 151;
    SQUEAK_NEXT();
  }
  if (code >= 172 && code <= 175) {
    const std::uint32_t distance = (code - 172) * 256 + ip[1];
    ip += 2;
    if (*sp-- == known.false_object) ip += distance;
    SQUEAK_NEXT();
  }
  if constexpr (Counts) --counts_.bytecodes;
  goto next;

special_send:
  if (code <= 184) {
    SQUEAK_STORE_REGISTERS();
    const bool is_done = number_send(*this, code);
    SQUEAK_LOAD_REGISTERS();
    if (is_done) goto next;
  }
  {
    const std::uint32_t* const selectors = memory_.at(memory_.special(special::special_selectors))->body();
    selector = selectors[2 * (code - 176)], arguments = integer_of(selectors[2 * (code - 176) + 1]);
  }
send:
  if constexpr (Places) {
    value = sp[-arguments];
    if (is_integer(value)) {
      start_class = known.class_small_integer;
      receiver_entry = 0;
    } else {
      receiver_entry = memory_.entry(value);
      start_class = situ::detail::object_of_entry(receiver_entry)->type;
    }
  } else {
    start_class = memory_.class_of(sp[-arguments]);
  }
  goto send_to_class;
super_send:  // the receiver is the active one; the last literal is the association of the class that has the method
  start_class = memory_.field(memory_.field(literals[method_header{code_->body()[0]}.literals() - 1], 1), 0);
  if constexpr (Places) receiver_entry = is_integer(receiver) ? 0 : memory_.entry(receiver);
send_to_class:
  if constexpr (Counts) ++counts_.sends;
  found = &cache_.at(selector, start_class);
  if (found->selector != selector || found->of_class != start_class) [[unlikely]] {
    found = find_method(selector, start_class);
    if (found == nullptr) {
      SQUEAK_STORE_REGISTERS();
      make_message(selector, arguments);
      SQUEAK_LOAD_REGISTERS();
      if (selector == memory_.special(special::does_not_understand))
        return fail("nobody understands doesNotUnderstand:");
      arguments = 1, selector = memory_.special(special::does_not_understand);
      goto send_to_class;
    }
  }
  if (const std::uint32_t primitive = found->primitive; primitive != 0) {
    if (primitive >= 256 && primitive < 520) {
      *sp = quick_answer(primitive, *sp);
      SQUEAK_NEXT();
    }
    if (primitive == 81 && memory_.has_class(sp[-arguments], known.class_block_context)) goto block_value_of_send;
    if (primitive == 83 || primitive == 84 || primitive == 82) goto control;
    SQUEAK_STORE_REGISTERS();
    if constexpr (Places)
      if (passes_primitive(found->method, primitive, arguments)) goto passed;
    primitive_method_ = found->method;
    if (run_primitive(primitive, arguments)) {
      SQUEAK_LOAD_REGISTERS();
      if (until_service_ < 0 || memory_.made_bytes() > bytes_between_services) goto serve;
      goto next;
    }
    if (has_failed_) return run_end::failed;
  }
activate:
  frame_->body()[1] = word_of(static_cast<std::int32_t>(ip - bytes_of(*code_)) + 1);
  sp_ = sp;
  if constexpr (Places) {
    const std::uint32_t to = place_for(sp[-arguments], receiver_entry);
    if (to != baton_->here()) {
      pass_activation(to, found->method, found->header, arguments);
      goto passed;
    }
  }
  activate(found->method, method_header{found->header}, arguments);
  SQUEAK_LOAD_REGISTERS();
  if (--until_service_ < 0) goto serve;
  goto next;

control:  // perform: and its kin: another message in the place of this one; on failure, the method's code
  SQUEAK_STORE_REGISTERS();
  value = found->primitive;  // the entry may be another's below
  if (!run_control_primitive(value, arguments)) {
    found = find_method(selector, start_class);
    goto activate;
  }
  sp = sp_, arguments = control_arguments_;
  if (value == 82) goto block_value;
  selector = control_selector_;
  goto send;

block_value_of_send:
  SQUEAK_STORE_REGISTERS();
  if constexpr (Places)
    if (passes_block(arguments)) goto passed;
  if (!activate_block(arguments)) goto activate;
  goto block_began;
block_value:
  SQUEAK_STORE_REGISTERS();
  if constexpr (Places)
    if (passes_block(arguments)) goto passed;
  if (!activate_block(arguments)) goto special_send;
block_began:
  if constexpr (Counts) ++counts_.sends;
  SQUEAK_LOAD_REGISTERS();
  goto next;

method_return:
  SQUEAK_STORE_REGISTERS();
  if (frame_ == home_ && reclaimable_ > 0 && home_->body()[0] != known.nil) [[likely]] {
    --reclaimable_;
    object* const done = frame_;
    const oop sender = done->body()[0];
    object*& list = free_contexts_[done->words > 22];
    std::memcpy(done->body(), &list, sizeof(list));
    list = done;
    if constexpr (Places)
      if (passes_answer(sender, value)) goto passed;
    load_frame(sender);
  } else {
    const oop sender = unwind_to_sender();
    if (sender == known.nil) goto cannot_return;
    if constexpr (Places)
      if (passes_answer(sender, value)) goto passed;
    load_frame(sender);
  }
  goto answer;
block_return: {
  SQUEAK_STORE_REGISTERS();
  const oop caller = frame_->body()[0];
  if (caller == known.nil) goto cannot_return;
  if (reclaimable_ > 0) --reclaimable_;
  frame_->body()[0] = known.nil;
  if constexpr (Places)
    if (passes_answer(caller, value)) goto passed;
  load_frame(caller);
}
answer:
  *++sp_ = value;
  if (is_answered()) [[unlikely]]
    return run_end::answered;
  SQUEAK_LOAD_REGISTERS();
  goto next;

cannot_return:
  reclaimable_ = 0;
  SQUEAK_LOAD_REGISTERS();
  *++sp = context_;
  *++sp = value;
  selector = memory_.special(special::cannot_return), arguments = 1;
  goto send;

serve:
  SQUEAK_STORE_REGISTERS();
  service();
  if (has_failed_) return run_end::failed;
  if (wants_quit_) return run_end::quit;
  if constexpr (Places)
    if (passes_context()) goto passed;
  SQUEAK_LOAD_REGISTERS();
  goto next;

[[maybe_unused]] passed:
  if constexpr (Places) {
    const run_end end = wait_for_baton();
    if (end != run_end::not_yet) return end;
    SQUEAK_LOAD_REGISTERS();
    // A place that others only visit activates nothing by itself.
    if (--until_service_ < 0 || memory_.made_bytes() > bytes_between_services) goto serve;
    goto next;
  }

unknown:
  SQUEAK_STORE_REGISTERS();
  return fail(fmt::format("unknown bytecode {}", code));
}

template run_end interpreter::loop<false, false>();
template run_end interpreter::loop<false, true>();
template run_end interpreter::loop<true, false>();
template run_end interpreter::loop<true, true>();

}  // namespace squeak
