// The operands of a statement of PAMS's assembly language, read from left to right, and the mistakes in them. An object
// is for one statement and one thread; it does not own the text.
#pragma once

#include <situ/model/pams_program.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/message_units/pams_encoding.h"
#include "model/message_units/pams_tokens.h"

namespace situ::model {

// Thrown at the first mistake of a statement, and caught by the assembler.
struct pams_mistake {
  std::uint32_t column;
  std::string message;
};

class pams_operands {
 public:
  // tokens: the statement's, with its name first. usage: how it is written, for messages.
  pams_operands(std::span<const pams_token> tokens, std::string_view usage) : tokens_{tokens}, usage_{usage} {}

  [[nodiscard]] bool is_at_end() const noexcept { return next_ == tokens_.size(); }
  [[nodiscard]] bool is_next(std::string_view word) const noexcept {
    return !is_at_end() && tokens_[next_].text == word;
  }
  // Returns the column of the token that was taken last; before the first one, of the statement's name.
  [[nodiscard]] std::uint32_t column() const noexcept { return tokens_[next_ - 1].column; }
  // Throws a mistake at the token that was taken last.
  [[noreturn]] void refuse(const std::string& why) const { throw pams_mistake{column(), why}; }

  // Takes the next token. The functions below throw a mistake, too, if there is none, or one that is not allowed.
  std::string_view take(std::string_view what);
  // Takes the next token if it is this word. Returns whether it was.
  bool skip(std::string_view word) noexcept;
  void expect(std::string_view word);
  void expect_end();
  std::int64_t number(const pams_range& range) { return number_of(take(range.what), range); }
  // A counter: its letter and its number.
  std::uint32_t counter(char letter);
  // A number, or a name that `find` knows. names: for the message if it knows none.
  pams_program::symbol symbol(const pams_range& range,
                              const std::function<std::optional<std::uint32_t>(std::string_view)>& find,
                              const std::vector<std::string>& names);
  // A name that a statement gives. Its text is the program's.
  std::string_view name();
  // The condition of a wait that is next.
  pams_program::condition condition();
  // The argument of a request that is next.
  pams_program::argument argument();

 private:
  std::int64_t number_of(std::string_view text, const pams_range& range) const;

  std::span<const pams_token> tokens_;
  std::string_view usage_;
  std::size_t next_ = 1;
};

}  // namespace situ::model
