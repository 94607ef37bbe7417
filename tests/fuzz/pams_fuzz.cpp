// Hostile programs for `situ pams`. See pams_fuzz.h for what an input is.
#include "fuzz/pams_fuzz.h"

#include <situ/base/error.h>
#include <situ/model/pams_program.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "model/message_units/pams_assembler.h"

namespace situ::test {
namespace {

using namespace situ::model;
using words = std::vector<std::uint32_t>;

constexpr std::string_view file = "fuzzed.pams";

[[noreturn]] void find(const char* what) {
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

// Words to text and back; files of the program.
void check_words(const words& all) {
  const pams_program program = disassemble_pams(all);
  if (program.words() != all) find("the disassembler has other words");
  const std::string text = program.text();
  const pams_program again = assemble_pams(text);
  if (again.words() != all) find("the text of words has other words");
  if (again.text() != text) find("the text of a text is another one");
  if (read_pams_words(program.hexadecimal()) != all) find("a file has other words");
  if (read_pams_words(program.json()) != all) find("a JSON file has other words");
}

pams_outcome take_words(std::string_view bytes) {
  words all(bytes.size() / sizeof(std::uint32_t));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), all.size() * sizeof(std::uint32_t));
  try {
    check_words(all);
  } catch (const error& refused) {
    if (all.size() <= pams_program::most_words || refused.code() != errc::bad_argument) find("words are refused");
    return {.words = all.size(), .errors = 1};
  }
  return {.words = all.size()};
}

// Each error is at a character of the text, or behind the last one of a line.
void check_places(std::string_view text, const std::vector<pams_text_error>& errors) {
  std::vector<std::size_t> lengths{0};
  for (const char each : text) {
    if (each == '\n') {
      lengths.push_back(0);
    } else {
      ++lengths.back();
    }
  }
  std::uint32_t before = 0;
  for (const pams_text_error& each : errors) {
    if (each.line == 0 || each.line > lengths.size() || each.line < before) find("an error in no line");
    if (each.column == 0 || each.column > lengths[each.line - 1] + 1) find("an error in no column");
    if (each.message.empty()) find("an error without a message");
    before = each.line;
  }
}

pams_outcome take_text(std::string_view text) {
  const pams_assembly read = assemble_pams_text(text);
  check_places(text, read.errors);
  if (!read.errors.empty()) return {.words = 0, .errors = read.errors.size() + read.more_errors};
  const words all = read.program.words();
  const pams_program again = assemble_pams(read.program.text());
  if (again.words() != all || again.text() != read.program.text()) find("a program's text is another program");
  if (read_pams_words(read.program.hexadecimal()) != all) find("a program's file has other words");
  check_words(all);
  return {.words = all.size()};
}

pams_outcome take_file(std::string_view text) {
  try {
    const words all = read_pams_words(text, file);
    check_words(all);
    return {.words = all.size()};
  } catch (const error& refused) {
    if (refused.code() != errc::bad_file || !refused.message().starts_with(file)) find("a refusal without the file");
    return {.words = 0, .errors = 1};
  }
}

std::vector<std::byte> seed_of(char kind, std::string_view text) {
  std::vector<std::byte> bytes{std::byte(kind)};
  std::ranges::transform(text, std::back_inserter(bytes), [](char each) { return std::byte(each); });
  return bytes;
}

constexpr std::string_view every_statement = R"(.node hub 4        ; a name
.handler call 0x1
again:
  message_counter m0 call 1_5 keeps
  transfer_counter x3 2 256
  expect_messages m1 15
  expect_bytes x2 256
  timer_threshold 1000
  timer_offset -3
  wait timer m0 x1 c2 sent
  control set 0 2 clear 1
  send call hub 5 timer arrival
  send_long 2 hub at 0x100 bytes 64 from 0 7
  reply call 1
  reply_long 3 at 0x100 bytes 4 from 0 arrival
  jump again
  halt
  .word 0xdeadbeef
)";
constexpr std::size_t words_of_every_statement = 30;
constexpr std::string_view several_errors = "sned 1 2\nwait\njump nowhere\n.node 4 hub\nhalt 1\n";

}  // namespace

pams_outcome read_pams(std::span<const std::byte> input) {
  if (input.empty()) return {};
  const std::string_view rest{reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1};
  switch (std::to_integer<unsigned>(input[0]) % 3) {
    case 0: return take_words(rest);
    case 1: return take_text(rest);
    default: return take_file(rest);
  }
}

std::vector<pams_seed> pams_seeds() {
  const pams_program program = assemble_pams(every_statement);
  const words all = program.words();
  const std::string_view bytes{reinterpret_cast<const char*>(all.data()), all.size() * sizeof(std::uint32_t)};
  const pams_outcome taken{.words = words_of_every_statement};
  return {{"words", seed_of('0', bytes), taken},
          {"text", seed_of('1', every_statement), taken},
          {"errors", seed_of('1', several_errors), {.words = 0, .errors = 5}},
          {"hexadecimal", seed_of('2', program.hexadecimal()), taken},
          {"json", seed_of('2', program.json()), taken}};
}

}  // namespace situ::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)situ::test::read_pams(std::as_bytes(std::span{data, size}));
  return 0;
}
