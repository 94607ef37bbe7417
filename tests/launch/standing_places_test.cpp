// What a place shows of itself, copied to a launcher elsewhere: the report there is the one here.
#include "launch/standing_places.h"

#include <situ/base/error.h>

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <source_location>
#include <string>
#include <vector>

#include "memory/job.h"
#include "runtime/status_writer.h"

namespace situ {
namespace {

using namespace detail;

// A job of two places, of which the first waits.
class statuses : public testing::Test {
 protected:
  statuses() {
    there_.control().slot(0).state.store(place_state::joined);
    there_.control().slot(1).state.store(place_state::left);
    team_ = writer_.open_team(7, 2);
    team_->begun.store(4);
    (void)writer_.begin_wait(
        {.kind = wait_kind::barrier, .subject = 7, .number = 3, .where = std::source_location::current()}, nullptr,
        true);
    (void)writer_.begin_wait({.kind = wait_kind::call, .peer = 1}, nullptr, false);
    writer_.stamp_waits();
    writer_.begin_rest();
  }
  static std::string without_times(std::string text) {
    for (std::size_t at = 0; (at = text.find(" since ", at)) != std::string::npos;)
      text.erase(at, text.find(" s ", at) + 2 - at);
    return text;
  }

  job there_ = job::create({.place_count = 2});
  job here_ = job::create({.place_count = 2});
  status_writer writer_{there_.control().status(0)};
  team_record* team_ = nullptr;
};

TEST_F(statuses, are_reported_as_where_they_come_from) {
  for (std::uint32_t place = 0; place < 2; ++place)
    take_status(here_.control(), place, pack_status(there_.control(), place));
  const std::string report = without_times(format_report(here_.control()));
  EXPECT_EQ(report, without_times(format_report(there_.control())));
  EXPECT_NE(report.find("main waits in a barrier (collective 3 of its team), at standing_places_test.cpp:"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find("place 1 has left the job"), std::string::npos) << report;
}

TEST_F(statuses, that_come_again_replace_those_before) {
  for (std::uint32_t place = 0; place < 2; ++place)
    take_status(here_.control(), place, pack_status(there_.control(), place));
  there_.control().status(0).waits[place_status::most_waits - 1].state.store(0);
  there_.control().status(0).waits[0].state.store(0);
  take_status(here_.control(), 0, pack_status(there_.control(), 0));
  EXPECT_EQ(without_times(format_report(here_.control())), without_times(format_report(there_.control())));
}

TEST_F(statuses, of_another_form_are_refused) {
  const std::vector<std::byte> whole = pack_status(there_.control(), 0);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_THROW(take_status(here_.control(), 0, std::span{whole}.first(bytes)), error) << bytes;
  std::vector<std::byte> longer = whole;
  longer.push_back({});
  EXPECT_THROW(take_status(here_.control(), 0, longer), error);
  std::mt19937 random{1};
  for (int i = 0; i < 2000; ++i) {  // whatever comes, the report can be made
    std::vector<std::byte> bad = whole;
    bad[random() % bad.size()] = static_cast<std::byte>(random());
    try {
      take_status(here_.control(), 0, bad);
    } catch (const error& refused) {
      EXPECT_EQ(refused.code(), errc::bad_message);
    }
    (void)format_report(here_.control());
    (void)format_report_json(here_.control(), "bad bytes");
  }
}

}  // namespace
}  // namespace situ
