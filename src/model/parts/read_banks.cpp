#include "model/parts/read_banks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace situ::model {
namespace {

constexpr std::uint64_t most_banks = 4096;  // of a channel

time_ps from_ns(double ns) { return static_cast<time_ps>(std::llround(ns * 1000)); }

void check_times(const bank_spec& rows, const memory_spec& memory,
                 const std::function<void(const std::string&)>& fail) {
  if (memory.occupancy == 0)
    fail("a memory with banks needs a bandwidth, or an occupancy: how long a burst keeps a channel");
  if (rows.trcd >= memory.access_time)
    fail(
        fmt::format("tRCD = {} ns is not below {} ns, the time of an access at the memory, which opens a row: "
                    "access_time, or latency less that of the outermost cache",
                    static_cast<double>(rows.trcd) / 1e3, static_cast<double>(memory.access_time) / 1e3));
  if (rows.tras > 0 && rows.tras < rows.trcd)
    fail("tRAS is below tRCD; it begins with the activation of a row as well, and ends later");
  if ((rows.trefi == 0) != (rows.trfc == 0))
    fail("a refresh has tREFI, from one to the next, and tRFC, its length; write both, or none for no refresh");
  if (rows.trefi > 0 && rows.trfc >= rows.trefi) fail("tRFC is not below tREFI, so nothing but refreshes would happen");
}

}  // namespace

void read_banks(const machine::node_facts& of, memory_spec& memory,
                const std::function<void(const std::string&)>& fail) {
  const machine::dram_banks& given = of.rows;
  if (given == machine::dram_banks{}) return;
  if (given.banks == 0)
    fail(
        "ranks, rows, page_policy, address_mapping and times are those of banks; write banks = as well, those of a "
        "rank");
  if (given.row_bytes == 0 || given.trcd_ns <= 0 || given.trp_ns <= 0)
    fail(
        "a memory with banks needs row_bytes, tRCD and tRP, as in row_bytes = 8192, tRCD = \"14 ns\", tRP = \"14 ns\"");
  const bank_spec rows{.ranks = std::max(1U, given.ranks),
                       .banks = given.banks,
                       .row_bytes = given.row_bytes,
                       .closes_rows = given.policy == machine::page_policy::closed,
                       .mapping = given.mapping == machine::address_mapping::unknown
                                      ? machine::address_mapping::row_bank_column
                                      : given.mapping,
                       .trcd = from_ns(given.trcd_ns),
                       .trp = from_ns(given.trp_ns),
                       .tras = from_ns(given.tras_ns),
                       .trefi = from_ns(given.trefi_ns),
                       .trfc = from_ns(given.trfc_ns)};
  const std::uint64_t of_channel = std::uint64_t{rows.ranks} * rows.banks;
  if (of_channel > most_banks)
    fail(fmt::format("{} banks of a channel cannot be; write {} of all ranks at most", of_channel, most_banks));
  if (rows.mapping == machine::address_mapping::permutation && !std::has_single_bit(of_channel))
    fail(fmt::format("address_mapping = \"permutation\" needs a power of two of banks in all ranks, not {}",
                     of_channel));
  if (rows.row_bytes % memory.burst_bytes != 0)
    fail(fmt::format("row_bytes = {} is no multiple of burst_bytes = {}; a burst lies in one row", rows.row_bytes,
                     memory.burst_bytes));
  check_times(rows, memory, fail);
  memory.rows = rows;
}

}  // namespace situ::model
