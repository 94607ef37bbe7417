// What a place shows of itself, read back as a launcher reads it.
#include "memory/job.h"
#include "runtime/status_writer.h"

#include <gtest/gtest.h>

#include <memory>
#include <source_location>
#include <string>
#include <vector>

namespace {

using namespace situ::detail;

class place_status_of_a_job : public testing::Test {
 protected:
  job job_ = job::create({.place_count = 3});
  place_status& shared_ = job_.control().status(1);
  std::unique_ptr<status_writer> writer_ = std::make_unique<status_writer>(shared_);
};

TEST_F(place_status_of_a_job, a_wait_is_shown_from_its_begin_to_its_end) {
  const auto where = std::source_location::current();
  wait_record* const record =
      writer_->begin_wait({.kind = wait_kind::call, .peer = 2, .number = 7, .where = where}, "x [with F = f()]", true);
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->state.load() & 0xff, static_cast<std::uint64_t>(wait_kind::call));
  EXPECT_EQ(record->peer.load(), 2U);
  EXPECT_EQ(record->number.load(), 7U);
  EXPECT_EQ(record->since_ns.load(), 0U);
  writer_->stamp_waits();
  EXPECT_EQ(record->line.load(), where.line());
  EXPECT_EQ(shared_.names[record->file.load()], "place_status_test.cpp");
  EXPECT_EQ(shared_.names[record->task.load()], "f()");
  const std::uint64_t since = record->since_ns.load();
  EXPECT_NE(since, 0U);
  writer_->stamp_waits();
  EXPECT_EQ(record->since_ns.load(), since);
  writer_->end_wait(record, wait_kind::call);
  EXPECT_EQ(record->state.load(), 0U);
  EXPECT_EQ(shared_.steps.load(), 1U);
}

TEST_F(place_status_of_a_job, each_use_of_a_record_has_a_state_of_its_own) {
  wait_record* const first = writer_->begin_wait({.kind = wait_kind::future}, nullptr, false);
  const std::uint64_t state = first->state.load();
  writer_->end_wait(first, wait_kind::future);
  wait_record* const second = writer_->begin_wait({.kind = wait_kind::future}, nullptr, false);
  EXPECT_EQ(first, second);
  EXPECT_NE(second->state.load(), state);
  writer_->end_wait(second, wait_kind::future);
}

TEST_F(place_status_of_a_job, more_waits_than_records_are_counted) {
  std::vector<wait_record*> records;
  for (std::uint32_t i = 0; i < place_status::most_waits; ++i)
    records.push_back(writer_->begin_wait({.kind = wait_kind::future}, nullptr, false));
  EXPECT_EQ(shared_.waits_unrecorded.load(), 0U);
  EXPECT_EQ(writer_->begin_wait({.kind = wait_kind::other}, nullptr, false), nullptr);
  EXPECT_EQ(shared_.waits_unrecorded.load(), 1U);
  EXPECT_EQ(shared_.open_waits.load(), 1U) << "one that others may end counts as such, recorded or not";
  writer_->end_wait(nullptr, wait_kind::other);
  EXPECT_EQ(shared_.waits_unrecorded.load(), 0U);
  EXPECT_EQ(shared_.open_waits.load(), 0U);
  for (wait_record* const each : records) {
    ASSERT_NE(each, nullptr);
    writer_->end_wait(each, wait_kind::future);
  }
}

TEST_F(place_status_of_a_job, names_are_kept_once_and_cut_in_the_middle) {
  const std::string text = "g() [with F = " + std::string(60, 'a') + std::string(100, 'b') + "]";
  const std::uint32_t name = writer_->code_name(text.c_str());
  EXPECT_EQ(writer_->code_name(text.c_str()), name);
  EXPECT_EQ(shared_.names[name], std::string(40, 'a') + "..." + std::string(80, 'b'));
  EXPECT_EQ(shared_.names[0], "");
  EXPECT_EQ(shared_.names[name + 1], "");
}

TEST_F(place_status_of_a_job, names_that_find_no_room_are_left_out) {
  std::vector<std::string> texts(3000);
  std::uint32_t kept = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    texts[i] = "name of some length, number " + std::to_string(i);
    const std::uint32_t name = writer_->code_name(texts[i].c_str());
    if (name == 0) continue;
    EXPECT_EQ(kept, i) << "once one was left out, so are all that follow";
    ++kept;
    EXPECT_EQ(shared_.names[name], texts[i]);
  }
  EXPECT_GT(kept, 500U);
  EXPECT_LT(kept, texts.size());
  EXPECT_EQ(shared_.names[writer_->code_name(texts[0].c_str())], texts[0]);
}

TEST_F(place_status_of_a_job, places_have_statuses_of_their_own) {
  status_writer other{job_.control().status(2)};
  EXPECT_EQ(other.code_name("x"), 1U);
  EXPECT_EQ(shared_.names.count.load(), 0U);
  team_record* const team = other.open_team(9, 2);
  ASSERT_NE(team, nullptr);
  EXPECT_EQ(job_.control().status(2).teams[0].id.load(), 9U);
  EXPECT_EQ(shared_.teams[0].id.load(), 0U);
}

}  // namespace
