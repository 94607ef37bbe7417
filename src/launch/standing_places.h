// The launcher of a job over several hosts collects the states, waits and collectives of all places
// (memory/place_status.h), which the agents send place by place. It has a control block of its own, with room for all
// places, and reports from that block as it reports of a job on its own host (standstill.h).
//
// Both ends are the same build, so the bytes are those of structs; lengths and names are checked. Belongs to one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launch/standstill.h"
#include "memory/job.h"

namespace situ::detail {

// Returns what the place shows now, which may run meanwhile. pre: a place of this host.
[[nodiscard]] std::vector<std::byte> pack_status(job_control& control, std::uint32_t place);
// Stores it, with its times on this host's clock. Throws bad_message for bytes of another form. pre: a place of the
// job, and no other thread uses the control block.
void take_status(job_control& control, std::uint32_t place, std::span<const std::byte> bytes);

class standing_places {
 public:
  using clock = std::chrono::steady_clock;
  struct request {
    std::string why;
    bool is_shown = false;          // to the user: agents show their own before they end their places
    bool is_of_standstill = false;  // then the job is ended
  };

  // The report comes, from the hosts that answer, until `ends`. places: of each host. answers: for each host.
  standing_places(request what, std::span<const std::uint32_t> places, const std::vector<bool>& answers,
                  clock::time_point ends);

  // Takes what a place shows. Returns true if this was the last. Throws bad_message. pre: a place of the job.
  [[nodiscard]] bool take(std::uint32_t place, std::span<const std::byte> bytes);
  [[nodiscard]] clock::time_point ends() const noexcept { return ends_; }
  [[nodiscard]] const request& what() const noexcept { return what_; }
  // Returns the control block with all that has come.
  [[nodiscard]] job_control& control() const noexcept { return all_.control(); }
  // Returns a table of the places of one host.
  [[nodiscard]] std::string table(std::uint16_t host) const;

 private:
  request what_;
  job all_;
  clock::time_point ends_;
  std::vector<bool> has_come_;
  std::uint32_t missing_ = 0;
};

}  // namespace situ::detail
