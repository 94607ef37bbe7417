// The assembler of modelled programs: puts hooks into what gcc has written, and hands it to the machine's assembler.
//
// gcc finds it as `as` in the folder that -B names (cmake/situ_modelled.cmake), and calls it as it calls the other:
// `as OPTIONS -o OBJECT FILE`. $SITU_AS names the other assembler; unless set, it is `as` in the PATH.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/print.h"
#include "model/assembly/assembly_text.h"
#include "model/assembly/decoded_object.h"
#include "model/assembly/hooks_in_assembly.h"
#include "os/child.h"
#include "os/descriptor.h"
#include "os/output_file.h"

namespace {

// A file that goes with this object.
class temporary_file {
 public:
  explicit temporary_file(const char* suffix) {
    const char* const folder = std::getenv("TMPDIR");
    name_ = std::string{folder == nullptr ? "/tmp" : folder} + "/situ_as_XXXXXX" + suffix;
    const situ::os::descriptor made{mkstemps(name_.data(), static_cast<int>(std::strlen(suffix)))};
    if (!made) throw std::system_error{errno, std::generic_category(), "cannot make " + name_};
  }
  ~temporary_file() { unlink(name_.c_str()); }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  void write(const std::string& text) const {
    situ::detail::output_file file{name_};
    file.add(text);
    file.close();
  }

 private:
  std::string name_;
};

// Runs the machine's assembler; returns its exit status.
int assemble(std::vector<std::string> arguments, bool is_quiet = false) {
  const char* const other = std::getenv("SITU_AS");
  arguments[0] = other == nullptr ? "as" : other;
  const std::string name = arguments[0];
  const situ::os::exec_texts texts{std::move(arguments)};
  situ::os::child started =
      situ::os::child::start({.file = name.c_str(),
                              .arguments = texts,
                              .is_in_path = true,
                              .errors = is_quiet ? situ::os::program::nothing : situ::os::program::inherited});
  if (!started) throw std::system_error{errno, std::generic_category(), "cannot start " + name};
  return started.wait().shell_code();
}

struct files {
  std::size_t input = 0;   // numbers of arguments
  std::size_t output = 0;  // 0: none
};

// Finds the names of files among the arguments. gcc writes the input last.
files find_files(const std::vector<std::string>& arguments) {
  files found;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "-o" && i + 1 < arguments.size()) {
      found.output = ++i;
    } else if (arguments[i] == "-I" || arguments[i] == "--debug-prefix-map") {
      ++i;
    } else if (!arguments[i].starts_with("-")) {
      found.input = i;
    }
  }
  return found;
}

int run(std::vector<std::string> arguments) {
  const files named = find_files(arguments);
  if (named.input == 0) {
    for (const std::string& argument : arguments)
      if (argument == "--version" || argument == "--help") return assemble(arguments);
    throw std::runtime_error{"names no file; compile modelled programs without -pipe"};
  }
  const std::string name = arguments[named.input];
  std::ifstream stream{name, std::ios::binary};
  if (!stream) throw std::system_error{errno, std::generic_category(), "cannot read " + name};
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};
  const auto lines = situ::model::read_lines(text);

  const temporary_file assembly{".s"};
  const temporary_file object{".o"};
  assembly.write(situ::model::add_marks(lines));
  std::vector<std::string> first = arguments;
  first[named.input] = assembly.name();
  if (named.output == 0) {
    first.insert(first.begin() + 1, {"-o", object.name()});
  } else {
    first[named.output] = object.name();
  }
  if (assemble(first, true) != 0) {
    if (const int status = assemble(arguments); status != 0) return status;  // which tells the file's own errors
    throw std::runtime_error{"cannot put hooks into " + name +
                             ": the assembler refuses a label before each of its instructions"};
  }

  const auto hooked = situ::model::add_hooks(lines, situ::model::read_object(object.name(), lines.size()));
  if (!hooked.unseen.empty()) {
    std::string all;
    for (const auto& [mnemonic, count] : hooked.unseen)
      all += (all.empty() ? "" : ", ") + mnemonic + " (" + std::to_string(count) + ")";
    situ::detail::tell("note: the model does not see the memory accesses of these instructions in {}: {}\n", name, all);
  }
  assembly.write(hooked.text);
  arguments[named.input] = assembly.name();
  return assemble(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv, argv + argc});
  } catch (const std::exception& error) {
    situ::detail::tell("as (with Situ's hooks): {}\n", error.what());
    return 1;
  }
}
