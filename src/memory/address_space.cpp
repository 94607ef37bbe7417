// The addresses of a job: every process maps the job's file at the base that all have agreed on (job.h).
#include <situ/base/detail/test_points.h>
#include <situ/base/error.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <optional>
#include <utility>

#include "memory/job.h"
#include "memory/liveness.h"
#include "os/host.h"
#include "os/mapping.h"
#include "os/mapping_error.h"
#include "pages/page_file.h"

namespace situ::detail {
namespace {

// Tries to map at one base: the slices of this host, and the addresses of the others without access. Returns an empty
// mapping, with errno, if other memory is mapped there.
os::mapping try_base(const job& job, std::uintptr_t base, std::uint64_t bytes) {
  job_control& control = job.control();
  constexpr int access = PROT_READ | PROT_WRITE;
  void* const begin = reinterpret_cast<void*>(base);
  const bool is_whole = control.places_here == control.place_count;
  if (is_whole) return os::mapping::at_free(begin, bytes, access, os::backing::shared(job.descriptor()).uncommitted());
  os::mapping range = os::mapping::at_free(begin, bytes, PROT_NONE, os::backing::zeros());
  if (!range) return range;
  const std::uint32_t shift = control.slice_shift;
  for (const slice_run& run : slice_runs(control)) {
    void* const wanted = reinterpret_cast<void*>(base + (std::uintptr_t{run.first_place} << shift));
    const std::uint64_t offset = std::uint64_t{run.first_index} << shift;
    if (!os::map_over(wanted, std::uint64_t{run.places} << shift, access,
                      os::backing::shared(job.descriptor(), offset).uncommitted()))
      return {};
  }
  return range;
}

// Waits until every place has voted in a round.
void await_votes(job_control& control, std::uint32_t round) {
  constexpr std::int64_t look_up_ns = 50'000'000;  // a loss does not touch the word slept on
  std::atomic<std::uint32_t>& votes = control.votes[round];
  for (;;) {
    const std::uint32_t seen = votes.load(std::memory_order_acquire);
    if (seen >= control.place_count) return;
    if (SITU_LOSS_CHECK(votes) && control.failure_epoch.load(std::memory_order_acquire) != 0)
      throw_place_lost(control, job_control::no_place);
    wait_on_word(votes, seen, look_up_ns);
  }
}

}  // namespace

std::optional<address_space> address_space::map_at(const job& job, std::uintptr_t base) {
  const job_control& control = job.control();
  const std::uint64_t bytes = std::uint64_t{control.place_count} << control.slice_shift;
  os::mapping range = try_base(job, base, bytes);
  if (!range) return {};
  // Most of the range is never touched, and a core dump would walk all of it before the launcher learns of the death.
  ::madvise(range.begin(), bytes, MADV_DONTDUMP);
  return address_space{std::move(range)};
}

address_space address_space::map(const job& job, std::uint32_t votes) {
  job_control& control = job.control();
  const std::uint64_t bytes = std::uint64_t{control.place_count} << control.slice_shift;
  int refused = EEXIST;  // why this process could not map; EEXIST stands for another process's failure
  for (std::uint32_t round = 0; round < job_control::address_rounds; ++round) {
    const std::uint64_t base = control.candidates[round];
    std::optional<address_space> space = map_at(job, base);
    if (!space) refused = errno;
    SITU_POINT(base_mapped);
    if (!space) control.rejections[round].fetch_add(votes);
    if (control.votes[round].fetch_add(votes) + votes >= control.place_count)
      wake_on_word(control.votes[round], INT_MAX);
    SITU_POINT(vote_cast);
    await_votes(control, round);
    if (control.rejections[round].load() != 0) continue;
    if (control.memory_node != job_control::no_node)
      for (const slice_run& run : slice_runs(control))
        prefer_node_for_file(control.memory_node,
                             reinterpret_cast<void*>(base + (std::uintptr_t{run.first_place} << control.slice_shift)),
                             std::uint64_t{run.places} << control.slice_shift);
    return std::move(*space);
  }
  throw_error(errc::bad_launch,
              refused == EEXIST
                  ? fmt::format("no range of {} GiB of addresses is free in every process of the job; ask "
                                "for fewer places, and see that no limit on address space is set in the "
                                "others (ulimit -v)",
                                bytes >> 30)
                  : fmt::format("the {} GiB of addresses of the job's places cannot be mapped: {}", bytes >> 30,
                                why_not_mapped(refused)));
}

}  // namespace situ::detail
