// Debian's control format (deb-control(5), Debian policy chapter 5): stanzas of fields, and dependency fields.
//
//   Package: mutt                       a field; names compare without case
//   Depends: libc6 (>= 2.34), exim4 |   a relation: commas join what is needed, bars what will do
//    default-mta:any [amd64]            a continuation: the line begins with a blank
//                                       an empty line ends the stanza
// Values own their text. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace package_rank {

// One stanza: the values of the wanted fields, in the order in which they were asked for; empty where absent. The lines
// of a folded field are joined by '\n', without the blanks around them.
struct stanza {
  std::size_t line = 0;  // of its first field, from 1
  std::vector<std::string> values;
};

// Reads stanzas from text that arrives in pieces, so that a 50 MB list is parsed while its producer still writes it.
class control_reader {
 public:
  // `wanted` holds field names in lower case.
  control_reader(std::vector<std::string> wanted, std::function<void(const stanza&)> on_stanza);
  // Takes the next piece, cut anywhere. Throws situ::error (bad_file), naming the line, for text that is no control
  // file.
  void feed(std::string_view piece);
  // Ends the text: the last stanza needs no empty line behind it.
  void finish();

 private:
  void take_line(std::string_view line);
  void take_field(std::string_view line);
  void take_continuation(std::string_view text);
  void end_stanza();

  std::vector<std::string> wanted_;
  std::function<void(const stanza&)> on_stanza_;
  std::string partial_line_;
  stanza current_;
  std::vector<bool> seen_;
  std::size_t line_ = 0;
  std::size_t field_ = 0;  // index in wanted_ of the field being read; wanted_.size(): one that nobody wants
  bool in_stanza_ = false;
};

// One name in a dependency field. Those with the same clause are alternatives: any of them will do.
struct alternative {
  std::string_view name;  // without version, architecture or build profile
  std::uint32_t clause = 0;
  friend bool operator==(const alternative&, const alternative&) = default;
};

// Splits a Depends, Pre-Depends, Recommends or Provides value. The names point into `value`. Empty clauses (a trailing
// comma) are passed over. Throws situ::error (bad_file) for anything else that deb-control(5) does not allow.
[[nodiscard]] std::vector<alternative> parse_relations(std::string_view value);

// Order of two versions as deb-version(7) defines it: negative, zero or positive as a < b, a == b, a > b.
[[nodiscard]] int compare_versions(std::string_view a, std::string_view b) noexcept;

}  // namespace package_rank
