#include "control_file.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace package_rank {
namespace {

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool equal_without_case(std::string_view text, std::string_view lower_case) noexcept {
  return text.size() == lower_case.size() &&
         std::equal(text.begin(), text.end(), lower_case.begin(), [](char a, char b) { return lower(a) == b; });
}

[[noreturn]] void bad_line(std::size_t line, std::string_view what) {
  situ::throw_error(situ::errc::bad_file, fmt::format("line {}: {}", line, what));
}

}  // namespace

control_reader::control_reader(std::vector<std::string> wanted, std::function<void(const stanza&)> on_stanza)
    : wanted_{std::move(wanted)}, on_stanza_{std::move(on_stanza)}, seen_(wanted_.size()), field_{wanted_.size()} {
  current_.values.resize(wanted_.size());
}

void control_reader::feed(std::string_view piece) {
  while (true) {
    const std::size_t end = piece.find('\n');
    if (end == std::string_view::npos) break;
    if (partial_line_.empty()) {
      take_line(piece.substr(0, end));
    } else {
      partial_line_.append(piece.substr(0, end));
      take_line(partial_line_);
      partial_line_.clear();
    }
    piece.remove_prefix(end + 1);
  }
  partial_line_.append(piece);
}

void control_reader::finish() {
  if (!partial_line_.empty()) take_line(partial_line_);
  partial_line_.clear();
  end_stanza();
}

void control_reader::take_line(std::string_view line) {
  ++line_;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.empty()) return end_stanza();
  if (line.front() == '#') return;  // a comment, wherever it stands
  if (!is_blank(line.front())) return take_field(line);
  if (const std::string_view text = trim(line); !text.empty()) return take_continuation(text);
  end_stanza();
}

void control_reader::take_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  const bool printable = std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (colon == std::string_view::npos || colon == 0 || !printable)
    bad_line(line_, "neither a field nor a continuation of one; is this a Debian package list, and unpacked?");
  if (!in_stanza_) current_.line = line_;
  in_stanza_ = true;
  const auto match =
      std::find_if(wanted_.begin(), wanted_.end(), [&](const std::string& w) { return equal_without_case(name, w); });
  field_ = static_cast<std::size_t>(match - wanted_.begin());
  if (match == wanted_.end()) return;
  if (seen_[field_]) bad_line(line_, fmt::format("a second {} field in one stanza", name));
  seen_[field_] = true;
  current_.values[field_] = trim(line.substr(colon + 1));
}

void control_reader::take_continuation(std::string_view text) {
  if (!in_stanza_) bad_line(line_, "a continuation line before any field");
  if (field_ == wanted_.size()) return;
  current_.values[field_].append(1, '\n').append(text);
}

void control_reader::end_stanza() {
  if (in_stanza_) on_stanza_(current_);
  for (std::string& value : current_.values) value.clear();
  seen_.assign(wanted_.size(), false);
  field_ = wanted_.size();
  in_stanza_ = false;
}

namespace {

// A cursor over one relation field. Blanks, here, include the ends of folded lines.
class relation_parser {
 public:
  explicit relation_parser(std::string_view value) noexcept : value_{value} {}

  std::vector<alternative> parse() {
    std::vector<alternative> found;
    std::uint32_t clause = 0;
    while (true) {
      skip_blanks();
      if (!at_end() && peek() != ',') parse_clause(found, clause++);
      if (at_end()) return found;
      if (peek() != ',') fail("expected ',' or '|'");
      ++position_;
    }
  }

 private:
  void parse_clause(std::vector<alternative>& found, std::uint32_t clause) {
    while (true) {
      found.push_back({parse_name(), clause});
      parse_architecture_qualifier();
      parse_bracketed('(', ')', true);
      parse_bracketed('[', ']', false);
      while (parse_bracketed('<', '>', false)) {}
      skip_blanks();
      if (at_end() || peek() != '|') return;
      ++position_;
    }
  }

  // Policy asks for lower case; old archives hold upper case and underscores too.
  std::string_view parse_name() {
    skip_blanks();
    const std::size_t begin = position_;
    while (!at_end() &&
           (is_letter(peek()) || is_digit(peek()) || peek() == '+' || peek() == '-' || peek() == '.' || peek() == '_'))
      ++position_;
    if (begin == position_ || !(is_letter(value_[begin]) || is_digit(value_[begin]))) fail("expected a package name");
    return value_.substr(begin, position_ - begin);
  }

  void parse_architecture_qualifier() {
    if (at_end() || peek() != ':') return;
    const std::size_t begin = ++position_;
    while (!at_end() && (is_letter(peek()) || is_digit(peek()) || peek() == '-')) ++position_;
    if (begin == position_) fail("expected an architecture after ':'");
  }

  // Passes over "(>= 1.0)", "[amd64 !i386]" or "<!nocheck>".
  bool parse_bracketed(char open, char close, bool is_version) {
    skip_blanks();
    if (at_end() || peek() != open) return false;
    const std::size_t end = value_.find(close, position_ + 1);
    if (end == std::string_view::npos) fail(fmt::format("'{}' without '{}'", open, close));
    if (is_version) check_version(value_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return true;
  }

  // An operator and a version. "<" and ">" are dpkg's obsolete spellings of "<=" and ">=".
  void check_version(std::string_view constraint) {
    constraint = trim(constraint);
    const std::size_t length = std::min(constraint.find_first_not_of("<>="), constraint.size());
    const std::string_view comparison = constraint.substr(0, length);
    const std::string_view version = trim(constraint.substr(length));
    const bool known = comparison == "<<" || comparison == "<=" || comparison == "=" || comparison == ">=" ||
                       comparison == ">>" || comparison == "<" || comparison == ">";
    if (!known || version.empty() || version.find_first_of(" \t\n(,|") != std::string_view::npos)
      fail("expected a comparison and a version within '( )'");
  }

  void skip_blanks() noexcept {
    while (!at_end() && (is_blank(peek()) || peek() == '\n')) ++position_;
  }
  [[nodiscard]] bool at_end() const noexcept { return position_ == value_.size(); }
  [[nodiscard]] char peek() const noexcept { return value_[position_]; }
  [[noreturn]] void fail(std::string_view what) const {
    const std::string_view rest = value_.substr(position_, 30);
    situ::throw_error(situ::errc::bad_file, fmt::format("{} at \"{}\"", what, rest.substr(0, rest.find('\n'))));
  }

  std::string_view value_;
  std::size_t position_ = 0;
};

// deb-version(7): '~' sorts before the end of the text, letters before everything else.
int order(char c) noexcept {
  if (c == '~') return -1;
  if (is_digit(c) || c == '\0') return 0;
  return is_letter(c) ? c : static_cast<unsigned char>(c) + 256;
}

// Compares an upstream version or a revision: turns of non-digits (by `order`) and digits (as numbers).
int compare_part(std::string_view a, std::string_view b) noexcept {
  std::size_t i = 0, j = 0;
  const auto at = [](std::string_view text, std::size_t index) { return index < text.size() ? text[index] : '\0'; };
  while (i < a.size() || j < b.size()) {
    while ((i < a.size() && !is_digit(a[i])) || (j < b.size() && !is_digit(b[j]))) {
      if (const int difference = order(at(a, i)) - order(at(b, j)); difference != 0) return difference;
      ++i;
      ++j;
    }
    while (at(a, i) == '0') ++i;
    while (at(b, j) == '0') ++j;
    int first_difference = 0;
    for (; is_digit(at(a, i)) && is_digit(at(b, j)); ++i, ++j)
      if (first_difference == 0) first_difference = a[i] - b[j];
    if (is_digit(at(a, i))) return 1;
    if (is_digit(at(b, j))) return -1;
    if (first_difference != 0) return first_difference;
  }
  return 0;
}

struct version_parts {
  std::string_view epoch, upstream, revision;
};

version_parts split_version(std::string_view version) noexcept {
  version_parts parts;
  if (const std::size_t colon = version.find(':'); colon != std::string_view::npos) {
    parts.epoch = version.substr(0, colon);
    version.remove_prefix(colon + 1);
  }
  const std::size_t hyphen = version.rfind('-');
  parts.upstream = version.substr(0, hyphen);
  if (hyphen != std::string_view::npos) parts.revision = version.substr(hyphen + 1);
  return parts;
}

}  // namespace

std::vector<alternative> parse_relations(std::string_view value) { return relation_parser{value}.parse(); }

int compare_versions(std::string_view a, std::string_view b) noexcept {
  const version_parts x = split_version(a);
  const version_parts y = split_version(b);
  if (const int by_epoch = compare_part(x.epoch, y.epoch); by_epoch != 0) return by_epoch;
  if (const int by_upstream = compare_part(x.upstream, y.upstream); by_upstream != 0) return by_upstream;
  return compare_part(x.revision, y.revision);
}

}  // namespace package_rank
