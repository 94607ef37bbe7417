// The memory of a job over several hosts, as one of them has it: its own slices, and addresses of the others'.
#include <situ/fabric/detail/endpoint.h>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "cluster/host_words.h"
#include "memory/job.h"
#include "memory/segment.h"

#include "os/descriptor.h"
#include "support/endpoints.h"
#include "support/places.h"

namespace situ {
namespace {

using detail::address_space;
using detail::job;
using detail::job_control;
using detail::place_home;
using test::error_of;

// Places 0, 1 and 3 are of the first host, 2 and 4 of the second.
const std::vector<place_home> homes{{0, 0}, {0, 1}, {1, 0}, {0, 2}, {1, 1}};

job job_at(std::uint16_t host) { return job::create({.place_count = 5, .homes = homes, .host = host}); }

std::uintptr_t slice(const job& of, const address_space& space, std::uint32_t place) {
  return space.base() + (std::uintptr_t{place} << of.control().slice_shift);
}

// Whether the kernel can read there; who reads by themselves would not live.
bool can_read(std::uintptr_t address) {
  const os::pipe_ends ends = os::pipe_ends::make();
  EXPECT_TRUE(ends);
  const bool can = ::write(ends.write.number(), reinterpret_cast<const void*>(address), 1) == 1;
  EXPECT_TRUE(can || errno == EFAULT);
  return can;
}

TEST(job_over_hosts, its_file_holds_the_slices_of_its_own_places) {
  for (const std::uint16_t host : {0, 1}) {
    const job mine = job_at(host);
    job_control& control = mine.control();
    EXPECT_EQ(control.places_here, host == 0 ? 3U : 2U);
    EXPECT_EQ(control.host_count, 2);
    const address_space space = address_space::map(mine, 5);
    EXPECT_EQ(space.bytes(), std::uint64_t{5} << control.slice_shift);
    for (std::uint32_t place = 0; place < 5; ++place) {
      EXPECT_EQ(control.is_here(place), homes[place].host == host);
      EXPECT_EQ(can_read(slice(mine, space, place)), homes[place].host == host) << place;
      EXPECT_EQ(can_read(slice(mine, space, place + 1) - 1), homes[place].host == host) << place;
      if (homes[place].host != host) continue;
      const std::uint64_t written = 7 + place;
      *reinterpret_cast<std::uint64_t*>(slice(mine, space, place)) = written;
      std::uint64_t there = 0;
      const auto offset = static_cast<off_t>(std::uint64_t{homes[place].index} << control.slice_shift);
      EXPECT_EQ(::pread(mine.descriptor(), &there, sizeof there, offset), 8);
      EXPECT_EQ(there, written);
    }
  }
}

TEST(job_over_hosts, hosts_have_one_geometry_and_try_the_same_bases) {
  const job first = job_at(0);
  const job second = job_at(1);
  EXPECT_EQ(first.control().slice_shift, second.control().slice_shift);
  for (std::uint32_t i = 0; i < job_control::address_rounds; ++i)
    EXPECT_EQ(first.control().candidates[i], second.control().candidates[i]);
  const std::uintptr_t base = address_space::map(first, 5).base();
  EXPECT_EQ(address_space::map(second, 5).base(), base);
}

TEST(job_over_hosts, slices_are_mapped_in_as_few_runs_as_there_are) {
  const auto shape = [](const job& of) {
    std::vector<std::array<std::uint32_t, 3>> found;
    for (const detail::slice_run& run : detail::slice_runs(of.control()))
      found.push_back({run.first_place, run.places, run.first_index});
    return found;
  };
  using runs = std::vector<std::array<std::uint32_t, 3>>;
  EXPECT_EQ(shape(job_at(0)), (runs{{0, 2, 0}, {3, 1, 2}}));
  EXPECT_EQ(shape(job_at(1)), (runs{{2, 1, 0}, {4, 1, 1}}));
  EXPECT_EQ(shape(job::create({.place_count = 3})), (runs{{0, 3, 0}}));
}

TEST(job_over_hosts, who_attaches_finds_the_same) {
  const job made = job_at(1);
  address_of(made.control(), 0).bytes = 3;
  address_of(made.control(), 1).bytes = 4;
  made.control().slot(5).sleeping.store(9);  // the server's
  const job other = job::attach(::fcntl(made.descriptor(), F_DUPFD_CLOEXEC, 3));
  EXPECT_TRUE(std::equal(homes.begin(), homes.end(), other.control().homes().begin()));
  EXPECT_EQ(other.control().host, 1);
  EXPECT_EQ(other.control().first_place_of(0), 0U);
  EXPECT_EQ(other.control().first_place_of(1), 2U);
  EXPECT_EQ(address_of(other.control(), 0).bytes, 3U);
  EXPECT_EQ(address_of(other.control(), 1).bytes, 4U);
  EXPECT_EQ(other.control().slot(5).sleeping.load(), 9U);
  EXPECT_EQ(other.control().slot(4).sleeping.load(), 0U);
  EXPECT_EQ(other.control().homes()[0], (place_home{0, 0}));
}

TEST(job_over_hosts, a_job_of_one_host_has_all_places) {
  const job made = job::create({.place_count = 3});
  EXPECT_EQ(made.control().places_here, 3U);
  EXPECT_EQ(made.control().host_count, 1);
  EXPECT_TRUE(made.control().is_here(2));
  EXPECT_EQ(made.control().homes()[2], (place_home{0, 2}));
}

TEST(job_over_hosts, homes_that_are_none_are_refused) {
  const auto refused = [](const std::vector<place_home>& given, std::uint16_t host) {
    const auto e = error_of([&] { (void)job::create({.place_count = 2, .homes = given, .host = host}); });
    return e.code == errc::bad_argument && e.says("homes");
  };
  EXPECT_TRUE(refused({{0, 0}}, 0));          // of one place
  EXPECT_TRUE(refused({{0, 0}, {0, 0}}, 0));  // of which two are the same
  EXPECT_TRUE(refused({{0, 1}, {0, 0}}, 0));  // not in order
  EXPECT_TRUE(refused({{0, 0}, {2, 0}}, 0));  // a host without places
  EXPECT_TRUE(refused({{0, 0}, {1, 0}}, 2));  // a host that is none
  EXPECT_TRUE(refused({{1, 0}, {1, 1}}, 1));  // the first host without places
}

// Without a network of its own, which is what joins hosts, a place has nobody elsewhere.
TEST(job_over_hosts, no_message_goes_to_another_host_without_a_network) {
  const job mine = job_at(0);
  const address_space space = address_space::map(mine, 5);
  job_control& control = mine.control();
  std::array<std::uint64_t, 5> limits{};
  detail::place_context context;
  context.base = space.base();
  context.slice_shift = control.slice_shift;
  context.slice_mask = (std::uint64_t{1} << control.slice_shift) - 1;
  context.heap_offset = detail::segment::heap_offset(control, detail::endpoint::channel_bytes(5));
  context.limit = limits.data();
  context.place_count = context.callable_places = 5;
  context.job = &control;
  detail::endpoint self{context, 0};
  const test::acting_as place{context};
  const std::uint64_t argument = 1;
  const auto send_to = [&](std::uint32_t place) {
    return error_of([&] { self.send_short(self.requests_to(place), 1, &argument, 1); });
  };
  for (const std::uint32_t place : {2U, 4U}) {
    const auto e = send_to(place);
    EXPECT_EQ(e.code, errc::place_lost) << e.text;
    EXPECT_EQ(error_of([&] { (void)self.begin(self.requests_to(place), 9, 100); }).code, errc::place_lost);
  }
  EXPECT_NO_THROW(self.send_short(self.requests_to(3), 1, &argument, 1));
}

}  // namespace
}  // namespace situ
