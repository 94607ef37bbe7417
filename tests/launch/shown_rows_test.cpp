// What places show goes to another control block, where the table is the same.
#include "launch/shown_rows.h"

#include <situ/base/error.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "fabric/observe.h"
#include "memory/job.h"
#include "memory/place_status.h"
#include "support/places.h"

namespace situ {
namespace {

using namespace detail;

constexpr std::uint32_t places = 3;

job observed_job() {
  return job::create(
      {.place_count = places, .observation_bytes = observation_bytes(places, true), .stats = true, .trace = true});
}

void write_event(job_control& control, std::uint32_t place, std::uint64_t number, const trace_event& event) {
  std::byte* const row = control.observation_row(place).data();
  auto* const header = reinterpret_cast<row_header*>(row);
  const std::size_t first = sizeof(row_header) + places * sizeof(pair_counts) + ring_capacity * sizeof(trace_event);
  std::memcpy(row + first + number % ring_capacity * sizeof event, &event, sizeof event);
  header->others = number + 1;
}

void fill(job_control& control, std::uint32_t place) {
  for (std::uint32_t to = 0; to < places; ++to) {
    auto& counts = const_cast<pair_counts&>(counts_of_place(control, place)[to]);
    counts.puts = 10 * place + to + 1;
    counts.put_bytes = 1000 * counts.puts;
  }
  placed_row* const row = control.status(place).placed.find_or_add("bandwidth", "node 0");
  row->bytes.store(4096);
  row->most.store(std::uint64_t{place + 1} << 20);
  for (std::uint64_t i = 0; i < 5; ++i)
    write_event(
        control, place, i,
        {.begin_ns = 1000 * i + place, .end_ns = 1000 * i + place + 10, .peer = place, .kind = event_kind::task});
}

std::vector<trace_event> events_of(job_control& control, std::uint32_t place) {
  std::vector<trace_event> all;
  for (const std::span<const trace_event>& run : events_of_place(control, place).runs)
    all.insert(all.end(), run.begin(), run.end());
  return all;
}

// More events than a ring holds: the first seven are gone.
void overfill(job_control& control, std::uint32_t place) {
  for (std::uint64_t i = 0; i < ring_capacity + 7; ++i)
    write_event(control, place, i, {.begin_ns = i, .end_ns = i + 1});
}
void expect_the_last_events(job_control& control, std::uint32_t place) {
  const std::vector<trace_event> events = events_of(control, place);
  ASSERT_EQ(events.size(), ring_capacity);
  for (std::uint64_t i = 0; i < ring_capacity; ++i) ASSERT_EQ(events[i].begin_ns, i + 7);
}

TEST(shown_rows, make_the_same_table_elsewhere) {
  const job there = observed_job();
  const job here = observed_job();
  for (std::uint32_t place = 0; place < places; ++place) {
    fill(there.control(), place);
    send_rows(there.control(), place,
              [&](const std::vector<std::byte>& piece) { take_row_piece(here.control(), place, piece); });
  }
  const std::string table = format_statistics(here.control());
  EXPECT_EQ(table, format_statistics(there.control()));
  EXPECT_NE(table.find("3.0 MiB"), std::string::npos) << table;
  for (std::uint32_t place = 0; place < places; ++place) {
    const std::vector<trace_event> events = events_of(here.control(), place);
    ASSERT_EQ(events.size(), 5U);
    EXPECT_EQ(events[4].begin_ns, 4000U + place);
  }
}

TEST(shown_rows, a_ring_that_is_full_comes_whole) {
  const job there = observed_job();
  const job here = observed_job();
  overfill(there.control(), 1);
  std::size_t pieces = 0;
  send_rows(there.control(), 1, [&](const std::vector<std::byte>& piece) {
    ++pieces;
    EXPECT_LE(piece.size(), std::size_t{1} << 20);
    take_row_piece(here.control(), 1, piece);
  });
  EXPECT_GT(pieces, 7U);
  expect_the_last_events(here.control(), 1);
}

TEST(shown_rows, are_fetched_as_they_are_sent) {
  const job there = observed_job();
  const job here = observed_job();
  for (std::uint32_t place = 0; place < places; ++place) fill(there.control(), place);
  overfill(there.control(), 1);
  for (std::uint32_t place = 0; place < places; ++place) {
    std::uint64_t read = 0;
    fetch_rows(here.control(), place, [&](shown_part of, std::uint64_t offset, std::span<std::byte> to) {
      read += to.size();
      const std::span<const std::byte> from = shown_bytes(there.control(), place, of).subspan(offset, to.size());
      std::memcpy(to.data(), from.data(), to.size());
    });
    if (place != 1) {
      EXPECT_LT(read, std::uint64_t{1} << 18);  // what is empty is not asked for
    }
  }
  EXPECT_EQ(format_statistics(here.control()), format_statistics(there.control()));
  expect_the_last_events(here.control(), 1);
}

// What has come of a place before the way to it ended is not shown.
TEST(shown_rows, are_forgotten) {
  const job here = observed_job();
  const job empty = observed_job();
  fill(here.control(), 1);
  forget_rows(here.control(), 1);
  EXPECT_EQ(format_statistics(here.control()), format_statistics(empty.control()));
  EXPECT_TRUE(events_of(here.control(), 1).empty());
}

// More memories than a place can show.
TEST(shown_rows, that_do_not_fit_are_refused) {
  const job here = observed_job();
  const auto e = test::error_of([&] {
    fetch_rows(here.control(), 1,
               [](shown_part, std::uint64_t, std::span<std::byte> to) { std::memset(to.data(), 0xff, to.size()); });
  });
  EXPECT_EQ(e.code, errc::bad_message);
}

TEST(shown_rows, clocks_are_brought_together) {
  const job here = observed_job();
  fill(here.control(), 0);
  // Ahead by 100 at first, by 300 after 4,000 ns: the clock there is faster.
  set_clock(here.control(), 0, {.first_ns = 0, .ahead_at_first_ns = 100, .last_ns = 4000, .ahead_at_last_ns = 300});
  const std::vector<trace_event> events = events_of(here.control(), 0);
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[2].begin_ns, 2000U - 200);
  EXPECT_EQ(events[4].begin_ns, 4000U - 300);
  fill(here.control(), 1);  // one measurement alone; behind
  set_clock(here.control(), 1, {.first_ns = 50, .ahead_at_first_ns = -7, .last_ns = 50, .ahead_at_last_ns = -7});
  EXPECT_EQ(events_of(here.control(), 1)[3].begin_ns, 3001U + 7);
}

// Pieces that are cut, or say other places and lengths: taken or refused, never written elsewhere.
TEST(shown_rows, hostile_pieces_do_no_harm) {
  std::mt19937_64 random{test::test_seed()};
  const job there = observed_job();
  const job here = observed_job();
  fill(there.control(), 2);
  std::vector<std::vector<std::byte>> pieces;
  send_rows(there.control(), 2, [&](std::vector<std::byte> piece) { pieces.push_back(std::move(piece)); });
  std::size_t refused = 0;
  for (int round = 0; round < test::rounds(5'000); ++round) {
    std::vector<std::byte> piece = pieces[random() % pieces.size()];
    piece[random() % 16] = static_cast<std::byte>(random());  // which part, and where in it
    if (random() % 2 == 0) piece.resize(random() % 64);
    try {
      take_row_piece(here.control(), 2, piece);
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::bad_message);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0U);
  for (const std::uint32_t other : {0U, 1U})
    for (const pair_counts& counts : counts_of_place(here.control(), other)) EXPECT_EQ(counts.puts, 0U);
  EXPECT_EQ(here.control().place_count, places);
}

// Counts and texts that no place has written: what is told of them is short, and cut.
TEST(shown_rows, a_table_of_nonsense_is_told_all_the_same) {
  const job here = observed_job();
  placed_table& table = here.control().status(1).placed;
  std::memset(static_cast<void*>(&table), 'x', sizeof table);
  const std::string shown = format_placed(here.control());
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), std::ptrdiff_t{placed_table::most_rows} + 3);
  EXPECT_NE(shown.find(std::string(64, 'x') + ' '), std::string::npos);
  EXPECT_EQ(shown.find(std::string(65, 'x')), std::string::npos);
}

}  // namespace
}  // namespace situ
