// Programs of PAMS, the sequencer of active messages of Willenberg and Chow (FPGA 2013): made by calls, or from text.
// docs/formats/pams.md has the instructions, their words and the assembly language.
//
//   situ::model::pams_program barrier;
//   barrier.name_handler("call", 1).name_handler("done", 2);
//   barrier.message_counter(0, "call", 15).wait(situ::model::pams_program::messages_are_there(0));
//   for (int node = 1; node < 16; ++node) barrier.send("done", node);
//   barrier.halt();
//   const std::vector<std::uint32_t> words = barrier.words();
//
// A program is a value: it owns its names and words. Thread-safe as other values are: several threads may read one.
// Errors: bad_argument, with the mistake and the allowed range; a call that throws leaves the program unchanged.
// cost: a call appends an instruction and its text.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace situ::model {

struct pams_instruction;

// A program that grows by calls, instruction by instruction.
class pams_program {
 public:
  static constexpr std::uint32_t most_words = 512;  // of the instruction RAM

  // A node, a handler or a label: its number, or the name that the program has for it. Implicit, so that calls take
  // either.
  class symbol {
   public:
    template <std::integral Number>
    symbol(Number number) : number_{static_cast<std::int64_t>(number)} {}  // NOLINT(google-explicit-constructor)
    symbol(const char* name) : name_{name}, is_name_{true} {}              // NOLINT(google-explicit-constructor)
    symbol(std::string_view name) : name_{name}, is_name_{true} {}         // NOLINT(google-explicit-constructor)
    symbol(const std::string& name) : name_{name}, is_name_{true} {}       // NOLINT(google-explicit-constructor)
    // Returns whether it is a name.
    [[nodiscard]] bool is_name() const noexcept { return is_name_; }
    // Returns the name; empty if it is a number.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    // Returns the number; 0 if it is a name.
    [[nodiscard]] std::int64_t number() const noexcept { return number_; }

   private:
    std::string name_;
    std::int64_t number_ = 0;
    bool is_name_ = false;
  };

  // Values that PAMS has when it writes a request.
  enum class own_value : std::uint8_t { timer, arrival_time };

  // An argument of a request: a number of 32 bits, or a value of PAMS. Implicit, as symbol.
  class argument {
   public:
    template <std::integral Number>
    argument(Number number) : number_{static_cast<std::int64_t>(number)} {}  // NOLINT(google-explicit-constructor)
    argument(own_value own) : own_{own} {}                                   // NOLINT(google-explicit-constructor)
    // Returns the value of PAMS that it is; nullopt if it is a number.
    [[nodiscard]] std::optional<own_value> own() const noexcept { return own_; }
    [[nodiscard]] std::int64_t number() const noexcept { return number_; }

   private:
    std::optional<own_value> own_;
    std::int64_t number_ = 0;
  };
  using arguments = std::vector<argument>;  // at most 3

  // The bytes that a long message moves.
  struct transfer {
    std::uint32_t at = 0;     // their address in the receiver's memory: a multiple of 4
    std::uint32_t bytes = 0;  // at most 65536
    std::uint32_t from = 0;   // their address in the sender's memory: a multiple of 4
  };

  // The fate of a counted request's token: it goes back to GAScore, or PAMS keeps it for a reply.
  enum class tokens : std::uint8_t { returned, kept };

  // Conditions of a wait, joined by |.
  class condition {
   public:
    // Returns the mask of the wait instruction.
    [[nodiscard]] std::uint32_t bits() const noexcept { return bits_; }
    friend condition operator|(condition left, condition right) noexcept { return condition{left.bits_ | right.bits_}; }

   private:
    friend class pams_program;
    explicit condition(std::uint32_t bits) noexcept : bits_{bits} {}
    std::uint32_t bits_;
  };
  // Holds if the timer has reached its threshold.
  [[nodiscard]] static condition timer_is_over() noexcept;
  // Holds if a message counter (0 to 3) has reached its threshold.
  [[nodiscard]] static condition messages_are_there(std::uint32_t counter);
  // Holds if a transfer counter (0 to 3) has reached its threshold.
  [[nodiscard]] static condition bytes_are_there(std::uint32_t counter);
  // Holds if a control input (0 to 3) is set.
  [[nodiscard]] static condition input_is_set(std::uint32_t input);
  // Holds if GAScore has sent all requests of this PAMS: the memory that they read may be written again.
  [[nodiscard]] static condition requests_are_sent() noexcept;

  // Names: a letter or _, then letters, digits and _. A node's, a handler's and a label's name may be the same word,
  // but each names one thing. A name of a node (0 to 1023) or handler (0 to 255) comes before its use.
  pams_program& name_node(std::string_view name, std::uint32_t number);
  pams_program& name_handler(std::string_view name, std::uint32_t number);
  // Names the place of the next instruction. A jump to it may come before.
  pams_program& label(std::string_view name);

  // Sets the timer's threshold, in cycles.
  pams_program& timer_threshold(std::uint32_t cycles);
  // Adds to the timer.
  pams_program& timer_offset(std::int32_t cycles);
  // Clears message counter `counter` (0 to 3), and lets it count the calls of a handler up to a threshold.
  // pre: the handler is neither LOAD's (0xf0) nor START's (0xf1).
  pams_program& message_counter(std::uint32_t counter, const symbol& handler, std::uint32_t messages,
                                tokens fate = tokens::returned);
  // Clears a transfer counter, and lets it count the bytes that long messages of a handler have written.
  pams_program& transfer_counter(std::uint32_t counter, const symbol& handler, std::uint32_t bytes,
                                 tokens fate = tokens::returned);
  // Adds to the threshold of a message counter; its count stays.
  pams_program& expect_messages(std::uint32_t counter, std::uint32_t more);
  // Adds to the threshold of a transfer counter; its count stays.
  pams_program& expect_bytes(std::uint32_t counter, std::uint32_t more);
  // Waits until all these conditions hold.
  pams_program& wait(condition all);
  // Sets and clears control outputs (0 to 3). pre: one output at least, and none is in both lists.
  pams_program& control(const std::vector<std::uint32_t>& set, const std::vector<std::uint32_t>& clear = {});
  // Sends a request: a short message.
  pams_program& send(const symbol& handler, const symbol& node, const arguments& values = {});
  // Sends a request that carries memory: a long message.
  pams_program& send_long(const symbol& handler, const symbol& node, const transfer& data,
                          const arguments& values = {});
  // Answers the oldest call whose token was kept.
  pams_program& reply(const symbol& handler, const arguments& values = {});
  pams_program& reply_long(const symbol& handler, const transfer& data, const arguments& values = {});
  // Goes on at a label, or at a word (0 to 511).
  pams_program& jump(const symbol& to);
  pams_program& halt();
  // Appends any word, also one that is no instruction.
  pams_program& word(std::uint32_t value);

  // Returns the number of words so far.
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(words_.size()); }
  // Returns the numbers behind names; nullopt if there is no such name (yet).
  [[nodiscard]] std::optional<std::uint32_t> find_node(std::string_view name) const noexcept;
  [[nodiscard]] std::optional<std::uint32_t> find_handler(std::string_view name) const noexcept;
  [[nodiscard]] std::optional<std::uint32_t> find_label(std::string_view name) const noexcept;

  // Returns the words, labels resolved. Throws bad_argument for a jump to a label that is missing or past word 511, and
  // for more than 512 words.
  [[nodiscard]] std::vector<std::uint32_t> words() const;
  // Returns assembly text that assembles to the same words, with the program's names.
  [[nodiscard]] std::string text() const;

  // A line of text(), and the words that it makes.
  struct line {
    std::uint32_t address = 0;  // of its first word
    std::uint32_t words = 0;    // 0: a name or a label
    std::string text;
  };
  // Returns them in the order of text().
  [[nodiscard]] std::span<const line> lines() const noexcept { return lines_; }

  // Returns the words as a program file: hexadecimal, one a line, with the text in comments. Throws as words().
  [[nodiscard]] std::string hexadecimal() const;
  // Returns a program file in JSON: "words", names, labels and lines. Throws as words().
  [[nodiscard]] std::string json() const;

  // Returns the arguments of the messages of handler LOAD (0xf0) that write these words to the instruction RAM from
  // word `first` on: an address, then up to 14 words. Jumps have addresses from a program's first word on, so a part
  // of a program must be loaded to its own place. Throws bad_argument if they do not fit in 512 words.
  [[nodiscard]] static std::vector<std::vector<std::uint32_t>> load_messages(std::span<const std::uint32_t> words,
                                                                             std::uint32_t first = 0);

 private:
  using names = std::vector<std::pair<std::string, std::uint32_t>>;
  struct label_use {
    std::uint32_t address;
    std::string label;
  };
  friend pams_program disassemble_pams(std::span<const std::uint32_t> words);

  pams_program& add_name(names& to, std::string_view directive, std::string_view name, std::uint32_t number);
  pams_program& add(const pams_instruction& instruction, std::string_view node, std::string_view handler,
                    std::string_view label);
  pams_program& add_counter(pams_instruction instruction, const symbol& handler, tokens fate);
  pams_program& add_request(pams_instruction instruction, const symbol& handler, const symbol* node,
                            const arguments& values);

  std::vector<std::uint32_t> words_;  // a jump to a label has address 0
  std::vector<line> lines_;
  std::vector<label_use> label_uses_;
  names nodes_, handlers_, labels_;
};

// Assembles a program's text (docs/formats/pams.md). file: for errors. Throws bad_file; its message has a line
// "FILE:LINE:COLUMN: mistake" for each of the first 20 errors. cost: linear in
// the text, times the number of names.
[[nodiscard]] pams_program assemble_pams(std::string_view text, std::string_view file = "program");

// Returns a program that has these words. Words that are no instruction become `.word`; labels get new names.
// Throws bad_argument for more than 512 words. cost: linear.
[[nodiscard]] pams_program disassemble_pams(std::span<const std::uint32_t> words);

// Reads a program file, hexadecimal text or JSON. file: for errors. Throws bad_file, with the line if the text is
// hexadecimal, also for more than 512 words. cost: linear.
[[nodiscard]] std::vector<std::uint32_t> read_pams_words(std::string_view text, std::string_view file = "program");

}  // namespace situ::model
