#include "virtual_machine.h"

#include "image_file.h"
#include "image_names.h"
#include "image_objects.h"
#include "message_text.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace squeak {
namespace {

// Text of the image with its ends of lines as they are here.
std::string as_text(const object_memory& memory, oop o) {
  std::string text = memory.has_bytes(o) ? std::string{text_of(*memory.at(o))} : describe(memory, o);
  std::ranges::replace(text, '\r', '\n');
  return text;
}

}  // namespace

virtual_machine::virtual_machine(image of, interpreter_options options, const situ::heap_options& heap)
    : heap_{heap}, thread_{heap_}, layouts_{heap_}, memory_{heap_, thread_, layouts_} {
  like_.window = of.window;
  like_.flags = of.flags;
  like_.last_hash = of.last_hash;
  memory_.enter();
  load_image(of, memory_);
  of = {};
  interpreter_.emplace(memory_, std::move(options));
  print_string_ = find_symbol(memory_, "printString");
  roots_number_ = thread_.add_roots([this](const auto& visit) {
    if (print_string_ != 0) visit(print_string_);
  });
  interpreter_->write_snapshot = [this](const std::string& path) {
    write_image_file(take_image(memory_, like_), path);
    return true;
  };
  guard_windows();
}

virtual_machine::~virtual_machine() {
  thread_.remove_roots(roots_number_);
  interpreter_.reset();
  memory_.leave();
}

void virtual_machine::guard(std::string_view of_class, std::string_view selector, interpreter::reason_of reason) {
  const oop owner = find_global(memory_, of_class), symbol = find_symbol(memory_, selector);
  if (owner == 0 || symbol == 0 || is_integer(owner)) return;  // an image without it opens no such window
  if (const oop method = look_up(memory_, memory_.class_of(owner), symbol); method != 0)
    interpreter_->fail_on_entry(method, std::move(reason));
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
  interpreter_->reset_counts();
  const auto begin = std::chrono::steady_clock::now();
  made.end = interpreter_->send(receiver, selector, arguments);
  made.took_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  made.counts = interpreter_->counts();
  if (made.end == run_end::answered && print_string_ != 0) {
    made.end = interpreter_->send(interpreter_->answer(), print_string_, {});
    if (made.end == run_end::answered) made.text = as_text(memory_, interpreter_->answer());
  } else if (made.end == run_end::answered) {
    made.text = describe(memory_, interpreter_->answer());
  }
  if (made.end == run_end::failed) made.failure = interpreter_->failure();
  return made;
}

evaluation virtual_machine::evaluate(std::string_view text) {
  const oop compiler = find_global(memory_, "Compiler"), selector = find_symbol(memory_, "evaluate:");
  if (compiler == 0 || selector == 0)
    situ::throw_error(situ::errc::bad_argument, "the image has no Compiler that understands evaluate:");
  std::string lines{text};
  std::ranges::replace(lines, '\n', '\r');
  return run(compiler, selector, {memory_.make_string(lines)});
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
  interpreter_->store_active_process();
  write_image_file(take_image(memory_, like_), path);
}

}  // namespace squeak
