// Messages as text: a receiver, a selector, arguments. "3 printString", "3 + 4", "Compiler evaluate: '3+4'".
//
// A receiver and an argument is an integer, a 'string' (a quote in it is doubled), a #symbol, or the name of a global.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace squeak {

struct message_part {
  enum class kind : unsigned char { integer, string, symbol, global } is = kind::global;
  std::string text;
  friend bool operator==(const message_part&, const message_part&) = default;
};

struct message {
  message_part receiver;
  std::string selector;
  std::vector<message_part> arguments;
  friend bool operator==(const message&, const message&) = default;
};

// Throws situ::error bad_argument, with the part that is not understood.
[[nodiscard]] message read_message(std::string_view text);

}  // namespace squeak
