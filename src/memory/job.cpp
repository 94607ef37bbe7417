#include "memory/job.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include "base/file_size.h"
#include "os/host.h"
#include "os/mapping.h"
#include "os/mapping_error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <new>
#include <utility>

namespace situ::detail {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool under_tsan = true;
#else
constexpr bool under_tsan = false;
#endif

// The last bytes of the file.
struct footer {
  std::uint64_t magic = job_control::expected_magic;
  std::uint64_t control_offset = 0;
};

// A hash of the sizes of all structures in the file, rooms of other modules included (64-bit FNV-1a, by words).
constexpr std::uint64_t hash_of_sizes(std::initializer_list<std::uint64_t> sizes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::uint64_t each : sizes) hash = (hash ^ each) * 0x100000001b3;
  return hash;
}
constexpr std::uint64_t layout_now = hash_of_sizes(
    {sizeof(job_control), sizeof(place_status), sizeof(place_slot), sizeof(place_home), host_room_bytes,
     decltype(place_slot::awaited)::bytes, decltype(place_slot::graph)::bytes, decltype(place_slot::result)::bytes,
     decltype(place_slot::survivors)::bytes, decltype(job_control::modules)::bytes});

// The slots follow the control block on the next line, then homes; statuses, rows and the hosts' room start on a new
// page each; the footer ends the last page.
constexpr std::uint64_t slots_offset =
    (sizeof(job_control) + alignof(place_slot) - 1) & ~std::uint64_t{alignof(place_slot) - 1};

constexpr std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + page_bytes - 1) & ~(page_bytes - 1); }

constexpr std::uint64_t status_bytes = whole_pages(sizeof(place_status));
constexpr std::uint64_t homes_offset(std::uint32_t places, std::uint32_t hosts) {
  return slots_offset + (places + std::uint64_t{hosts > 1}) * sizeof(place_slot);
}
constexpr std::uint64_t statuses_offset(std::uint32_t places, std::uint32_t hosts) {
  return whole_pages(homes_offset(places, hosts) + places * sizeof(place_home));
}
constexpr std::uint64_t rows_offset(std::uint32_t places, std::uint32_t hosts) {
  return statuses_offset(places, hosts) + std::uint64_t{places} * status_bytes;
}
constexpr std::uint64_t host_room_offset(std::uint32_t places, std::uint32_t hosts, std::uint64_t row_bytes) {
  return rows_offset(places, hosts) + places * row_bytes;
}
constexpr std::uint64_t bytes_for_hosts(std::uint32_t hosts) {
  return hosts > 1 ? hosts * std::uint64_t{host_room_bytes} : 0;
}
// Returns the bytes of everything after the slices, including the page of the footer.
constexpr std::uint64_t least_control_bytes(std::uint32_t places, std::uint32_t hosts, std::uint64_t row_bytes) {
  return host_room_offset(places, hosts, row_bytes) + whole_pages(bytes_for_hosts(hosts)) + page_bytes;
}

// Returns the shift of the slice size: 64 GiB, halved until all slices fit 2^45 bytes: a quarter of the 47 bits of
// addresses that an x86-64 process has. ThreadSanitizer leaves programs only a few ranges of some 400 GiB, so there
// slices are 4 GiB, and 2^38 bytes together.
std::uint32_t slice_shift_for(std::uint32_t places) {
  const std::uint32_t most = under_tsan ? 32 : 36;
  const std::uint32_t together = under_tsan ? 38 : 45;
  return std::min<std::uint32_t>(most, together - static_cast<std::uint32_t>(std::bit_width(places - 1)));
}

// Fills in the bases to try. The wide ones are 1 TiB apart between AddressSanitizer's shadow (below 0x1000'8000'0000)
// and the load addresses of position-independent programs (from 0x5555'5555'4000), visited in bit-reversed order so
// that one large foreign mapping costs few rounds. The narrow ones are in the ranges that ThreadSanitizer leaves a
// program (gcc 12, x86-64, 48 bits: below 0x80'0000'0000, 0x5500'.. to 0x5680'.., from 0x7e80'..); every job tries
// them, since its launcher may be another build.
void fill_candidates(job_control& control) {
  constexpr std::uint64_t narrow[] = {0x0010'0000'0000, 0x0018'0000'0000, 0x0020'0000'0000, 0x0030'0000'0000,
                                      0x7e80'0000'0000, 0x7e90'0000'0000, 0x5500'0000'0000, 0x5510'0000'0000};
  constexpr std::uint32_t narrow_count = std::size(narrow);
  constexpr std::uint32_t wide_count = job_control::address_rounds - narrow_count;
  std::uint64_t* next = control.candidates;
  if (under_tsan) next = std::copy(std::begin(narrow), std::end(narrow), next);
  for (std::uint32_t i = 0; i < wide_count; ++i) {
    std::uint64_t reversed = 0;
    for (std::uint32_t bit = 0; bit < 5; ++bit) reversed |= std::uint64_t{(i >> bit) & 1} << (4 - bit);
    *next++ = 0x2000'0000'0000 + reversed * 0x0100'0000'0000;
  }
  if (!under_tsan) std::copy(std::begin(narrow), std::end(narrow), next);
}

os::mapping map_control(int descriptor, std::uint64_t offset, std::uint64_t bytes,
                        int protection = PROT_READ | PROT_WRITE) {
  os::mapping made = os::mapping::anywhere(bytes, protection, os::backing::shared(descriptor, offset));
  if (!made)
    throw_error(errc::bad_launch, fmt::format("cannot map the job's control block: {}", why_not_mapped(errno)));
  return made;
}

// Returns whether the control block was written by this build and matches its position in the file.
bool is_plausible(const job_control& control, std::uint64_t file_bytes, std::uint64_t control_offset) {
  return control.magic == job_control::expected_magic && control.layout == layout_now &&
         control.total_bytes == file_bytes && control.place_count != 0 && control.place_count <= job::max_places &&
         control.places_here != 0 && control.places_here <= control.place_count && control.host < control.host_count &&
         control.host_count <= control.place_count && control.slice_shift < 48 &&
         std::uint64_t{control.places_here} << control.slice_shift <= control_offset &&
         control.observation_bytes % page_bytes == 0 &&
         least_control_bytes(control.place_count, control.host_count, control.observation_bytes) <=
             file_bytes - control_offset;
}

// Bytes that a place needs besides its heap: channels, and the metadata for the heap's first bytes, on huge pages.
constexpr std::uint64_t beside_heap_bytes = std::uint64_t{20} << 20;

// The layout of a job's memory in a file.
struct layout {
  std::uint32_t slice_shift;
  std::uint64_t control_offset;
  std::uint64_t total_bytes;
};

// The smallest slice if the limit on the size of files makes slices smaller: less than this is of no use.
constexpr std::uint32_t least_slice_shift = 27;

// Halves the slices until the file fits the limit on the size of files (ulimit -f). Hosts of one job must agree on the
// size, so a job over several hosts keeps it.
void fit_file_size_limit(layout& made, std::uint32_t places_here, bool is_of_one_host, std::uint64_t control_bytes) {
  const std::uint64_t limit = file_size_limit();
  const auto bytes_by = [&](std::uint32_t shift) { return (std::uint64_t{places_here} << shift) + control_bytes; };
  std::uint32_t shift = made.slice_shift;
  while (is_of_one_host && bytes_by(shift) > limit && shift > least_slice_shift) --shift;
  if (bytes_by(shift) > limit)
    throw_error(
        errc::bad_launch,
        fmt::format("the memory of {} place{} is a file of {} at least, and the limit on the size of files "
                    "is {}; raise it (ulimit -f), or start fewer places",
                    places_here, places_here == 1 ? "" : "s", format_bytes(bytes_by(shift)), format_bytes(limit)));
  made.slice_shift = shift;
}

// Chooses the layout. On a device slices are as large as it has room for.
layout lay_out(const page_file& file, std::uint32_t places, std::uint32_t places_here, std::uint64_t control_bytes) {
  layout made{slice_shift_for(places), 0, file.capacity_bytes()};
  if (!file.is_device()) {
    fit_file_size_limit(made, places_here, places_here == places, control_bytes);
    made.control_offset = std::uint64_t{places_here} << made.slice_shift;
    made.total_bytes = made.control_offset + control_bytes;
    return made;
  }
  made.control_offset = made.total_bytes - control_bytes;
  while (std::uint64_t{places_here} << made.slice_shift > made.control_offset) --made.slice_shift;
  return made;
}

// Returns the bytes that all segments together may open: at most the memory that exists of this kind.
std::uint64_t budget_of(const job_options& options, const page_file& file, std::uint32_t places_here,
                        std::uint64_t control_bytes) {
  const std::uint64_t asked = options.memory_budget;
  if (file.capacity_bytes() == 0) return asked != 0 ? asked : usable_memory_bytes();
  const std::uint64_t beside = places_here * beside_heap_bytes + control_bytes;
  const std::uint64_t room = file.capacity_bytes() - std::min(file.capacity_bytes(), beside);
  const std::uint64_t most = std::max<std::uint64_t>(room / 64 * 62, 1);  // 1/35 is metadata
  return asked == 0 ? most : std::min(asked, most);
}

}  // namespace

place_slot& job_control::slot(std::uint32_t place) noexcept {
  return reinterpret_cast<place_slot*>(reinterpret_cast<std::byte*>(this) + slots_offset)[place];
}

// A zeroed status is one without waits; constructing it would touch its pages.
place_status& job_control::status(std::uint32_t place) noexcept {
  std::byte* const first = reinterpret_cast<std::byte*>(this) + statuses_offset(place_count, host_count);
  return *reinterpret_cast<place_status*>(first + place * status_bytes);
}

std::span<std::byte> job_control::observation_row(std::uint32_t place) noexcept {
  std::byte* const rows = reinterpret_cast<std::byte*>(this) + rows_offset(place_count, host_count);
  return {rows + place * observation_bytes, observation_bytes};
}

std::span<place_home> job_control::homes() noexcept {
  std::byte* const first = reinterpret_cast<std::byte*>(this) + homes_offset(place_count, host_count);
  return {reinterpret_cast<place_home*>(first), place_count};
}

bool is_here(job_control& control, std::uint32_t place) noexcept { return control.is_here(place); }

std::uint32_t first_place_of(std::span<const place_home> homes, std::uint16_t host) noexcept {
  const auto found = std::find(homes.begin(), homes.end(), place_home{host, 0});
  return static_cast<std::uint32_t>(found - homes.begin());
}
std::uint32_t job_control::first_place_of(std::uint16_t of_host) noexcept {
  return detail::first_place_of(homes(), of_host);
}

std::span<std::byte> job_control::host_room() noexcept {
  std::byte* const first =
      reinterpret_cast<std::byte*>(this) + host_room_offset(place_count, host_count, observation_bytes);
  return {first, bytes_for_hosts(host_count)};
}

std::vector<slice_run> slice_runs(job_control& control) {
  std::vector<slice_run> runs;
  const std::span<const place_home> homes = control.homes();
  for (std::uint32_t place = 0; place < control.place_count; ++place) {
    if (!control.is_here(place)) continue;
    if (!runs.empty() && runs.back().first_place + runs.back().places == place) {
      ++runs.back().places;
    } else {
      runs.push_back({.first_place = place, .places = 1, .first_index = homes[place].index});
    }
  }
  return runs;
}

namespace {

// Creates the file; every failure becomes bad_launch, since there is no job then.
page_file create_file(const memory_kind& kind, std::uint64_t least_bytes) {
  try {
    return page_file::create(kind, std::string{job_file_name}.c_str(), least_bytes);
  } catch (const error& bad) {
    throw_error(errc::bad_launch, bad.message());
  }
}

// Returns the given homes, or those of a job of one host if none are given.
std::vector<place_home> homes_of(const job_options& options) {
  std::vector<place_home> homes = options.homes;
  if (homes.empty())
    for (std::uint32_t p = 0; p < options.place_count; ++p) homes.push_back({0, static_cast<std::uint16_t>(p)});
  return homes;
}

// Checks the homes and returns the number of hosts. Each host has places, numbered in order, as are the slices in its
// file.
std::uint16_t check_homes(const std::vector<place_home>& homes, const job_options& options) {
  std::vector<std::uint32_t> places;
  for (const place_home& each : homes) {
    if (each.host >= places.size()) places.resize(each.host + std::size_t{1});
    if (each.index != places[each.host]++) places.clear();
    if (places.empty()) break;
  }
  if (homes.size() != options.place_count || options.host >= places.size() ||
      std::find(places.begin(), places.end(), 0U) != places.end())
    throw_error(errc::bad_argument, "homes of the places of a job: each host has some, numbered in the places' order");
  return static_cast<std::uint16_t>(places.size());
}

}  // namespace

job job::create(const job_options& options) {
  const std::uint32_t places = options.place_count;
  if (places == 0 || places > max_places)
    throw_error(errc::bad_argument, fmt::format("a job of {} places: ask for 1 to {}", places, max_places));
  const std::vector<place_home> homes = homes_of(options);
  const std::uint16_t hosts = check_homes(homes, options);
  const auto places_here = static_cast<std::uint32_t>(std::count_if(
      homes.begin(), homes.end(), [&options](const place_home& each) { return each.host == options.host; }));
  const memory_kind kind = memory_kind::parse(options.memory);
  if (kind.what && options.memory_intent && *kind.what != *options.memory_intent)
    throw_error(errc::bad_argument, fmt::format("memory of the intent {}, and of the intent {}: give one of them",
                                                kind.what->name(), options.memory_intent->name()));
  const std::uint64_t row_bytes = whole_pages(options.observation_bytes);
  const std::uint64_t least_bytes = least_control_bytes(places, hosts, row_bytes);
  page_file file = create_file(kind, places_here * beside_heap_bytes + least_bytes);
  const std::uint64_t control_bytes = (least_bytes + file.unit() - 1) / file.unit() * file.unit();
  const layout at = lay_out(file, places, places_here, control_bytes);
  file.resize(at.total_bytes);
  file.clear(0, at.total_bytes);
  const std::uint64_t budget = budget_of(options, file, places_here, control_bytes);

  const std::uint64_t unit = file.unit();
  const bool places_by_intent = file.gives_back();
  if (!places_by_intent && (kind.what || options.memory_intent)) refuse_intents(kind.from);

  os::mapping memory = map_control(file.descriptor(), at.control_offset, control_bytes);
  job_control* const control = new (memory.begin()) job_control;
  job made{file.release(), std::move(memory)};
  if (kind.from == memory_kind::source::file || kind.from == memory_kind::source::device)
    made.sign_ = page_file::create({}, fmt::format("{}{}", job_sign, made.descriptor()).c_str()).release();
  control->layout = layout_now;
  control->total_bytes = at.total_bytes;
  control->place_count = places;
  control->places_here = places_here;
  control->host_count = hosts;
  control->host = options.host;
  std::copy(homes.begin(), homes.end(), control->homes().begin());
  control->slice_shift = at.slice_shift;
  control->observation_bytes = row_bytes;
  fill_candidates(*control);
  control->memory_budget = budget;
  if (kind.from == memory_kind::source::node) control->memory_node = kind.node;
  control->file_unit = unit;
  control->file_kind = kind.from;
  control->places_by_intent = places_by_intent;
  control->stack_bytes = options.stack_bytes;
  control->memory_intent = kind.what ? kind.what : options.memory_intent;
  control->oversubscribed = places_here > allowed_processors();
  control->sender_fences = control->oversubscribed || !join_order_of_processes();
  control->stats = options.stats;
  control->trace = options.trace;
  if (options.tells_itself) control->leaving_rounds = job_control::leaving_rounds_that_tell;
  control->progress = options.progress;
  control->checked = options.checked;
  for (std::uint32_t i = 0; i < places + std::uint32_t{hosts > 1}; ++i) new (&control->slot(i)) place_slot;
  new (reinterpret_cast<std::byte*>(control) + control_bytes - sizeof(footer))
      footer{job_control::expected_magic, at.control_offset};
  return made;
}

namespace {

// Rounds a device's size down to whole huge pages.
std::uint64_t whole_units(int descriptor, std::uint64_t bytes) noexcept {
  struct stat status{};
  const bool is_device = ::fstat(descriptor, &status) == 0 && S_ISCHR(status.st_mode);
  return is_device ? bytes / huge_page_bytes * huge_page_bytes : bytes;
}

// Reads the footer; maps the file if it cannot be read (a device).
bool read_footer(int descriptor, std::uint64_t file_bytes, footer& end) noexcept {
  if (::pread(descriptor, &end, sizeof end, static_cast<off_t>(file_bytes - sizeof end)) ==
      static_cast<ssize_t>(sizeof end))
    return true;
  if (file_bytes % huge_page_bytes != 0) return false;
  const os::mapping last =
      os::mapping::anywhere(huge_page_bytes, PROT_READ, os::backing::shared(descriptor, file_bytes - huge_page_bytes));
  if (!last) return false;
  std::memcpy(&end, last.begin() + huge_page_bytes - sizeof end, sizeof end);
  return true;
}

// Maps the control block of an inherited or opened descriptor. Throws bad_launch if it is no job of this build.
os::mapping map_job(int descriptor, int protection) {
  footer end{};
  const auto refuse = [descriptor](const char* why) {
    throw_error(
        errc::bad_launch,
        fmt::format(
            "descriptor {} is not the memory of a job ({}); start the program with `situ run`, or without "
            "SITU_JOB_FD in its environment, and make the situ::runtime before closing descriptors that it inherits",
            descriptor, why));
  };
  // whole huge pages of a device
  const std::uint64_t file_bytes = whole_units(descriptor, bytes_of_file(descriptor));
  if (file_bytes == 0) refuse("it is not an open file");
  if (file_bytes < 2 * page_bytes || file_bytes % page_bytes != 0) refuse("its size is none that a job has");
  if (!read_footer(descriptor, file_bytes, end) || end.magic != job_control::expected_magic ||
      end.control_offset % page_bytes != 0 || end.control_offset > file_bytes - rows_offset(1, 1))
    refuse("it does not end as a job does");

  const std::uint64_t control_bytes = file_bytes - end.control_offset;
  os::mapping made = map_control(descriptor, end.control_offset, control_bytes, protection);
  if (!is_plausible(*reinterpret_cast<const job_control*>(made.begin()), file_bytes, end.control_offset))
    refuse("launcher and program are built from different versions of Situ");
  return made;
}

}  // namespace

job job::attach(int descriptor) {
  os::mapping mapped = map_job(descriptor, PROT_READ | PROT_WRITE);
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  job made{os::descriptor{descriptor}, std::move(mapped)};
  job_control& control = made.control();
  // Before the votes on the base, so every place sees the outcome before it sends a message.
  if (!control.sender_fences && !join_order_of_processes()) std::atomic_ref{control.sender_fences}.store(true);
  return made;
}

job job::look_at(os::descriptor file) {
  os::mapping mapped = map_job(file.number(), PROT_READ);
  return job{std::move(file), std::move(mapped)};
}

void job::close_descriptor() noexcept {
  file_.close();
  sign_.close();
}

}  // namespace situ::detail
