// The banks of a memory: a row of each can be open, and a refresh stops the banks of a rank and closes their rows.
//
// An access to a burst finds the row open that it needs (a hit: access_time - tRCD), no row open (access_time), or
// another one (a conflict: access_time + tRP). Then it waits for the channel, which it occupies for `occupancy`. The
// bank is busy from the first command until the burst leaves the channel. A row stays open for tRAS at least. With
// page_policy = "closed" each access closes its row: the bank is busy until the precharge ends.
//
//     conflict   | tRAS | tRP precharge | tRCD activate | burst |       the bank
//                                                       | burst |       the channel, from the column's command on
//                                                       | access_time - tRCD ... done
//
// 1. A rank is refreshed for tRFC at the end of each tREFI; ranks of a channel take turns. Nothing is stored for that:
//    the banks count the time in which no refresh runs, and rank_clock converts. So a refresh in the midst of an access
//    suspends it.
// 2. An access finds the row that the last call has left, whatever the order of their times: a late request that takes a
//    gap before it finds a row open that is opened only later. A row is closed by a refresh between the bank's last use
//    and the time at which an access in order would begin.
//
// Worked example (one channel, 2 banks, rows of 128 bytes, bursts of 64, access_time 50 ns, occupancy 5, tRCD 15, tRP 12,
// tRAS 30, all at 1000 ns and later): byte 0 at 1000 is done at 1050, a closed row, the bank is busy until 1020; byte 64
// at 1020 is a hit, done at 1055; byte 128 is of the other bank. Byte 256 at 1025 is of another row of the first bank: the
// row was opened at 1000, so the precharge waits until 1030, and the access is done at 1030 + 12 + 50 = 1092.
//
// Not thread-safe. cost: two busy_calendar reservations an access, some divisions.
#pragma once

#include "model/parts/busy_calendar.h"
#include "model/parts/counters.h"
#include "model/parts/machine_spec.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace situ::model {

// The time of a rank without its refreshes.
class rank_clock {
 public:
  // `ahead`: how much earlier than the first rank this one is refreshed.
  rank_clock(const bank_spec& spec, time_ps ahead)
      : interval_{spec.trefi}, runs_{spec.trefi - spec.trfc}, ahead_{ahead} {}

  // Returns how long the rank has run until `time`.
  [[nodiscard]] time_ps running(time_ps time) const noexcept {
    if (interval_ == 0) return time;
    time += ahead_;
    return time / interval_ * runs_ + std::min(time % interval_, runs_);
  }
  // Returns the time at which the rank has run for so long, and runs.
  [[nodiscard]] time_ps time_of(time_ps running) const noexcept {
    return interval_ == 0 ? running : running / runs_ * interval_ + running % runs_ - ahead_;
  }
  // Returns the number of refreshes until then.
  [[nodiscard]] std::uint64_t refreshes(time_ps running) const noexcept { return interval_ == 0 ? 0 : running / runs_; }

 private:
  time_ps interval_;
  time_ps runs_;
  time_ps ahead_;
};

class memory_banks {
 public:
  // A bank of the memory, and a row of the bank.
  struct place {
    std::size_t bank = 0;
    std::uint64_t row = 0;
    friend bool operator==(const place&, const place&) = default;
  };

  // pre: of.rows.banks > 0, and the figures are those that read_banks() allows.
  explicit memory_banks(const memory_spec& of)
      : spec_{of.rows},
        channels_{of.channels},
        of_channel_{std::size_t{of.rows.ranks} * of.rows.banks},
        bursts_{of.rows.row_bytes / of.burst_bytes},
        burst_time_{of.occupancy},
        after_column_{of.access_time - of.rows.trcd},
        banks_(of_channel_ * of.channels) {
    for (std::uint32_t rank = 0; rank < spec_.ranks; ++rank)
      clocks_.emplace_back(spec_, spec_.trefi * rank / spec_.ranks);
  }

  // Reads or writes the n-th burst of the memory over its channel. Returns when it is done.
  time_ps serve(std::uint64_t n, busy_calendar& channel, time_ps now) noexcept {
    const place at = place_of(n);
    bank& of = banks_[at.bank];
    const rank_clock& clock = clocks_[at.bank % of_channel_ / spec_.banks];
    const time_ps from = clock.running(now);
    const steps takes = steps_of(of, at.row, clock, std::max(from, of.times.free_from()));
    const time_ps length = takes.till_column + from_column_on(0);
    const time_ps begin = of.times.take(from, length);
    const time_ps column = begin + takes.till_column;
    const time_ps ready = clock.time_of(column);
    refresh_wait_ += ready - now - (column - from);
    const time_ps data = channel.take(ready, burst_time_);
    if (data > ready)
      of.times.lengthen(begin + length, from_column_on(clock.running(data) - column) - from_column_on(0));
    if (takes.activates) of.activated = column - spec_.trcd;
    of.row = at.row;
    of.refreshes = clock.refreshes(clock.running(data));
    return data + after_column_;
  }

  // Returns where a burst lies.
  [[nodiscard]] place place_of(std::uint64_t n) const noexcept {
    const std::uint64_t in_channel = n / channels_;
    place at;
    if (spec_.mapping == machine::address_mapping::row_column_bank) {
      at = {.bank = in_channel % of_channel_, .row = in_channel / of_channel_ / bursts_};
    } else {
      at = {.bank = in_channel / bursts_ % of_channel_, .row = in_channel / bursts_ / of_channel_};
      if (spec_.mapping == machine::address_mapping::permutation) at.bank ^= at.row & (of_channel_ - 1);
    }
    at.bank += n % channels_ * of_channel_;
    return at;
  }

  [[nodiscard]] time_ps waited() const noexcept {
    time_ps sum = 0;
    for (const bank& each : banks_) sum += each.times.waited();
    return sum;
  }
  [[nodiscard]] std::uint64_t too_late() const noexcept {
    std::uint64_t sum = 0;
    for (const bank& each : banks_) sum += each.times.too_late();
    return sum;
  }
  void append_counters(part_counters& to) const {
    to.values.emplace_back("row_hits", hits_);
    to.values.emplace_back("row_closed", closed_);
    to.values.emplace_back("row_conflicts", conflicts_);
    to.values.emplace_back("refresh_wait_ps", refresh_wait_);
  }
  void reset_counters() noexcept {
    for (bank& each : banks_) each.times.reset();
    hits_ = closed_ = conflicts_ = refresh_wait_ = 0;
  }

 private:
  static constexpr std::uint64_t no_row = ~std::uint64_t{0};
  struct bank {
    busy_calendar times;  // in the rank's running time, as `activated`
    std::uint64_t row = no_row;
    time_ps activated = 0;
    std::uint64_t refreshes = 0;  // of its rank until its last use
  };
  // The commands of an access to its bank before the one for the column.
  struct steps {
    time_ps till_column = 0;
    bool activates = true;
  };

  // Returns what an access takes that begins at `start`; counts it.
  steps steps_of(const bank& of, std::uint64_t row, const rank_clock& clock, time_ps start) noexcept {
    if (spec_.closes_rows) {
      ++closed_;
      return {.till_column = spec_.trcd};
    }
    if (of.row == no_row || clock.refreshes(start) > of.refreshes) {
      ++closed_;
      return {.till_column = spec_.trcd};
    }
    if (of.row == row) {
      ++hits_;
      return {.till_column = 0, .activates = false};
    }
    ++conflicts_;
    const time_ps stays = std::max(start, of.activated + spec_.tras) - start;
    return {.till_column = stays + spec_.trp + spec_.trcd};
  }
  // Returns how long an access occupies its bank from the column's command on, if its burst waits for the channel.
  [[nodiscard]] time_ps from_column_on(time_ps wait) const noexcept {
    if (!spec_.closes_rows) return wait + burst_time_;
    return std::max(wait + burst_time_, spec_.tras - std::min(spec_.tras, spec_.trcd)) + spec_.trp;
  }

  bank_spec spec_;
  std::uint64_t channels_;
  std::size_t of_channel_;  // banks of all ranks of a channel
  std::uint64_t bursts_;    // of a row
  time_ps burst_time_;
  time_ps after_column_;  // from the column's command to the end of the access
  std::vector<rank_clock> clocks_;
  std::vector<bank> banks_;  // channel after channel, rank after rank
  std::uint64_t hits_ = 0;
  std::uint64_t closed_ = 0;
  std::uint64_t conflicts_ = 0;
  time_ps refresh_wait_ = 0;
};

}  // namespace situ::model
