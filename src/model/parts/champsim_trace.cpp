#include "model/parts/champsim_trace.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace situ::model {
namespace {

static_assert(std::endian::native == std::endian::little);

}  // namespace

bool champsim_reader::next(champsim_record& record) {
  std::array<char, sizeof(champsim_record)> bytes;
  from_.read(bytes.data(), bytes.size());
  const std::streamsize read = from_.gcount();
  if (read == 0) {
    if (from_.bad()) throw_error(errc::bad_file, fmt::format("{}: cannot be read at byte {}", name_, offset_));
    return false;
  }
  if (read != std::ssize(bytes))
    throw_error(errc::bad_file,
                fmt::format("{}: ends within the record at byte {}: {} of 64 bytes", name_, offset_, read));
  champsim_record made;
  std::memcpy(&made, bytes.data(), sizeof(made));
  const auto refuse = [&](const std::string& why) {
    throw_error(errc::bad_file, fmt::format("{}: the record at byte {} {}; is this an unpacked trace of ChampSim's?",
                                            name_, offset_, why));
  };
  if (made.is_branch > 1 || made.branch_taken > 1)
    refuse(fmt::format("has is_branch {} and branch_taken {}", made.is_branch, made.branch_taken));
  const auto is_beyond = [](std::uint64_t address) { return address >= trace_address_end; };
  if (std::ranges::any_of(made.destination_memory, is_beyond) || std::ranges::any_of(made.source_memory, is_beyond))
    refuse("has an address of more than 57 bits");
  record = made;
  offset_ += sizeof(made);
  return true;
}

}  // namespace situ::model
