#include "read.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <unordered_map>
#include <vector>

namespace json_ship {

namespace {

// Where the n-th nested level of a valid text begins.
std::size_t byte_of_level(std::string_view text, std::size_t n) noexcept {
  std::size_t level = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\';
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if ((c == '[' || c == '{') && ++level == n) {
      return i;
    } else if (c == ']' || c == '}') {
      --level;
    }
  }
  return text.size();
}

// `at` counts from 0; lines, columns and bytes are told from 1.
[[noreturn]] void fail_at(std::string_view text, std::size_t at, std::string_view what) {
  at = std::min(at, text.size());
  const std::string_view before = text.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  situ::throw_error(situ::errc::bad_file,
                    fmt::format("line {}, column {} (byte {}): {}", line, at - line_begin + 1, at + 1, what));
}

// The parser's message without its own name and place, which fail_at() tells.
std::string_view gist(std::string_view message) noexcept {
  for (const std::string_view end : {"] ", ": "}) {
    if (end == ": " && !message.starts_with("parse error")) break;
    const std::size_t found = message.find(end);
    if (found != std::string_view::npos) message.remove_prefix(found + end.size());
  }
  return message;
}

}  // namespace

// What the parser calls. A value is made, put where it belongs, and, if others go into it, becomes the open one.
class builder {
 public:
  builder(stored_document& into, std::string_view whole, const read_options& options)
      : into_{into}, whole_{whole}, options_{options} {
    into_.root_ = into_.documents_.make();
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      constants_[i] = into_.constants_.make();
      constants_[i]->what = static_cast<constant::kind>(i);
    }
    into_.root_->stamp = into_.integers_.make();
    into_.root_->stamp_name = into_.names_.make();
    into_.root_->stamp_name->characters = situ::string{"situ:visited"};
  }

  bool null() { return use(constant::null); }
  bool boolean(bool yes) { return use(yes ? constant::yes : constant::no); }
  bool number_integer(std::int64_t number) {
    ++into_.census_.integers;
    return put(into_.integers_.make(), [&](integer& made) { made.number = number; });
  }
  bool number_unsigned(std::uint64_t number) {
    if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return number_integer(static_cast<std::int64_t>(number));
    ++into_.census_.naturals;
    return put(into_.naturals_.make(), [&](natural& made) { made.number = number; });
  }
  bool number_float(double number, const std::string&) {
    ++into_.census_.reals;
    return put(into_.reals_.make(), [&](real& made) { made.number = number; });
  }
  bool string(const std::string& characters) {
    ++into_.census_.texts;
    return put(into_.texts_.make(), [&](text& made) { made.characters = situ::string{characters}; });
  }
  bool binary(const std::vector<std::uint8_t>&) { return false; }  // of other formats than text
  bool start_array(std::size_t) {
    ++into_.census_.lists;
    list* const made = into_.lists_.make();
    put(made, [](list&) {});
    return open({made, nullptr});
  }
  bool start_object(std::size_t) {
    ++into_.census_.records;
    record* const made = into_.records_.make();
    put(made, [](record&) {});
    return open({nullptr, made});
  }
  bool key(const std::string& characters) {
    ++into_.census_.members;
    name_ = name_of(characters);
    return true;
  }
  bool end_array() { return close(); }
  bool end_object() { return close(); }
  // `read`: how many bytes the parser has taken; the last of them is where it stopped.
  bool parse_error(std::size_t read, const std::string&, const nlohmann::detail::exception& problem) {
    fail_at(whole_, read == 0 ? 0 : read - 1, gist(problem.what()));
  }

 private:
  struct open_container {
    list* elements;
    record* members;
  };

  bool use(constant::kind what) {
    ++into_.census_.constants;
    return put(constants_[what], [](constant&) {});
  }
  template <class Made, class Fill>
  bool put(Made* made, Fill fill) {
    fill(*made);
    if (open_.empty()) {
      into_.root_->top = made;
    } else if (open_.back().elements != nullptr) {
      open_.back().elements->elements.push_back(made);
    } else {
      open_.back().members->members.push_back({name_, made});
    }
    return true;
  }
  bool open(open_container container) {
    if (open_.size() == options_.most_levels) {
      fail_at(whole_, byte_of_level(whole_, open_.size() + 1),
              fmt::format("nested deeper than {} levels; a larger --max-depth allows it", options_.most_levels));
    }
    open_.push_back(container);
    into_.census_.depth = std::max<std::uint64_t>(into_.census_.depth, open_.size());
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  member_name* name_of(const std::string& characters) {
    if (const auto known = names_.find(characters); known != names_.end()) return known->second;
    member_name* const made = into_.names_.make();
    made->characters = situ::string{characters};
    into_.root_->names.push_back(made);
    ++into_.census_.names;
    names_.emplace(made->characters.view(), made);
    return made;
  }

  stored_document& into_;
  std::string_view whole_;
  const read_options& options_;
  std::vector<open_container> open_;
  std::unordered_map<std::string_view, member_name*> names_;
  member_name* name_ = nullptr;  // of the member whose value comes next
  std::array<constant*, 3> constants_{};
};

std::unique_ptr<stored_document> parse_document(std::string_view text, const read_options& options) {
  auto made = std::make_unique<stored_document>();
  builder build{*made, text, options};
  (void)nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &build);
  return made;
}

std::string read_file(const std::string& path) {
  const auto fail = [&](const char* what) {
    situ::throw_error(situ::errc::bad_file, fmt::format("{}{}: {}", what, path, std::strerror(errno)));
  };
  struct close_file {
    void operator()(std::FILE* file) const noexcept {
      if (file != stdin) std::fclose(file);
    }
  };
  const std::unique_ptr<std::FILE, close_file> file{path == "-" ? stdin : std::fopen(path.c_str(), "re")};
  if (!file) fail("cannot open ");
  std::string text;
  std::vector<char> buffer(std::size_t{1} << 16);
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    text.append(buffer.data(), count);
  if (std::ferror(file.get()) != 0) fail("cannot read ");
  return text;
}

}  // namespace json_ship
