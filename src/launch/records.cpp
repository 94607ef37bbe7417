#include "launch/records.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string_view>

#include "cluster/host_set.h"
#include "cluster/host_words.h"
#include "os/bytes.h"

namespace situ::detail::cluster {
namespace {

// Little-endian, as all messages between hosts; the strings follow.
struct fixed_part {
  static constexpr std::uint64_t expected_magic = 0x31306864'75746973;  // "situdh01"
  std::uint64_t magic = expected_magic;
  std::uint64_t build = 0;
  std::uint64_t layout = 0;
  std::uint64_t page_bytes = 0;
  std::uint32_t slice_shift = 0;
  std::uint32_t name_bytes = 0;
  std::uint32_t address_bytes = 0;
  std::uint32_t refusal_bytes = 0;
};
static_assert(sizeof(fixed_part) == 48);
constexpr std::uint32_t most_text = 4096;

// Returns "host1, host3 have 0x1000; host2 has 0x10000", or nothing if all hosts have the same value.
template <class Of>
[[nodiscard]] std::string differences(std::span<const host_record> records, Of of) {
  std::map<std::uint64_t, std::vector<std::string_view>> who;
  for (const host_record& each : records) who[of(each)].push_back(each.name);
  if (who.size() < 2) return {};
  std::vector<std::string> parts;
  for (const auto& [value, names] : who)
    parts.push_back(fmt::format("{} {} {:#x}", fmt::join(names, ", "), names.size() == 1 ? "has" : "have", value));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::vector<std::byte> pack(const host_record& record) {
  const std::string_view refusal = std::string_view{record.refusal}.substr(0, most_text);
  const std::string_view name = std::string_view{record.name}.substr(0, most_text);
  const fixed_part head{.build = record.build,
                        .layout = record.layout,
                        .page_bytes = record.page_bytes,
                        .slice_shift = record.slice_shift,
                        .name_bytes = static_cast<std::uint32_t>(name.size()),
                        .address_bytes = static_cast<std::uint32_t>(record.address.size()),
                        .refusal_bytes = static_cast<std::uint32_t>(refusal.size())};
  std::vector<std::byte> bytes;
  os::byte_writer{bytes}.add(head).add_text(name).add_bytes(record.address).add_text(refusal);
  return bytes;
}

host_record unpack(std::span<const std::byte> bytes) {
  const auto refuse = [] {
    throw_error(errc::bad_launch, "a host's record that is none: hosts with other versions of Situ");
  };
  os::byte_reader from{bytes};
  fixed_part head;
  if (!from.take(head)) refuse();
  if (head.magic != fixed_part::expected_magic || head.name_bytes > most_text || head.refusal_bytes > most_text ||
      head.address_bytes > host_address::most_bytes ||
      from.rest().size() != std::size_t{head.name_bytes} + head.address_bytes + head.refusal_bytes)
    refuse();
  host_record record{
      .build = head.build, .layout = head.layout, .page_bytes = head.page_bytes, .slice_shift = head.slice_shift};
  record.name = from.take_text(head.name_bytes);
  const std::span<const std::byte> address = from.take_bytes(head.address_bytes);
  record.address.assign(address.begin(), address.end());
  record.refusal = from.take_text(head.refusal_bytes);
  return record;
}

void check_records(std::span<const host_record> records) {
  if (records.size() > host_set::most_hosts)
    throw_error(errc::bad_launch,
                fmt::format("no job over {} hosts: at most {}", records.size(), host_set::most_hosts));
  std::vector<std::string> refusals;
  for (const host_record& each : records)
    if (!each.refusal.empty()) refusals.push_back(fmt::format("{}: {}", each.name, each.refusal));
  if (!refusals.empty())
    throw_error(errc::bad_launch, fmt::format("no job over these hosts; {}", fmt::join(refusals, "; ")));
  const auto refuse = [&](errc code, std::string_view what, auto of) {
    const std::string found = differences(records, of);
    if (!found.empty()) throw_error(code, fmt::format("no job over these hosts: {} ({})", what, found));
  };
  refuse(errc::version_mismatch, "their programs are built from different versions of Situ",
         [](const host_record& r) { return r.layout; });
  refuse(errc::version_mismatch,
         "they run different executables; functions and addresses travel, so all must run the same build",
         [](const host_record& r) { return r.build; });
  refuse(errc::bad_launch, "the kernels' pages differ in size", [](const host_record& r) { return r.page_bytes; });
  refuse(errc::bad_launch, "their memories have room for slices of different sizes (a power of two)",
         [](const host_record& r) { return std::uint64_t{r.slice_shift}; });
}

}  // namespace situ::detail::cluster
