#include "model/message_units/pams_disassembler.h"

#include <situ/base/error_code.h>
#include <situ/model/pams_program.h>

#include <fmt/format.h>

#include "model/message_units/pams_tokens.h"

namespace situ::model {
namespace {

std::string pams_label(std::uint32_t address) { return fmt::format("at_{}", address); }

// Returns which words jumps lead to, of those at which something begins.
std::vector<bool> pams_targets(const std::vector<pams_decoded>& all, std::size_t words) {
  std::vector<bool> begins(words), is_target(words);
  for (const pams_decoded& each : all) begins[each.address] = true;
  for (const pams_decoded& each : all) {
    if (!each.instruction || each.instruction->operation != pams_operation::jump) continue;
    const std::uint32_t to = each.instruction->value;
    if (to < words && begins[to]) is_target[to] = true;
  }
  return is_target;
}

}  // namespace

std::vector<pams_decoded> decode_pams_program(std::span<const std::uint32_t> words) {
  std::vector<pams_decoded> all;
  for (std::uint32_t at = 0; at < words.size();) {
    pams_decoded each{.address = at, .words = 1, .instruction = decode_pams(words.subspan(at))};
    if (each.instruction) each.words = static_cast<std::uint32_t>(encode_pams(*each.instruction).size());
    at += each.words;
    all.push_back(each);
  }
  return all;
}

pams_program disassemble_pams(std::span<const std::uint32_t> words) {
  if (words.size() > pams_words) throw_error(errc::bad_argument, pams_problem_of_length(words.size()));
  const std::vector<pams_decoded> all = decode_pams_program(words);
  const std::vector<bool> is_target = pams_targets(all, words.size());
  pams_program program;
  for (const pams_decoded& each : all) {
    if (is_target[each.address]) program.label(pams_label(each.address));
    if (!each.instruction) {
      program.word(words[each.address]);
      continue;
    }
    const bool is_jump = each.instruction->operation == pams_operation::jump;
    const std::uint32_t to = each.instruction->value;
    if (is_jump && to < words.size() && is_target[to])
      program.jump(pams_label(to));
    else
      program.add(*each.instruction, {}, {}, {});
  }
  return program;
}

}  // namespace situ::model
