// Traces in ChampSim's format (its struct input_instr): a record of 64 bytes for each instruction.
//
//   offset  0 ip              8 bytes
//           8 is_branch       1, 0 or 1
//           9 branch_taken    1, 0 or 1
//          10 destination registers  2 of 1 byte; 0: none
//          12 source registers       4 of 1 byte
//          16 destination memory     2 addresses of 8 bytes; 0: none
//          32 source memory          4 addresses
//
// Numbers are little-endian. A record has no sizes: an access that crosses lines has an address for each line. Files are
// often compressed: unpack them into a pipe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>

namespace situ::model {

// Caches keep two bits beside a line: an address in a trace that is not below this is none of a program.
inline constexpr std::uint64_t trace_address_end = std::uint64_t{1} << 57;

struct champsim_record {
  std::uint64_t ip = 0;
  std::uint8_t is_branch = 0;
  std::uint8_t branch_taken = 0;
  std::array<std::uint8_t, 2> destination_registers{};
  std::array<std::uint8_t, 4> source_registers{};
  std::array<std::uint64_t, 2> destination_memory{};
  std::array<std::uint64_t, 4> source_memory{};
  friend bool operator==(const champsim_record&, const champsim_record&) = default;
};
static_assert(sizeof(champsim_record) == 64);

// The registers by which ChampSim knows the kind of a branch: a conditional one reads and writes the instruction
// pointer, and reads the flags.
inline constexpr std::uint8_t champsim_instruction_pointer = 26;
inline constexpr std::uint8_t champsim_flags = 25;

// Reads a trace record by record. Not thread-safe.
class champsim_reader {
 public:
  // Both must outlive the reader.
  champsim_reader(std::istream& from, const std::string& name) : from_{from}, name_{name} {}
  // Returns false at the end. Throws bad_file, with the name and the offset, if the trace ends within a record, or a
  // record cannot be one: is_branch or branch_taken beyond 1, an address that no machine has.
  [[nodiscard]] bool next(champsim_record& record);
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  std::istream& from_;
  const std::string& name_;
  std::uint64_t offset_ = 0;  // of the next record
};

}  // namespace situ::model
