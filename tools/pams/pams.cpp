// `situ pams`: assembles, disassembles and runs programs of PAMS, the sequencer of active messages
// (docs/formats/pams.md).
#include "command_line.h"
#include "pams_files.h"
#include "pams_run.h"

#include "base/print.h"
#include "os/output_file.h"

#include <situ/model/pams_program.h>

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace {

using situ::model::pams_program;
using situ_pams::assembled;
using situ_pams::name_of;
using situ_pams::text_of;

struct assembler_arguments {
  std::string path;
  std::string output;  // empty: standard output
  bool json = false;
};

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
  situ_pams::add_run(*command);
  command->footer(
      "Examples:\n"
      "  situ pams asm barrier.pams                      the program's words\n"
      "  situ pams dis barrier.hex                       their text\n"
      "  situ pams run 0=root.pams 1-15=leaf.pams        a barrier on the modelled BEE3\n"
      "  situ pams COMMAND --help                        more of each\n"
      "The language and the words are in docs/formats/pams.md.");
}

}  // namespace

int main(int argc, char** argv) { return main_of_command(argc, argv, "pams", add_pams_command); }
