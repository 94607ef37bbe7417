#include "message_text.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <cctype>
#include <optional>

namespace squeak {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  situ::throw_error(situ::errc::bad_argument,
                    fmt::format("'{}' is no message: {}; \"3 + 4\" and \"Compiler evaluate: '3+4'\" are", text, why));
}

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_binary(char c) { return std::string_view{"+-*/\\<>=~@%&|,"}.find(c) != std::string_view::npos; }

class message_reader {
 public:
  explicit message_reader(std::string_view text) : text_{text}, left_{text} {}

  message read() {
    message made;
    made.receiver = part();
    skip();
    if (left_.empty()) refuse(text_, "there is no selector");
    if (is_binary(left_.front())) {
      made.selector = taken(is_binary);
      made.arguments.push_back(part());
    } else {
      read_words(made);
    }
    skip();
    if (!left_.empty()) refuse(text_, fmt::format("'{}' is left", left_));
    return made;
  }

 private:
  void skip() {
    while (!left_.empty() && left_.front() == ' ') left_.remove_prefix(1);
  }
  std::string taken(bool (*is_part)(char)) {
    std::size_t end = 0;
    while (end < left_.size() && is_part(left_[end])) ++end;
    std::string found{left_.substr(0, end)};
    left_.remove_prefix(end);
    return found;
  }

  // A unary selector, or keywords, each with an argument.
  void read_words(message& made) {
    for (skip(); !left_.empty(); skip()) {
      const std::string word = taken(is_letter);
      if (word.empty()) refuse(text_, fmt::format("'{}' is no selector", left_));
      made.selector += word;
      if (left_.empty() || left_.front() != ':') {
        if (!made.arguments.empty()) refuse(text_, fmt::format("'{}' is no keyword", word));
        return;
      }
      left_.remove_prefix(1);
      made.selector += ':';
      made.arguments.push_back(part());
    }
  }

  message_part part() {
    using kind = message_part::kind;
    skip();
    if (left_.empty()) refuse(text_, "it ends here");
    if (left_.front() == '\'') return {kind::string, quoted()};
    if (left_.front() == '#') {
      left_.remove_prefix(1);
      const std::string name = taken([](char c) { return is_letter(c) || c == ':' || is_binary(c); });
      return {kind::symbol, name};
    }
    const bool is_negative = left_.front() == '-';
    const std::size_t digit = is_negative ? 1 : 0;
    if (digit < left_.size() && std::isdigit(static_cast<unsigned char>(left_[digit])) != 0) {
      left_.remove_prefix(digit);
      return {kind::integer, (is_negative ? "-" : "") + taken([](char c) { return c >= '0' && c <= '9'; })};
    }
    const std::string name = taken(is_letter);
    if (name.empty()) refuse(text_, fmt::format("'{}' is no integer, string, symbol or name", left_));
    return {kind::global, name};
  }

  std::string quoted() {
    std::string found;
    for (std::size_t at = 1; at < left_.size(); ++at) {
      if (left_[at] != '\'') {
        found += left_[at];
      } else if (at + 1 < left_.size() && left_[at + 1] == '\'') {
        found += '\'', ++at;
      } else {
        left_.remove_prefix(at + 1);
        return found;
      }
    }
    refuse(text_, "a string has no end");
  }

  std::string_view text_;
  std::string_view left_;
};

}  // namespace

message read_message(std::string_view text) { return message_reader{text}.read(); }

}  // namespace squeak
