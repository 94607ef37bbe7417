// The devices of a machine file: their order, and what is said of their rows.
#include "pim/devices.h"

#include <situ/base/error.h>
#include <situ/pim/geometry.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/build_paths.h"
#include "support/pim_file.h"

namespace situ::pim::detail {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(pim_devices, are_those_of_the_file_nearest_first) {
  const test::pim_file file;
  const std::vector<device_entry> devices = read_devices(memory_kind::parse("pim:" + file.path() + ",node:0"));
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].name, "pim 2") << "the machine's own is nearer than that of a package";
  EXPECT_EQ(devices[1].name, "pim 1");
  EXPECT_EQ(devices[0].figures.design, machine::pim_design::bitsimd);
  EXPECT_EQ(devices[0].figures.rows, 64u);
  EXPECT_EQ(devices[0].bandwidth, 20'000'000'000u);
  EXPECT_EQ(devices[0].latency_ns, 60);
  EXPECT_EQ(devices[0].pages, memory_kind::of_node(0));
  EXPECT_EQ(devices[1].figures.design, machine::pim_design::simdram);
}

TEST(pim_devices, of_files_that_come_with_situ_have_figures_that_can_be) {
  for (const std::string name : {"imi", "bitsimd", "ambit", "simdram"}) {
    const auto devices =
        read_devices(memory_kind::parse("pim:" SITU_TEST_SOURCE_DIR "/../machines/pim-" + name + ".toml"));
    ASSERT_EQ(devices.size(), 1u) << name;
    const machine::pim_figures& of = devices[0].figures;
    EXPECT_EQ(machine::name(of.design), name);
    EXPECT_NO_THROW(
        check(geometry{.rows = of.rows, .columns = of.columns, .subarrays = of.subarrays, .banks = of.banks}))
        << name;
    EXPECT_GT(devices[0].bandwidth, 0u) << name;
    EXPECT_EQ(devices[0].pages, memory_kind{}) << name;
  }
}

TEST(pim_devices, rows_are_told_in_words) {
  const auto told = [](std::vector<std::uint64_t> placed) {
    std::vector<device_rows> rows;
    for (const char* const name : {"pim 0", "pim 1", "pim 2"})
      rows.push_back({.name = name, .figures = {}, .placed = placed[rows.size()]});
    return format_rows(rows);
  };
  EXPECT_EQ(told({96, 0, 32}), "96 rows in pim 0, 32 in pim 2");
  EXPECT_EQ(told({0, 1, 0}), "1 row in pim 1");
  EXPECT_EQ(told({0, 0, 0}), "no rows");
}

TEST(pim_devices, no_room_is_told_with_what_each_holds) {
  const test::pim_file file;
  std::vector<device_rows> rows;
  const std::vector<device_entry> devices = read_devices(memory_kind::parse("pim:" + file.path()));
  for (const device_entry& each : devices) rows.push_back({.name = each.name, .figures = each.figures});
  rows[0].used = 256;
  rows[0].placed = 64;
  rows[1].used = 128;
  EXPECT_THAT(
      [&] { throw_no_room("vector 'a'", 128 << 10, rows, "no rectangle of 32 rows is free"); },
      ThrowsMessage<error>(
          AllOf(HasSubstr("vector 'a': 128 KiB do not fit into memory that computes: no rectangle of 32 rows is free."),
                HasSubstr("8 KiB of 128 KiB placed, no memory has room for more"),
                HasSubstr("\n  pim 2              32 KiB     32 KiB  100.0 %    100.0 %      8 KiB"),
                HasSubstr("\n  pim 1              64 KiB     16 KiB   25.0 %    100.0 %        0 B"))));
  try {
    throw_no_room("a", 1, rows);
  } catch (const error& bad) {
    EXPECT_EQ(bad.code(), errc::out_of_memory);
  }
}

TEST(pim_devices, what_has_none_is_refused) {
  const auto message_of = [](const std::string& kind, errc code) {
    try {
      (void)read_devices(memory_kind::parse(kind));
    } catch (const error& bad) {
      EXPECT_EQ(bad.code(), code) << kind;
      return std::string{bad.message()};
    }
    return std::string{"no error"};
  };
  EXPECT_THAT(message_of("node:0", errc::bad_argument),
              HasSubstr("this kind of memory does not compute; give pim:FILE"));
  EXPECT_THAT(message_of("pim:/no/such/file", errc::bad_file), HasSubstr("/no/such/file"));
  const std::string plain = SITU_TEST_SOURCE_DIR "/../machines/tile64.toml";
  EXPECT_THAT(message_of("pim:" + plain, errc::bad_file), HasSubstr("tile64.toml: no memory of this machine computes"));
  const test::pim_file bare{
      "name = \"x\"\n[[node]]\nid = \"c\"\nkind = \"core\"\n[[node]]\nid = \"p\"\nkind = \"memory\"\n"
      "memory = \"pim\"\n"};
  EXPECT_THAT(message_of("pim:" + bare.path(), errc::bad_file),
              HasSubstr(":5: node[1]: pim 0 has no figures of what it computes; write computes.design ="));
}

}  // namespace
}  // namespace situ::pim::detail
