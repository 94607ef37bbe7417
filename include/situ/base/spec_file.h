// Specification files: TOML, read strictly. Every error is errc::bad_file and names file, line and key, and what to
// write.
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
// read. Forms with a second argument return it where the key is absent; the others demand the key, but for tables().
class spec_table {
 public:
  // Whether the key is there.
  [[nodiscard]] bool has(std::string_view key) const;
  // Whether the key is there and its value is an array; never throws.
  [[nodiscard]] bool is_array(std::string_view key) const;

  // The value of a key, which must be of that type: a string, an integer, true or false.
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] bool boolean(std::string_view key, bool fallback) const;
  // The same for an integer or a float.
  [[nodiscard]] double number(std::string_view key) const;
  [[nodiscard]] double number(std::string_view key, double fallback) const;
  // All elements of an array of integers, or of strings.
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;

  // Quantities, written as strings as units.h has them: "64 MiB", "314 GB/s", "1.3 GHz", "105 ns"; in bytes, bytes per
  // second, hertz and nanoseconds.
  [[nodiscard]] std::uint64_t bytes(std::string_view key) const;
  [[nodiscard]] std::uint64_t bytes(std::string_view key, std::uint64_t fallback) const;
  [[nodiscard]] std::uint64_t bandwidth(std::string_view key, std::uint64_t fallback) const;
  [[nodiscard]] std::uint64_t hertz(std::string_view key, std::uint64_t fallback) const;
  [[nodiscard]] double nanoseconds(std::string_view key, double fallback) const;

  // The table of that name, written [key].
  [[nodiscard]] spec_table table(std::string_view key) const;
  // All of an array of tables, written [[key]]; none where it is absent.
  [[nodiscard]] std::vector<spec_table> tables(std::string_view key) const;

  // The keys of this table, sorted.
  [[nodiscard]] std::vector<std::string> keys() const;
  // Throws bad_file where a key is not listed, with the listed one that is nearest to it.
  void allow_only(std::initializer_list<std::string_view> known) const;

  // Where a key stands, or where it is missing: "<file>:<line>: <path of key>"; of "" the table itself.
  [[nodiscard]] std::string where(std::string_view key) const;
  // Throws bad_file: "<where>: <message>". For what only the reader can judge.
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
  std::string path_;  // of this table in its document, for messages: "node[3]"
};

// The root table of a file. cost: reads and parses all of it.
[[nodiscard]] spec_table read_spec(const std::string& path);
// The root table of a text; `file_name` is what errors call it. cost: parses all of it.
[[nodiscard]] spec_table parse_spec(std::string_view text, std::string_view file_name);

}  // namespace situ
