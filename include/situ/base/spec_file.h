// Specification files: TOML, read strictly. Every error is errc::bad_file and names file, line and key, and what to
// write.
//
//   const situ::spec_table spec = situ::read_spec("study.toml");
//   spec.allow_only({"machine", "blocks", "size"});              // a misspelt key is an error, with the nearest one
//   const std::uint64_t size = spec.bytes("size");               // size = "64 MiB"
//   for (const situ::spec_table& block : spec.tables("blocks"))  // [[blocks]]
//     use(block.text("name"), block.integer("count", 1));
//
// A spec_table is a handle on an immutable document and keeps it alive: cheap to copy, thread-safe to read.
// Forms with a second argument return it where the key is absent; forms without demand the key.
#pragma once

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

class spec_table {
 public:
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] bool is_array(std::string_view key) const;

  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] double number(std::string_view key) const;  // an integer or a float
  [[nodiscard]] double number(std::string_view key, double fallback) const;
  [[nodiscard]] bool boolean(std::string_view key, bool fallback) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;

  // Quantities, written as in units.h: "64 MiB", "314 GB/s", "105 ns", "1.3 GHz".
  [[nodiscard]] std::uint64_t bytes(std::string_view key) const;
  [[nodiscard]] std::uint64_t bytes(std::string_view key, std::uint64_t fallback) const;
  [[nodiscard]] std::uint64_t bandwidth(std::string_view key, std::uint64_t fallback) const;
  [[nodiscard]] std::uint64_t hertz(std::string_view key, std::uint64_t fallback) const;
  [[nodiscard]] double nanoseconds(std::string_view key, double fallback) const;

  [[nodiscard]] spec_table table(std::string_view key) const;
  [[nodiscard]] std::vector<spec_table> tables(std::string_view key) const;  // an array of tables; none where absent

  [[nodiscard]] std::vector<std::string> keys() const;
  // Refuses every key that is not listed.
  void allow_only(std::initializer_list<std::string_view> known) const;

  // Throws bad_file: "<file>:<line>: <path of key>: <message>". For what only the reader can judge.
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

[[nodiscard]] spec_table read_spec(const std::string& path);
// `file_name` is what errors call the text.
[[nodiscard]] spec_table parse_spec(std::string_view text, std::string_view file_name);

}  // namespace situ
