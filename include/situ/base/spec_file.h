// Specification files: TOML, read strictly. Every error is errc::bad_file and names file, line and key, and the
// accepted form.
//
//   const situ::spec_table spec = situ::read_spec("study.toml");
//   spec.allow_only({"machine", "blocks", "size"});              // a misspelt key is an error, with the nearest one
//   const std::uint64_t size = spec.bytes("size");               // size = "64 MiB"
//   for (const situ::spec_table& block : spec.tables("blocks"))  // [[blocks]]
//     use(block.text("name"), block.integer("count", 1));
//
// cost: a key is found by linear search; a value is copied out.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace situ {

namespace detail {
struct spec_document;
struct spec_value;
}  // namespace detail

// A table of a specification: a handle on an immutable document, which it keeps alive. Cheap to copy, thread-safe to
// read. Functions with a second argument return it if the key is absent; the others require the key, except tables().
class spec_table {
 public:
  // Returns whether the key is present.
  [[nodiscard]] bool has(std::string_view key) const;
  // Returns whether the key is present and its value is an array; never throws.
  [[nodiscard]] bool is_array(std::string_view key) const;

  // Returns the value of a key, which must have that type: a string, an integer, true or false.
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] bool boolean(std::string_view key, bool fallback) const;
  // Returns the value of a key that is an integer or a float.
  [[nodiscard]] double number(std::string_view key) const;
  [[nodiscard]] double number(std::string_view key, double fallback) const;
  // Returns all elements of an array of integers, or of strings.
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;

  // Return quantities that are written as strings in the forms of units.h ("64 MiB", "314 GB/s", "1.3 GHz", "105 ns"),
  // in bytes, bytes per second, hertz and nanoseconds.
  [[nodiscard]] std::uint64_t bytes(std::string_view key) const;
  [[nodiscard]] std::uint64_t bytes(std::string_view key, std::uint64_t fallback) const;
  [[nodiscard]] std::uint64_t bandwidth(std::string_view key, std::uint64_t fallback) const;
  [[nodiscard]] std::uint64_t hertz(std::string_view key, std::uint64_t fallback) const;
  [[nodiscard]] double nanoseconds(std::string_view key, double fallback) const;

  // Returns the table written as [key].
  [[nodiscard]] spec_table table(std::string_view key) const;
  // Returns all tables of an array that is written as [[key]]; an empty vector if the key is absent.
  [[nodiscard]] std::vector<spec_table> tables(std::string_view key) const;

  // Returns the keys of this table, sorted.
  [[nodiscard]] std::vector<std::string> keys() const;
  // Throws bad_file if the table has a key that is not listed; the message suggests the nearest listed key.
  void allow_only(std::initializer_list<std::string_view> known) const;

  // Returns the position of a key, or of the table that lacks it: "<file>:<line>: <path of key>"; for "" the table's
  // own.
  [[nodiscard]] std::string where(std::string_view key) const;
  // Throws bad_file with "<where>: <message>", for checks that only the reader of the file can make.
  [[noreturn]] void fail(std::string_view key, std::string_view message) const;

 private:
  friend spec_table parse_spec(std::string_view text, std::string_view file_name);
  spec_table(std::shared_ptr<const detail::spec_document> document, const detail::spec_value* value, std::string path)
      : document_{std::move(document)}, value_{value}, path_{std::move(path)} {}
  [[nodiscard]] const detail::spec_value* find(std::string_view key) const;
  [[nodiscard]] const detail::spec_value& demand(std::string_view key, std::string_view example) const;
  [[nodiscard]] std::string quantity(std::string_view key, std::string_view example) const;

  std::shared_ptr<const detail::spec_document> document_;
  const detail::spec_value* value_;
  std::string path_;  // path of this table in its document, for messages: "node[3]"
};

// Returns the root table of a file. cost: reads and parses all of it.
[[nodiscard]] spec_table read_spec(const std::string& path);
// Returns the root table of a text; errors use `file_name` for it. cost: parses all of it.
[[nodiscard]] spec_table parse_spec(std::string_view text, std::string_view file_name);

}  // namespace situ
