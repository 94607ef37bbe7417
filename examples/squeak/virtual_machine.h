// An image that runs: a heap with its objects, and an interpreter. Within a situ::runtime, for the place's own thread.
//
//   squeak::virtual_machine vm{squeak::read_image_file("Scratch.image"), {}};
//   vm.evaluate("3 + 4").text;   // "7"
//
// With several places, the main one (0) makes it, and each other one calls help_main_place() at the same time. Their
// heaps get the image's objects in turn.
#pragma once

#include "image.h"
#include "interpreter.h"
#include "place_machine.h"

#include <situ/heap/object_heap.h>

#include <string>
#include <string_view>

namespace squeak {

struct object_shape;

// The result of an evaluation.
struct evaluation {
  run_end end = run_end::failed;
  std::string text;     // the answer's printString, if there is one
  run_failure failure;  // if it failed
  run_counts counts;    // of the evaluation, without the printString
  double took_ms = 0;   // likewise
};

// The heap of an image: what dies young dies within the caches. Measured: 4 MiB, compared with the default of 16, saves
// 9 % of a compiler's time and 15 % of a sieve's; 1 and 2 MiB save no more.
[[nodiscard]] inline situ::heap_options heap_of_image() {
  situ::heap_options made;
  made.young_bytes = std::uint64_t{4} << 20;
  return made;
}

class virtual_machine {
 public:
  // Throws out_of_memory, and place_lost_error. cost: some 30 ms for an image of 5 MB.
  virtual_machine(image of, interpreter_options options, const situ::heap_options& heap = heap_of_image(),
                  const place_options& how = {});
  ~virtual_machine();
  virtual_machine(const virtual_machine&) = delete;
  virtual_machine& operator=(const virtual_machine&) = delete;

  // Compiles an expression or a sequence of statements by the image's own compiler, and runs it. It fails if it
  // would open a window of the debugger: for an unknown message, an error, a syntax error.
  [[nodiscard]] evaluation evaluate(std::string_view text);
  // Compiles a method's text by the image's own compiler, and installs it under its selector, which is the answer.
  // `of_class` is "Point" or "Point class". No source text is kept: the image has no changes file. It fails for a text
  // that is no method, as evaluate() does. Throws situ::error bad_argument for a name that is no class.
  [[nodiscard]] evaluation compile(std::string_view of_class, std::string_view method);
  // Sends a message as message_text.h reads it: "20 benchFib". Throws situ::error bad_argument for a text that is none,
  // and for a name that the image does not have.
  [[nodiscard]] evaluation send(std::string_view message);
  // Writes all objects to a file that other Squeak VMs open; there, the image continues after its last snapshot.
  // Throws bad_file.
  void snapshot(const std::string& path);

  [[nodiscard]] interpreter& vm() { return *machine_.vm; }
  [[nodiscard]] object_memory& memory() { return memory_; }
  // Each evaluation is a region of this name on a modelled machine; null: it is none. pre: the text lives as long as
  // the program.
  void set_region(const char* name) { region_ = name; }

 private:
  [[nodiscard]] evaluation run(oop receiver, oop selector, const std::vector<oop>& arguments);
  void find_own_symbols();
  // pre: the name is one of own_names.
  [[nodiscard]] oop own_symbol(std::string_view name) const;
  void guard(std::string_view of_class, std::string_view selector, interpreter::reason_of reason);
  void guard_windows();
  [[nodiscard]] oop value_of(const struct message_part& part);

  void begin(image& of, interpreter_options options, const place_options& how);
  void tell_others(const std::vector<oop>& known);
  void load(const image& of, const place_options& how);
  [[nodiscard]] std::vector<oop> make_at_all_places(const std::vector<object_shape>& shapes);
  void make_read_mostly(const std::vector<oop>& objects, read_mostly which);
  // Takes the counts of all places' interpreters, whose own begin anew.
  [[nodiscard]] run_counts take_counts();

  int exceptions_before_;
  image like_;  // without its objects: window and flags
  place_machine machine_;
  object_memory& memory_;
  const char* region_ = nullptr;
  static constexpr std::array<std::string_view, 5> own_names{
      "printString",
      "evaluate:", "openContext:label:contents:", "openInterrupt:onProcess:", "errorInClass:withCode:doitFlag:"};
  std::array<oop, own_names.size()> own_symbols_{};  // of these names; 0 for one that the image does not have
  std::size_t roots_number_ = 0;
};

}  // namespace squeak
