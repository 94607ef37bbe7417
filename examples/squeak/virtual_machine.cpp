#include "virtual_machine.h"

#include "image_file.h"
#include "image_names.h"
#include "image_objects.h"
#include "message_text.h"

#include <situ/base/error.h>
#include <situ/model/region.h>
#include <situ/runtime/at.h>
#include <situ/runtime/collective.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>

namespace squeak {
namespace {

// Text of the image with its ends of lines as they are here.
std::string as_text(const object_memory& memory, oop o) {
  std::string text = memory.has_bytes(o) ? std::string{text_of(*memory.at(o))} : describe(memory, o);
  std::ranges::replace(text, '\r', '\n');
  return text;
}

}  // namespace

virtual_machine::virtual_machine(image of, interpreter_options options, const situ::heap_options& heap,
                                 const place_options& how)
    : exceptions_before_{std::uncaught_exceptions()}, machine_{heap, how}, memory_{machine_.memory} {
  like_.window = of.window;
  like_.flags = of.flags;
  like_.last_hash = of.last_hash;
  try {
    begin(of, std::move(options), how);
  } catch (...) {
    if (machine_.own_baton) tell_others({});
    throw;
  }
}

// The other places wait for these objects. For none, if there is no image.
void virtual_machine::tell_others(const std::vector<oop>& known) {
  memory_.leave();
  (void)situ::broadcast(known);
  memory_.enter();
}

void virtual_machine::begin(image& of, interpreter_options options, const place_options& how) {
  memory_.enter();
  load(of, how);
  of = {};
  machine_.vm.emplace(memory_, std::move(options), machine_.own_baton ? &*machine_.own_baton : nullptr);
  find_own_symbols();
  roots_number_ = machine_.thread.add_roots([this](const auto& visit) {
    for (oop& each : own_symbols_)
      if (each != 0) visit(each);
  });
  vm().write_snapshot = [this](const std::string& path) {
    try {
      write_image_file(take_image(memory_, like_), path);
      return true;
    } catch (const situ::error& failed) {
      if (failed.code() != situ::errc::bad_file) throw;
      return false;  // the image's to tell
    }
  };
  vm().make_all_read_mostly = [this] {
    std::uint64_t made = machine_.thread.make_all_read_mostly();
    for (std::uint32_t p = 1; p < machine_.all.size(); ++p)
      made += situ::at(
          situ::place{p},
          [](std::uint64_t machine) {
            return reinterpret_cast<place_machine*>(machine)->thread.make_all_read_mostly();
          },
          machine_.all[p]);
    return made;
  };
  guard_windows();
  if (!machine_.own_baton) {
    vm().collect();  // the image's objects are old from here on, so the first evaluation does not copy them
    return;
  }
  std::vector<oop> known{memory_.known().specials};
  for (const oop each : vm().guarded_methods()) known.push_back(each);
  tell_others(known);
}

virtual_machine::~virtual_machine() {
  if (machine_.own_baton) {
    try {
      machine_.own_baton->end(std::uncaught_exceptions() > exceptions_before_);
    } catch (const situ::error&) {  // a place is lost: the job ends
    }
  }
  machine_.thread.remove_roots(roots_number_);
  machine_.vm.reset();
  memory_.leave();
}

// Deals the objects to the places in turn.
std::vector<oop> virtual_machine::make_at_all_places(const std::vector<object_shape>& shapes) {
  const std::size_t places = machine_.all.size();
  std::vector<oop> made(shapes.size());
  memory_.leave();
  for (std::size_t p = 0; p < places; ++p) {
    std::vector<std::uint64_t> wanted;  // words, tag, whether it is a context
    for (std::size_t i = p; i < shapes.size(); i += places)
      wanted.push_back(std::uint64_t{shapes[i].words} << 32 | std::uint64_t{shapes[i].tag} << 1 |
                       (shapes[i].is_context ? 1U : 0U));
    const std::vector<oop> there = situ::at(
        situ::place{static_cast<std::uint32_t>(p)},
        [](std::uint64_t machine, const std::vector<std::uint64_t>& all) {
          object_memory& memory = reinterpret_cast<place_machine*>(machine)->memory;
          std::vector<object_shape> to_make;
          for (const std::uint64_t each : all)
            to_make.push_back(
                {static_cast<std::uint32_t>(each >> 32), static_cast<std::uint16_t>(each >> 1), (each & 1) != 0});
          memory.enter();
          std::vector<oop> objects = make_objects(memory, to_make);
          memory.leave();
          return objects;
        },
        machine_.all[p], wanted);
    for (std::size_t i = 0; i < there.size(); ++i) made[p + i * places] = there[i];
  }
  memory_.enter();
  return made;
}

void virtual_machine::load(const image& of, const place_options& how) {
  // The image's objects bring their hashes: those of new ones are the same with any number of places.
  const std::uint32_t hash_state = memory_.hash_state();
  const std::vector<oop> all = load_image(of, memory_, [&](const std::vector<object_shape>& shapes) {
    return machine_.own_baton ? make_at_all_places(shapes) : make_objects(memory_, shapes);
  });
  memory_.set_hash_state(hash_state);
  if (!machine_.own_baton) return;
  // Evaluations begin and end in the active process's context, which therefore lies at the main place.
  const oop scheduler = memory_.field(memory_.special(special::scheduler), 1);
  const oop context = memory_.field(memory_.field(scheduler, 1), 1);
  memory_.outside([&] { machine_.thread.move(situ::ref<>{context}, situ::place{0}); });
  if (how.replicated != read_mostly::none) make_read_mostly(all, how.replicated);
}

void virtual_machine::make_read_mostly(const std::vector<oop>& objects, read_mostly which) {
  std::vector<situ::ref<>> chosen;
  for (const oop each : objects) {
    const object& o = *memory_.at(each);
    if (which == read_mostly::methods ? is_method(format_of(o)) : !memory_.is_context(o)) chosen.emplace_back(each);
  }
  memory_.leave();
  (void)machine_.thread.make_read_mostly(chosen);
  memory_.enter();
}

run_counts virtual_machine::take_counts() {
  run_counts sum;
  const auto take = [](std::uint64_t machine) {
    std::optional<interpreter>& vm = reinterpret_cast<place_machine*>(machine)->vm;
    if (!vm) return std::vector<std::uint64_t>(5);  // it has been told of the image, and makes its interpreter soon
    interpreter& of = *vm;
    const run_counts its = of.counts();
    of.reset_counts();
    return std::vector<std::uint64_t>{its.bytecodes, its.sends, its.primitives, its.collections, its.batons};
  };
  const auto add = [&](const std::vector<std::uint64_t>& its) {
    sum.bytecodes += its[0], sum.sends += its[1], sum.primitives += its[2], sum.collections += its[3];
    sum.batons += its[4];
  };
  add(take(reinterpret_cast<std::uint64_t>(&machine_)));
  if (!machine_.own_baton) return sum;
  memory_.outside([&] {
    for (std::uint32_t p = 1; p < machine_.all.size(); ++p) add(situ::at(situ::place{p}, take, machine_.all[p]));
  });
  return sum;
}

void virtual_machine::find_own_symbols() { std::ranges::copy(find_symbols(memory_, own_names), own_symbols_.begin()); }

oop virtual_machine::own_symbol(std::string_view name) const {
  return own_symbols_[static_cast<std::size_t>(std::ranges::find(own_names, name) - own_names.begin())];
}

void virtual_machine::guard(std::string_view of_class, std::string_view selector, interpreter::reason_of reason) {
  const oop owner = find_global(memory_, of_class), symbol = own_symbol(selector);
  if (owner == 0 || symbol == 0 || is_integer(owner)) return;  // an image without it opens no such window
  if (const oop method = look_up(memory_, memory_.class_of(owner), symbol); method != 0)
    vm().fail_on_entry(method, std::move(reason));
}

void virtual_machine::guard_windows() {
  using entry_failure = interpreter::entry_failure;
  guard("Debugger", "openContext:label:contents:", [this](interpreter&, const std::vector<oop>& all) {
    return entry_failure{as_text(memory_, all[2]), all[1]};
  });
  guard("Debugger", "openInterrupt:onProcess:", [this](interpreter&, const std::vector<oop>& all) {
    const bool is_process = memory_.has_pointers(all[2]) && memory_.at(all[2])->words > 1;
    return entry_failure{as_text(memory_, all[1]), is_process ? memory_.field(all[2], 1) : memory_.known().nil};
  });
  guard("SyntaxError", "errorInClass:withCode:doitFlag:", [this](interpreter& vm, const std::vector<oop>& all) {
    return entry_failure{fmt::format("syntax error: {}", as_text(memory_, all[2])), vm.context()};
  });
}

evaluation virtual_machine::run(oop receiver, oop selector, const std::vector<oop>& arguments) {
  evaluation made;
  (void)take_counts();
  const auto begin = std::chrono::steady_clock::now();
  {
    std::optional<situ::model::region> measured;
    if (region_ != nullptr) measured.emplace(region_);
    made.end = vm().send(receiver, selector, arguments);
  }
  made.took_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  made.counts = take_counts();
  if (made.end == run_end::answered && own_symbol("printString") != 0) {
    made.end = vm().send(vm().answer(), own_symbol("printString"), {});
    if (made.end == run_end::answered) made.text = as_text(memory_, vm().answer());
  } else if (made.end == run_end::answered) {
    made.text = describe(memory_, vm().answer());
  }
  if (made.end == run_end::failed) made.failure = vm().failure();
  return made;
}

evaluation virtual_machine::evaluate(std::string_view text) {
  const oop compiler = find_global(memory_, "Compiler"), selector = own_symbol("evaluate:");
  if (compiler == 0 || selector == 0)
    situ::throw_error(situ::errc::bad_argument, "the image has no Compiler that understands evaluate:");
  std::string lines{text};
  std::ranges::replace(lines, '\n', '\r');
  return run(compiler, selector, {memory_.make_string(lines)});
}

evaluation virtual_machine::compile(std::string_view of_class, std::string_view method) {
  constexpr std::string_view of_metaclass = " class";
  std::string_view name = of_class;
  if (name.ends_with(of_metaclass)) name.remove_suffix(of_metaclass.size());
  const oop found = find_global(memory_, name), metaclass = find_global(memory_, "Metaclass");
  if (found == 0 || (metaclass != 0 && memory_.class_of(memory_.class_of(found)) != metaclass))
    situ::throw_error(situ::errc::bad_argument, fmt::format("the image has no class {}", name));
  std::string quoted;
  for (const char each : method) quoted.append(each == '\'' ? 2 : 1, each);
  return evaluate(
      fmt::format("| node | node := Compiler new compile: '{}' in: {} notifying: nil ifFail: [nil]. "
                  "{} addSelector: node selector withMethod: (node generate: #(0 0 0 0)). node selector",
                  quoted, of_class, of_class));
}

oop virtual_machine::value_of(const message_part& part) {
  using kind = message_part::kind;
  if (part.is == kind::string) return memory_.make_string(part.text);
  if (part.is == kind::integer) {
    std::int32_t value = 0;
    const auto [end, failed] = std::from_chars(part.text.data(), part.text.data() + part.text.size(), value);
    if (failed != std::errc{} || !fits_integer(value))
      situ::throw_error(situ::errc::bad_argument, fmt::format("{} is no SmallInteger: it takes 31 bits", part.text));
    return word_of(value);
  }
  const oop found = part.is == kind::symbol ? find_symbol(memory_, part.text)
                    : part.text == "nil"    ? memory_.known().nil
                    : part.text == "true"   ? memory_.known().true_object
                    : part.text == "false"  ? memory_.known().false_object
                                            : find_global(memory_, part.text);
  if (found == 0)
    situ::throw_error(situ::errc::bad_argument,
                      fmt::format("the image has no {} {}", part.is == kind::symbol ? "symbol" : "global", part.text));
  return found;
}

evaluation virtual_machine::send(std::string_view text) {
  const message read = read_message(text);
  const oop receiver = value_of(read.receiver);
  const oop selector = value_of({message_part::kind::symbol, read.selector});
  std::vector<oop> arguments;
  for (const message_part& each : read.arguments) arguments.push_back(value_of(each));
  return run(receiver, selector, arguments);
}

void virtual_machine::snapshot(const std::string& path) {
  vm().store_active_process();
  write_image_file(take_image(memory_, like_), path);
}

}  // namespace squeak
