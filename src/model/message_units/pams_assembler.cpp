#include "model/message_units/pams_assembler.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "model/message_units/pams_encoding.h"
#include "model/message_units/pams_operands.h"

namespace situ::model {
namespace {

using pams_symbol = pams_program::symbol;

// Assembles line by line. The first error of a line ends the line; further lines are still looked at.
class pams_text_assembler {
 public:
  explicit pams_text_assembler(pams_assembly& to) : to_{to}, program_{to.program} {}

  void assemble(std::string_view text);

 private:
  struct statement {
    std::string_view name, usage;
    void (pams_text_assembler::*read)(pams_operands&);
  };
  struct label_use {
    std::uint32_t line, column;
    std::string label;
  };
  static const std::array<statement, 17> statements;

  void assemble_line(std::string_view line);
  void assemble_statement(std::span<const pams_token> tokens);
  void check_labels();
  void check_length();
  void keep_first_errors();

  // Operands.
  pams_symbol node(pams_operands& in) const {
    return in.symbol(pams_ranges::node, [this](std::string_view name) { return program_.find_node(name); }, nodes_);
  }
  pams_symbol handler(pams_operands& in) const {
    return in.symbol(
        pams_ranges::handler, [this](std::string_view name) { return program_.find_handler(name); }, handlers_);
  }
  pams_symbol counted_handler(pams_operands& in) const;
  static std::uint32_t number(pams_operands& in, const pams_range& range) {
    return static_cast<std::uint32_t>(in.number(range));
  }
  static pams_program::transfer transfer(pams_operands& in);
  static pams_program::arguments arguments(pams_operands& in);
  static pams_program::tokens fate(pams_operands& in) {
    return in.skip("keeps") ? pams_program::tokens::kept : pams_program::tokens::returned;
  }

  // Statements.
  void read_node(pams_operands& in);
  void read_handler(pams_operands& in);
  void read_word(pams_operands& in) { program_.word(number(in, pams_ranges::word)); }
  void read_halt(pams_operands& /*in*/) { program_.halt(); }
  void read_timer_threshold(pams_operands& in) { program_.timer_threshold(number(in, pams_ranges::cycles)); }
  void read_timer_offset(pams_operands& in) {
    program_.timer_offset(static_cast<std::int32_t>(in.number(pams_ranges::offset)));
  }
  void read_message_counter(pams_operands& in);
  void read_transfer_counter(pams_operands& in);
  void read_expect_messages(pams_operands& in);
  void read_expect_bytes(pams_operands& in);
  void read_wait(pams_operands& in);
  void read_control(pams_operands& in);
  void read_send(pams_operands& in);
  void read_send_long(pams_operands& in);
  void read_reply(pams_operands& in);
  void read_reply_long(pams_operands& in);
  void read_jump(pams_operands& in);

  pams_assembly& to_;
  pams_program& program_;
  std::vector<std::string> nodes_, handlers_, labels_;  // for errors
  std::vector<label_use> label_uses_;
  std::uint32_t line_ = 0;
  std::optional<pams_text_error> too_long_;  // the place of the first word that does not fit
};

const std::array<pams_text_assembler::statement, 17> pams_text_assembler::statements{{
    {".node", ".node NAME NUMBER", &pams_text_assembler::read_node},
    {".handler", ".handler NAME NUMBER", &pams_text_assembler::read_handler},
    {".word", ".word NUMBER", &pams_text_assembler::read_word},
    {"halt", "halt", &pams_text_assembler::read_halt},
    {"timer_threshold", "timer_threshold CYCLES", &pams_text_assembler::read_timer_threshold},
    {"timer_offset", "timer_offset CYCLES", &pams_text_assembler::read_timer_offset},
    {"message_counter", "message_counter m0 HANDLER MESSAGES [keeps]", &pams_text_assembler::read_message_counter},
    {"transfer_counter", "transfer_counter x0 HANDLER BYTES [keeps]", &pams_text_assembler::read_transfer_counter},
    {"expect_messages", "expect_messages m0 MESSAGES", &pams_text_assembler::read_expect_messages},
    {"expect_bytes", "expect_bytes x0 BYTES", &pams_text_assembler::read_expect_bytes},
    {"wait", "wait CONDITION...; conditions are timer, m0 to m3, x0 to x3, c0 to c3, sent",
     &pams_text_assembler::read_wait},
    {"control", "control [set OUTPUT...] [clear OUTPUT...]", &pams_text_assembler::read_control},
    {"send", "send HANDLER NODE [ARGUMENT...]", &pams_text_assembler::read_send},
    {"send_long", "send_long HANDLER NODE at ADDRESS bytes NUMBER from ADDRESS [ARGUMENT...]",
     &pams_text_assembler::read_send_long},
    {"reply", "reply HANDLER [ARGUMENT...]", &pams_text_assembler::read_reply},
    {"reply_long", "reply_long HANDLER at ADDRESS bytes NUMBER from ADDRESS [ARGUMENT...]",
     &pams_text_assembler::read_reply_long},
    {"jump", "jump LABEL", &pams_text_assembler::read_jump},
}};

pams_symbol pams_text_assembler::counted_handler(pams_operands& in) const {
  const pams_symbol found = handler(in);
  const std::string problem =
      pams_problem_of_counted(found.is_name() ? *program_.find_handler(found.name()) : found.number());
  if (!problem.empty()) in.refuse(problem);
  return found;
}

pams_program::transfer pams_text_assembler::transfer(pams_operands& in) {
  pams_program::transfer data;
  in.expect("at");
  data.at = number(in, pams_ranges::address);
  in.expect("bytes");
  data.bytes = number(in, pams_ranges::bytes);
  in.expect("from");
  data.from = number(in, pams_ranges::address);
  return data;
}

pams_program::arguments pams_text_assembler::arguments(pams_operands& in) {
  pams_program::arguments values;
  while (!in.is_at_end()) {
    values.push_back(in.argument());
    if (values.size() > pams_most_arguments)
      in.refuse(fmt::format("this is one argument too many: a request of PAMS has at most {}", pams_most_arguments));
  }
  return values;
}

void pams_text_assembler::read_node(pams_operands& in) {
  const std::string_view name = in.name();
  program_.name_node(name, number(in, pams_ranges::node));
  nodes_.emplace_back(name);
}

void pams_text_assembler::read_handler(pams_operands& in) {
  const std::string_view name = in.name();
  program_.name_handler(name, number(in, pams_ranges::handler));
  handlers_.emplace_back(name);
}

void pams_text_assembler::read_message_counter(pams_operands& in) {
  const std::uint32_t counter = in.counter('m');
  const pams_symbol handler = counted_handler(in);
  const std::uint32_t messages = number(in, pams_ranges::messages);
  program_.message_counter(counter, handler, messages, fate(in));
}

void pams_text_assembler::read_transfer_counter(pams_operands& in) {
  const std::uint32_t counter = in.counter('x');
  const pams_symbol handler = counted_handler(in);
  const std::uint32_t bytes = number(in, pams_ranges::counted_bytes);
  program_.transfer_counter(counter, handler, bytes, fate(in));
}

void pams_text_assembler::read_expect_messages(pams_operands& in) {
  const std::uint32_t counter = in.counter('m');
  program_.expect_messages(counter, number(in, pams_ranges::messages));
}

void pams_text_assembler::read_expect_bytes(pams_operands& in) {
  const std::uint32_t counter = in.counter('x');
  program_.expect_bytes(counter, number(in, pams_ranges::counted_bytes));
}

void pams_text_assembler::read_wait(pams_operands& in) {
  pams_program::condition all = in.condition();
  while (!in.is_at_end()) {
    const pams_program::condition each = in.condition();
    if ((all.bits() & each.bits()) != 0) in.refuse("this condition is there already");
    all = all | each;
  }
  program_.wait(all);
}

void pams_text_assembler::read_control(pams_operands& in) {
  std::array<std::vector<std::uint32_t>, 2> lists;  // to set, to clear
  std::array<bool, pams_controls> is_named{};
  do {
    const std::string_view word = in.take("'set' or 'clear'");
    if (word != "set" && word != "clear") in.refuse(fmt::format("'{}' is neither set nor clear", pams_quoted(word)));
    std::vector<std::uint32_t>& list = lists[word == "set" ? 0 : 1];
    if (!list.empty()) in.refuse(fmt::format("there is a list of outputs to {} already", word));
    do {
      list.push_back(number(in, pams_ranges::output));
      if (std::exchange(is_named[list.back()], true)) in.refuse("this output is there already");
    } while (!in.is_at_end() && !in.is_next("set") && !in.is_next("clear"));
  } while (!in.is_at_end());
  program_.control(lists[0], lists[1]);
}

void pams_text_assembler::read_send(pams_operands& in) {
  const pams_symbol called = handler(in);
  const pams_symbol to = node(in);
  program_.send(called, to, arguments(in));
}

void pams_text_assembler::read_send_long(pams_operands& in) {
  const pams_symbol called = handler(in);
  const pams_symbol to = node(in);
  const pams_program::transfer data = transfer(in);
  program_.send_long(called, to, data, arguments(in));
}

void pams_text_assembler::read_reply(pams_operands& in) {
  const pams_symbol called = handler(in);
  program_.reply(called, arguments(in));
}

void pams_text_assembler::read_reply_long(pams_operands& in) {
  const pams_symbol called = handler(in);
  const pams_program::transfer data = transfer(in);
  program_.reply_long(called, data, arguments(in));
}

// A label may come later: check_labels looks.
void pams_text_assembler::read_jump(pams_operands& in) {
  const pams_symbol to =
      in.symbol(pams_ranges::place, [](std::string_view) { return std::optional<std::uint32_t>{0}; }, {});
  if (to.is_name()) label_uses_.push_back({line_, in.column(), to.name()});
  program_.jump(to);
}

void pams_text_assembler::assemble_statement(std::span<const pams_token> tokens) {
  const auto found = std::ranges::find(statements, tokens[0].text, &statement::name);
  if (found == statements.end()) {
    if (tokens[0].text.find(':') != std::string_view::npos)
      throw pams_mistake{tokens[0].column, fmt::format("there is no instruction {}; a label is followed by a blank",
                                                       pams_quoted(tokens[0].text))};
    std::vector<std::string> names;
    for (const statement& each : statements) names.emplace_back(each.name);
    throw pams_mistake{tokens[0].column, pams_no_such("instruction", tokens[0].text, names)};
  }
  pams_operands in{tokens, found->usage};
  try {
    (this->*found->read)(in);
  } catch (const error& refused) {  // a name, the first operand, that is given twice
    throw pams_mistake{tokens[std::min<std::size_t>(1, tokens.size() - 1)].column, std::string{refused.message()}};
  }
  in.expect_end();
}

void pams_text_assembler::assemble_line(std::string_view line) {
  const std::vector<pams_token> all = pams_tokens_of(line);
  std::span<const pams_token> left{all};
  try {
    if (!left.empty() && left[0].text.ends_with(':')) {
      const pams_token label = left[0];
      left = left.subspan(1);
      const std::string_view name = label.text.substr(0, label.text.size() - 1);
      try {
        program_.label(name);
      } catch (const error& refused) {
        throw pams_mistake{label.column, std::string{refused.message()}};
      }
      labels_.emplace_back(name);
    }
    if (left.empty()) return;
    assemble_statement(left);
    if (program_.size() > pams_words && !too_long_) too_long_ = pams_text_error{line_, left[0].column, {}};
  } catch (const pams_mistake& mistake) {
    to_.errors.push_back({line_, mistake.column, mistake.message});
  }
}

void pams_text_assembler::check_labels() {
  for (const label_use& use : label_uses_) {
    const auto place = program_.find_label(use.label);
    std::string problem = place ? "" : pams_no_such("label", use.label, labels_);
    if (place && program_.size() <= pams_words) problem = pams_problem_of(pams_ranges::place, *place, use.label);
    if (!problem.empty()) to_.errors.push_back({use.line, use.column, problem});
  }
}

void pams_text_assembler::check_length() {
  if (!too_long_) return;
  too_long_->message = pams_problem_of_length(program_.size());
  to_.errors.push_back(*too_long_);
}

void pams_text_assembler::keep_first_errors() {
  std::ranges::stable_sort(to_.errors, {}, &pams_text_error::line);
  if (to_.errors.size() <= pams_assembly::most_errors) return;
  to_.more_errors = to_.errors.size() - pams_assembly::most_errors;
  to_.errors.resize(pams_assembly::most_errors);
}

void pams_text_assembler::assemble(std::string_view text) {
  while (!text.empty()) {
    ++line_;
    const std::size_t end = text.find('\n');
    assemble_line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  check_labels();
  check_length();
  keep_first_errors();
}

}  // namespace

pams_assembly assemble_pams_text(std::string_view text) {
  pams_assembly result;
  pams_text_assembler{result}.assemble(text);
  return result;
}

pams_program assemble_pams(std::string_view text, std::string_view file) {
  pams_assembly result = assemble_pams_text(text);
  if (result.errors.empty()) return std::move(result.program);
  std::string message;
  for (const pams_text_error& each : result.errors)
    message += fmt::format("{}{}:{}:{}: {}", message.empty() ? "" : "\n", file, each.line, each.column, each.message);
  if (result.more_errors != 0) message += fmt::format("\n{}: {} more errors", file, result.more_errors);
  throw_error(errc::bad_file, message);
}

}  // namespace situ::model
