// What hosts tell each other before there is a job, and what is refused by it.
#include <situ/base/error.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cluster/protocol.h"
#include "launch/records.h"
#include "memory/job.h"

namespace situ {
namespace {

using detail::cluster::check_records;
using detail::cluster::host_record;
using detail::cluster::pack;
using detail::cluster::unpack;

host_record record_of(const std::string& name) {
  return {.name = name,
          .build = 7,
          .layout = 9,
          .page_bytes = 4096,
          .slice_shift = 36,
          .address = {std::byte{1}, std::byte{2}, std::byte{3}}};
}

// Empty where nothing is refused.
std::string refusal_of(const std::vector<host_record>& records, errc expected) {
  try {
    check_records(records);
    return {};
  } catch (const error& e) {
    EXPECT_EQ(e.code(), expected);
    return std::string{e.message()};
  }
}

TEST(host_records, come_back_as_they_were) {
  host_record record = record_of("host1");
  EXPECT_EQ(unpack(pack(record)), record);
  record.refusal = "there is no server";
  EXPECT_EQ(unpack(pack(record)), record);
  EXPECT_EQ(unpack(pack(host_record{})), host_record{});
}

TEST(host_records, what_is_cut_off_or_changed_is_refused) {
  const std::vector<std::byte> whole = pack(record_of("host1"));
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_THROW((void)unpack(std::span{whole}.first(bytes)), error) << bytes;
  std::vector<std::byte> longer = whole;
  longer.push_back({});
  EXPECT_THROW((void)unpack(longer), error);
  for (const std::size_t at : {0, 7, 36, 39, 40, 44, 47}) {  // the magic, and lengths
    std::vector<std::byte> changed = whole;
    changed[at] ^= std::byte{0x80};
    EXPECT_THROW((void)unpack(changed), error) << at;
  }
}

TEST(host_records, that_fit_are_taken) {
  EXPECT_EQ(refusal_of({record_of("host1"), record_of("host2")}, errc::bad_launch), "");
}

TEST(host_records, say_who_differs_in_what) {
  std::vector<host_record> records{record_of("host1"), record_of("host2"), record_of("host3")};
  records[1].build = 8;
  const std::string builds = refusal_of(records, errc::version_mismatch);
  EXPECT_NE(builds.find("different executables"), std::string::npos) << builds;
  EXPECT_NE(builds.find("host1, host3 have 0x7; host2 has 0x8"), std::string::npos) << builds;
  records[1].layout = 10;
  EXPECT_NE(refusal_of(records, errc::version_mismatch).find("different versions of Situ"), std::string::npos);
  records[1] = record_of("host2");
  records[1].page_bytes = 65536;
  EXPECT_NE(refusal_of(records, errc::bad_launch).find("pages"), std::string::npos);
  records[1] = record_of("host2");
  records[1].slice_shift = 30;
  EXPECT_NE(refusal_of(records, errc::bad_launch).find("slices"), std::string::npos);
}

TEST(host_records, are_not_more_than_a_set_of_hosts_holds) {
  std::vector<host_record> records(1024, record_of("host"));
  EXPECT_EQ(refusal_of(records, errc::bad_launch), "");
  records.push_back(record_of("host"));
  EXPECT_EQ(refusal_of(records, errc::bad_launch), "no job over 1025 hosts: at most 1024");
}

TEST(host_records, say_what_a_host_refuses) {
  std::vector<host_record> records{record_of("host1"), record_of("host2")};
  records[1].refusal = "no network";
  records[1].build = 0;  // what else it would say is not known
  EXPECT_EQ(refusal_of(records, errc::bad_launch), "no job over these hosts; host2: no network");
}

}  // namespace
}  // namespace situ
