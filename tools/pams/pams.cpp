// `situ pams`: assembles and disassembles programs of PAMS, the sequencer of active messages (docs/formats/pams.md).
#include "command_line.h"

#include "base/print.h"
#include "os/output_file.h"

#include <situ/base/error.h>
#include <situ/model/pams_program.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

namespace {

using situ::model::pams_program;

constexpr const char* standard_input = "-";

struct assembler_arguments {
  std::string path;
  std::string output;  // empty: standard output
  bool json = false;
};

std::string name_of(const std::string& path) { return path == standard_input ? "standard input" : path; }

std::string read_all(std::istream& from) { return {std::istreambuf_iterator<char>{from}, {}}; }

std::string text_of(const std::string& path) {
  if (path == standard_input) return read_all(std::cin);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    situ::throw_error(situ::errc::bad_file, fmt::format("{} is a folder", path));
  std::ifstream file{path, std::ios::binary};
  if (!file) situ::throw_error(situ::errc::bad_file, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  return read_all(file);
}

// Errors are printed as compilers print them, FILE:LINE:COLUMN first, so that editors find the place.
pams_program assembled(const std::string& path) {
  const std::string text = text_of(path);
  try {
    return situ::model::assemble_pams(text, name_of(path));
  } catch (const situ::error& refused) {
    situ::detail::tell("{}\n", refused.message());
    throw CLI::RuntimeError{EXIT_FAILURE};
  }
}

void assemble(const assembler_arguments& arguments) {
  const pams_program program = assembled(arguments.path);
  const std::string text = arguments.json ? program.json() : program.hexadecimal();
  if (arguments.output.empty()) {
    situ::detail::print_text(text);
  } else {
    situ::detail::replace_file(arguments.output, text);
  }
}

void disassemble(const std::string& path) {
  const auto words = situ::model::read_pams_words(text_of(path), name_of(path));
  situ::detail::print_text(situ::model::disassemble_pams(words).text());
}

void add_asm(CLI::App& to) {
  CLI::App* const command = to.add_subcommand("asm", "Assembles a program: its words, with the source in comments");
  auto arguments = std::make_shared<assembler_arguments>();
  command->add_option("FILE", arguments->path, "The program's text; - is standard input")->required();
  command->add_option("-o,--output", arguments->output, "The file to write; default: standard output");
  command->add_flag("--json", arguments->json, "As JSON, with names, labels and lines");
  command->callback([arguments] { assemble(*arguments); });
  command->footer(
      "A wrong program is reported with up to 20 errors, each as FILE:LINE:COLUMN: message, and writes nothing.\n"
      "Exit code: 0 it is assembled, 1 it is not.\n"
      "Examples:\n"
      "  situ pams asm barrier.pams                      eight hexadecimal digits a line\n"
      "  situ pams asm -o barrier.hex barrier.pams\n"
      "  situ pams asm --json -o barrier.json barrier.pams");
}

void add_dis(CLI::App& to) {
  CLI::App* const command = to.add_subcommand("dis", "Disassembles a program file: text that assembles to its words");
  auto path = std::make_shared<std::string>();
  command
      ->add_option("FILE", *path, "Words as `situ pams asm` writes them, with or without --json; - is standard input")
      ->required();
  command->callback([path] { disassemble(*path); });
  command->footer(
      "Words that are no instruction become .word; targets of jumps get labels (at_ADDRESS).\n"
      "Examples:\n"
      "  situ pams dis barrier.hex\n"
      "  situ pams asm barrier.pams | situ pams dis -    what is left of a program without its names");
}

void add_pams_command(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("pams", "Programs of PAMS, a sequencer of active messages");
  command->require_subcommand(1);
  add_asm(*command);
  add_dis(*command);
  command->footer(
      "Examples:\n"
      "  situ pams asm barrier.pams                      the program's words\n"
      "  situ pams dis barrier.hex                       their text\n"
      "  situ pams COMMAND --help                        more of each\n"
      "The language and the words are in docs/formats/pams.md.");
}

}  // namespace

int main(int argc, char** argv) { return main_of_command(argc, argv, "pams", add_pams_command); }
