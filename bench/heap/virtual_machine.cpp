// The Squeak VM of examples/squeak beside Debian's squeak-vm, for `situ bench heap`: the same image, the same texts, as
// many repetitions, in turns. Each sample is of a VM that has just read the image and has done the work once before.
//
// The image times itself (Time millisecondsToRun:). Another VM cannot be told to evaluate something, so the image is
// given a method in the place of one that its start-up calls: it evaluates one file, writes the answer to another, and
// quits. Both VMs read that image.
#include "virtual_machine.h"

#include "debian_files.h"
#include "image_file.h"

#include <situ/base/error.h>
#include <situ/situ.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "os/child.h"
#include "support/job_samples.h"

namespace {

using job_bench::samples;
namespace fs = std::filesystem;

struct work {
  const char* name;
  const char* text;
  int repetitions;  // some 0.2 to 0.5 s
};
// A method of a usual kind, compiled and not kept.
constexpr const char* compile =
    "((Compiler new compile: 'insertSorted: anObject from: start | i j | i := start. j := self size. [i < j] "
    "whileTrue: [| m | m := i + j // 2. (self at: m) < anObject ifTrue: [i := m + 1] ifFalse: [j := m]]. self add: "
    "anObject beforeIndex: (i max: 1). (i = 1 and: [self isEmpty not]) ifTrue: [^ self do: [:each | each printString "
    "size + 1 + i]]. ^ anObject' in: OrderedCollection notifying: nil ifFail: [nil]) generate: #(0 0 0 0)) size";
constexpr work all_work[] = {
    {"vm_sends", "26 benchFib", 20}, {"vm_sieve", "1 benchmark", 300}, {"vm_compile", compile, 400}};

int repetitions(const work& of) { return job_bench::is_quick() ? of.repetitions / 10 : of.repetitions; }
int rounds() { return job_bench::is_quick() ? 1 : 9; }

[[noreturn]] void fail(const std::string& why) { situ::throw_error(situ::errc::bad_file, why); }

// Answers the milliseconds and the work's answer, as a String.
std::string text_of(const work& of) {
  std::ostringstream text;
  text << "| answer milliseconds | answer := (" << of.text << ") printString. milliseconds := Time millisecondsToRun: ["
       << repetitions(of) << " timesRepeat: [" << of.text << "]]. milliseconds printString , ' ' , answer";
  return text.str();
}

struct timed {
  double ns;  // of one repetition
  std::string answer;
};
timed read_answer(const work& of, const std::string& text, const char* vm) {
  std::istringstream words{text};
  double milliseconds = 0;
  timed made;
  if (!(words >> milliseconds >> made.answer)) fail(std::string{vm} + ", " + of.name + ": it answers '" + text + "'");
  made.ns = milliseconds * 1e6 / repetitions(of);
  return made;
}

// Files that are gone at the end.
class folder {
 public:
  folder() {
    const char* const within = std::getenv("SITU_BENCH_FOLDER");
    std::string path = (within != nullptr ? fs::path{within} : fs::temp_directory_path()) / "situ-bench-vm-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) fail("no folder could be made: " + path);
    path_ = path;
  }
  ~folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

squeak::interpreter_options options_for(const std::string& image) {
  squeak::interpreter_options options;
  options.image_path = image;
  return options;
}

void prepare_image(const std::string& path) {
  const std::string from = squeak::debian_image();
  squeak::virtual_machine vm{squeak::read_image_file(from), options_for(from)};
  const squeak::evaluation done = vm.compile(
      "SystemDictionary",
      "readDocumentFile | answer | "
      "answer := Compiler evaluate: (FileStream readOnlyFileNamed: (self getSystemAttribute: 2)) contentsOfEntireFile. "
      "(FileStream fileNamed: (self getSystemAttribute: 3)) nextPutAll: answer; close. self quitPrimitive");
  if (done.end != squeak::run_end::answered) fail("the image cannot be prepared: " + done.failure.reason);
  vm.snapshot(path);
}

timed run_ours(const work& of, const std::string& image) {
  squeak::virtual_machine vm{squeak::read_image_file(image), options_for(image)};
  const squeak::evaluation done = vm.evaluate(text_of(of));
  if (done.end != squeak::run_end::answered) fail(std::string{"squeak, "} + of.name + ": " + done.failure.reason);
  std::string text = done.text;
  std::erase(text, '\'');
  return read_answer(of, text, "squeak");
}

timed run_theirs(const work& of, const std::string& image, const folder& files) {
  const std::string vm = squeak::debian_vm(), text = files.file("text"), answer = files.file("answer");
  std::ofstream{text} << text_of(of);
  fs::remove(answer);
  const situ::os::exec_texts arguments{{"timeout", "60", vm, "-plugins", squeak::debian_vm_plugins(vm),
                                        "-vm-display-null", "-vm-sound-null", image, text, answer}};
  situ::os::child child = situ::os::child::start({.file = "timeout",
                                                  .arguments = arguments,
                                                  .is_in_path = true,
                                                  .input = situ::os::program::nothing,
                                                  .output = situ::os::program::nothing,
                                                  .errors = situ::os::program::nothing});
  if (!child) fail("timeout, which ends a VM that hangs, could not be started");
  const situ::os::exit_status end = child.wait();
  std::ifstream file{answer};
  std::string line;
  if (!std::getline(file, line))
    fail(vm + ", " + of.name + ": no answer, exit status " + std::to_string(end.shell_code()));
  return read_answer(of, line, "squeak-vm");
}

void measure(const work& of, const std::string& image, const folder& files) {
  if (!job_bench::is_wanted(of.name)) return;
  std::vector<samples> all{{"squeak_vm"}, {"situ"}};
  for (int round = 0; round < rounds(); ++round) {
    const timed theirs = run_theirs(of, image, files), ours = run_ours(of, image);
    if (theirs.answer != ours.answer)
      fail(of.name + (": squeak-vm answers " + theirs.answer + ", squeak " + ours.answer));
    all[0].ns.push_back(theirs.ns);
    all[1].ns.push_back(ours.ns);
  }
  job_bench::print(of.name, all);
}

}  // namespace

int main(int argc, char** argv) {
  const situ::runtime job{argc, argv};
  try {
    const folder files;
    const std::string image = files.file("prepared.image");
    prepare_image(image);
    for (const work& each : all_work) measure(each, image, files);
  } catch (const situ::error& failed) {
    std::fprintf(stderr, "situ bench heap: %s\n", failed.what());
    return 1;
  }
  job_bench::print_end();
}
