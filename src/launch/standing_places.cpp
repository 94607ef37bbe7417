#include "launch/standing_places.h"

#include <situ/base/error_code.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "cluster/survivors_words.h"
#include "os/bytes.h"
#include "os/host.h"

namespace situ::detail {
namespace {

constexpr auto loosely = std::memory_order_relaxed;

// Precedes the waits of a place.
struct status_head {
  std::uint64_t now_ns = 0;  // by the clock of the place's host
  std::uint64_t round = 0;   // of survivors()
  std::uint64_t rest = 0;
  std::uint64_t unrecorded = 0;
  std::uint32_t state = 0;
  std::uint32_t waits = 0;
  std::uint32_t names = 0;
  std::uint32_t text_bytes = 0;
};

// A wait_record whose wait lasts.
struct packed_wait {
  std::uint64_t state = 0;
  std::uint64_t since_ns = 0;
  std::uint64_t subject = 0;
  std::uint64_t number = 0;
  std::uint32_t peer = 0;
  std::uint32_t line = 0;
  std::uint32_t file = 0;
  std::uint32_t task = 0;
  std::uint64_t is_main = 0;
};

struct packed_team {
  std::uint64_t id = 0;
  std::uint64_t begun = 0;
  std::uint64_t last = 0;
  std::uint64_t members = 0;
};

[[noreturn]] void refuse_status() { throw_error(errc::bad_message, "what a place shows of itself does not fit"); }

packed_wait read_record(const wait_record& record) {
  packed_wait wait{.state = record.state.load(std::memory_order_acquire),
                   .since_ns = record.since_ns.load(std::memory_order_acquire),
                   .subject = record.subject.load(loosely),
                   .number = record.number.load(loosely),
                   .peer = record.peer.load(loosely),
                   .line = record.line.load(loosely),
                   .file = record.file.load(loosely),
                   .task = record.task.load(loosely),
                   .is_main = record.is_main.load(loosely)};
  std::atomic_thread_fence(std::memory_order_acquire);
  if (record.state.load(loosely) != wait.state) wait.state = 0;  // it ended during the read
  return wait;
}

void write_record(const packed_wait& wait, std::uint64_t behind_ns, wait_record& record) {
  record.since_ns.store(wait.since_ns == 0 ? 0 : std::max(wait.since_ns + behind_ns, std::uint64_t{1}), loosely);
  record.subject.store(wait.subject, loosely);
  record.number.store(wait.number, loosely);
  record.peer.store(wait.peer, loosely);
  record.line.store(wait.line, loosely);
  record.file.store(wait.file, loosely);
  record.task.store(wait.task, loosely);
  record.is_main.store(static_cast<std::uint32_t>(wait.is_main), loosely);
  record.state.store(wait.state, loosely);
}

void take_names(os::byte_reader& from, const status_head& head, name_table& names) {
  std::vector<std::uint32_t> ends(head.names);
  from.fill(std::span{ends});
  const std::string_view text = from.take_text(head.text_bytes);
  if (from.has_failed() || !std::is_sorted(ends.begin(), ends.end()) || text.size() != (ends.empty() ? 0 : ends.back()))
    refuse_status();
  for (std::size_t i = 0; i < ends.size(); ++i) names.ends[i].store(ends[i], loosely);
  std::memcpy(names.text, text.data(), text.size());
  names.count.store(head.names, loosely);
}

job make_block(std::span<const std::uint32_t> places) {
  std::vector<place_home> homes;
  for (std::size_t host = 0; host < places.size(); ++host)
    for (std::uint32_t i = 0; i < places[host]; ++i)
      homes.push_back({static_cast<std::uint16_t>(host), static_cast<std::uint16_t>(i)});
  const auto count = static_cast<std::uint32_t>(homes.size());
  job made = job::create({.place_count = count, .homes = std::move(homes)});
  made.close_descriptor();  // no process joins it
  return made;
}

}  // namespace

std::vector<std::byte> pack_status(job_control& control, std::uint32_t place) {
  place_status& status = control.status(place);
  place_slot& slot = control.slot(place);
  std::vector<packed_wait> waits;
  for (const wait_record& record : status.waits)
    if (const packed_wait wait = read_record(record); wait.state != 0) waits.push_back(wait);
  // After the waits: then all names that they use are there.
  const std::uint32_t names = std::min(status.names.count.load(std::memory_order_acquire), name_table::most_names);
  std::vector<std::uint32_t> ends;
  for (std::uint32_t i = 0; i < names; ++i) ends.push_back(status.names.ends[i].load(loosely));
  const std::size_t text_bytes = ends.empty() ? 0 : std::min<std::size_t>(ends.back(), sizeof status.names.text);
  const status_head head{.now_ns = steady_ns(),
                         .round = slot.survivors.words().round.load(),
                         .rest = status.rest.load(std::memory_order_acquire),
                         .unrecorded = status.waits_unrecorded.load(loosely),
                         .state = static_cast<std::uint32_t>(slot.state.load(std::memory_order_acquire)),
                         .waits = static_cast<std::uint32_t>(waits.size()),
                         .names = names,
                         .text_bytes = static_cast<std::uint32_t>(text_bytes)};
  std::vector<std::byte> made;
  os::byte_writer to{made};
  to.add(head).add_bytes(std::as_bytes(std::span{waits}));
  for (const team_record& each : status.teams)
    to.add(packed_team{.id = each.id.load(std::memory_order_acquire),
                       .begun = each.begun.load(loosely),
                       .last = each.last.load(loosely),
                       .members = each.members.load(loosely)});
  to.add_bytes(std::as_bytes(std::span{ends})).add_text({status.names.text, text_bytes});
  return made;
}

void take_status(job_control& control, std::uint32_t place, std::span<const std::byte> bytes) {
  os::byte_reader from{bytes};
  status_head head;
  if (!from.take(head) || head.state > static_cast<std::uint32_t>(place_state::gone) ||
      head.waits > place_status::most_waits || head.names > name_table::most_names ||
      head.text_bytes > sizeof(name_table::text))
    refuse_status();
  std::vector<packed_wait> waits(head.waits);
  from.fill(std::span{waits});
  std::vector<packed_team> teams(place_status::most_teams);
  from.fill(std::span{teams});
  place_status& status = control.status(place);
  take_names(from, head, status.names);
  if (!from.is_done()) refuse_status();
  const std::uint64_t behind_ns = steady_ns() - head.now_ns;  // unsigned: either clock may be ahead
  for (std::uint32_t i = 0; i < place_status::most_waits; ++i)
    write_record(i < head.waits ? waits[i] : packed_wait{}, behind_ns, status.waits[i]);
  for (std::uint32_t i = 0; i < place_status::most_teams; ++i) {
    status.teams[i].begun.store(teams[i].begun, loosely);
    status.teams[i].last.store(teams[i].last, loosely);
    status.teams[i].members.store(static_cast<std::uint32_t>(teams[i].members), loosely);
    status.teams[i].id.store(teams[i].id, loosely);
  }
  status.rest.store(head.rest, loosely);
  status.waits_unrecorded.store(head.unrecorded, loosely);
  place_slot& slot = control.slot(place);
  slot.survivors.words().round.store(head.round);
  slot.state.store(static_cast<place_state>(head.state));
}

standing_places::standing_places(request what, std::span<const std::uint32_t> places, const std::vector<bool>& answers,
                                 clock::time_point ends)
    : what_{std::move(what)}, all_{make_block(places)}, ends_{ends}, has_come_(control().place_count) {
  const std::vector<place_home> homes{control().homes().begin(), control().homes().end()};
  for (std::uint32_t place = 0; place < homes.size(); ++place) {
    if (answers[homes[place].host]) {
      ++missing_;
    } else {
      control().slot(place).state.store(place_state::lost);
    }
  }
}

bool standing_places::take(std::uint32_t place, std::span<const std::byte> bytes) {
  take_status(control(), place, bytes);
  if (!has_come_[place] && missing_ > 0) --missing_;
  has_come_[place] = true;
  return missing_ == 0;
}

std::string standing_places::table(std::uint16_t host) const {
  control().host = host;  // a report shows the places of one host
  return format_report(control());
}

}  // namespace situ::detail
