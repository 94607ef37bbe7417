// Traces of Ramulator's formats: text, a request or two to a memory in each line.
//
//   format                 a line                     read by
//   ramulator-dram         0x12345680 R               Ramulator 1, --mode=dram. Addresses are hexadecimal
//   ramulator2-loadstore   LD 0x12345680              Ramulator 2, front end LoadStoreTrace
//   ramulator-cpu          3 20734016 [4207488]       Ramulator 1, --mode=cpu; Ramulator 2, front end SimpleO3
//
// W and ST write. A line of the last format is of a core: it executes so many instructions that reach no memory, then
// one that reads the first address; the second one is of a line that is written back to make room. Addresses of the last
// two formats are decimal, or hexadecimal with 0x. Ramulator 2's ReadWriteTrace has places in a memory (channel, rank,
// bank, row, column) instead of addresses: such a trace is refused, since which address has which place is not in it.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

namespace situ::model {

enum class ramulator_format : std::uint8_t { dram, load_store, cpu };

// A line of a trace.
struct ramulator_line {
  std::uint64_t bubbles = 0;  // cpu: instructions before this one that reach no memory
  std::uint64_t address = 0;
  bool writes = false;                      // never in cpu
  std::optional<std::uint64_t> write_back;  // cpu
  friend bool operator==(const ramulator_line&, const ramulator_line&) = default;
};

// Returns the line with its end. Throws bad_argument for a line of a core with more bubbles than Ramulator counts,
// 2^31 - 1.
[[nodiscard]] std::string to_text(const ramulator_line& line, ramulator_format format);

// Reads a trace line by line; the first line that is not empty says which format it has. Not thread-safe.
class ramulator_reader {
 public:
  // Both must outlive the reader.
  ramulator_reader(std::istream& from, const std::string& name) : from_{from}, name_{name} {}
  // Returns false at the end. Throws bad_file, with the name and the number of the line, for a line of none of these
  // formats, or of another format than the first one, and for a trace that cannot be read.
  [[nodiscard]] bool next(ramulator_line& line);
  // Empty until a line was read.
  [[nodiscard]] std::optional<ramulator_format> format() const noexcept { return format_; }

 private:
  [[nodiscard]] ramulator_line parse(std::string_view text);
  [[nodiscard]] std::uint64_t number(std::string_view text, int base, const char* what) const;
  [[noreturn]] void refuse(std::string_view why) const;

  std::istream& from_;
  const std::string& name_;
  std::uint64_t number_ = 0;  // of the line
  std::optional<ramulator_format> format_;
};

}  // namespace situ::model
