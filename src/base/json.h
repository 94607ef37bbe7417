// JSON for reports. The library that writes and parses it is nlohmann's, which takes seconds to compile in each source
// that includes it; so json.cpp alone does, and other sources of the modules and of `situ` include this header.
//
// A value owns what is below it. Members of an object keep their order. Not thread-safe, as containers are not.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace situ::detail {

class json {
 public:
  struct member;

  json();  // null
  // Numbers, texts and lists convert, so that a member's value can be written as it is.
  json(bool value);               // NOLINT(google-explicit-constructor)
  json(double value);             // NOLINT(google-explicit-constructor)
  json(const char* text);         // NOLINT(google-explicit-constructor)
  json(std::string_view text);    // NOLINT(google-explicit-constructor)
  json(const std::string& text);  // NOLINT(google-explicit-constructor)
  template <std::signed_integral T>
  json(T value) : json{as_integer{value}} {}  // NOLINT(google-explicit-constructor)
  template <std::unsigned_integral T>
  json(T value) : json{as_unsigned{value}} {}  // NOLINT(google-explicit-constructor)
  template <class T>
  json(const std::vector<T>& values) : json{array()} {  // NOLINT(google-explicit-constructor)
    for (const T& each : values) push(each);
  }
  json(std::initializer_list<member> members);  // an object: {{"name", name}, {"bytes", bytes}}

  json(json&& other) noexcept;
  json& operator=(json&& other) noexcept;
  json(const json&) = delete;
  json& operator=(const json&) = delete;
  ~json();

  [[nodiscard]] static json array();
  // Throws situ::error (bad_file) if the text is not JSON.
  [[nodiscard]] static json parse(std::string_view text);

  // Adds a member to an object, or replaces the one of this name; null becomes an object. pre: an object or null.
  void set(std::string_view key, json value);
  // pre: an array.
  void push(json value);

  enum class bad_utf8 { refused, replaced };  // refused: text() throws situ::error (bad_argument)
  // Returns the text, indented by so many blanks a level; in one line if `indent` is -1.
  [[nodiscard]] std::string text(int indent, bad_utf8 bad = bad_utf8::refused) const;

 private:
  struct tree;
  struct as_integer {
    std::int64_t value;
  };
  struct as_unsigned {
    std::uint64_t value;
  };
  explicit json(as_integer number);
  explicit json(as_unsigned number);

  std::unique_ptr<tree> tree_;
};

struct json::member {
  std::string_view key;
  mutable json value;  // moved out of the list, whose elements are constant
};

}  // namespace situ::detail
