#include <situ/base/error.h>
#include <situ/base/units.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace {

constexpr std::uint64_t max64 = std::numeric_limits<std::uint64_t>::max();

TEST(units, bytes_take_binary_and_decimal_prefixes) {
  EXPECT_EQ(situ::parse_bytes("96 GiB"), 96ull << 30);
  EXPECT_EQ(situ::parse_bytes("96GiB"), 96ull << 30);
  EXPECT_EQ(situ::parse_bytes(" 16 GB "), 16'000'000'000u);
  EXPECT_EQ(situ::parse_bytes("1.5 KiB"), 1536u);
  EXPECT_EQ(situ::parse_bytes("112.5 MiB"), 117'964'800u);
  EXPECT_EQ(situ::parse_bytes("0.001 kB"), 1u);
  EXPECT_EQ(situ::parse_bytes("7 kB"), 7000u);
  EXPECT_EQ(situ::parse_bytes("0 B"), 0u);
  EXPECT_EQ(situ::parse_bytes("1.0 B"), 1u);
  EXPECT_EQ(situ::parse_bytes("18446744073709551615 B"), max64);
}

TEST(units, what_is_no_size_is_refused_with_an_example) {
  for (const char* text : {"", " ", "GiB", "12", "1.2.3 GiB", ".5 GiB", "5. GiB", "-1 B", "1e3 B", "0x10 B", "3 GHz",
                           "4 gib", "1 GiB B", "+1 B"}) {
    try {
      (void)situ::parse_bytes(text);
      ADD_FAILURE() << "accepted \"" << text << '"';
    } catch (const situ::error& error) {
      EXPECT_EQ(error.code(), situ::errc::bad_argument) << text;
      EXPECT_NE(error.message().find(text), std::string_view::npos);
      EXPECT_NE(error.message().find("96 GiB"), std::string_view::npos) << error.what();
    }
  }
}

TEST(units, sizes_that_do_not_fit_or_are_not_whole_are_refused) {
  EXPECT_THROW((void)situ::parse_bytes("18446744073709551616 B"), situ::error);
  EXPECT_THROW((void)situ::parse_bytes("16777216 TiB"), situ::error);  // 2^64
  EXPECT_EQ(situ::parse_bytes("16777215 TiB"), 16777215ull << 40);
  EXPECT_THROW((void)situ::parse_bytes("0.3 B"), situ::error);
  EXPECT_THROW((void)situ::parse_bytes("4.7 GiB"), situ::error);
}

TEST(units, bandwidths_frequencies_and_times) {
  EXPECT_EQ(situ::parse_bandwidth("314 GB/s"), 314'000'000'000u);
  EXPECT_EQ(situ::parse_bandwidth("60.8 GB/s"), 60'800'000'000u);
  EXPECT_EQ(situ::parse_bandwidth("1 GiB/s"), 1ull << 30);
  EXPECT_EQ(situ::parse_hertz("1.3 GHz"), 1'300'000'000u);
  EXPECT_DOUBLE_EQ(situ::parse_nanoseconds("105 ns"), 105);
  EXPECT_DOUBLE_EQ(situ::parse_nanoseconds("1.8us"), 1800);
  EXPECT_DOUBLE_EQ(situ::parse_nanoseconds("2 ms"), 2e6);
  EXPECT_DOUBLE_EQ(situ::parse_nanoseconds("3 s"), 3e9);
  for (const char* text : {"", "ns", "-1 ns", "inf ns", "nan ns", "5", "5 min", "1e400 ns"})
    EXPECT_THROW((void)situ::parse_nanoseconds(text), situ::error) << text;
  EXPECT_THROW((void)situ::parse_bandwidth("3 GB"), situ::error);
  EXPECT_THROW((void)situ::parse_hertz("3 GB"), situ::error);
}

TEST(units, people_read_three_or_four_digits) {
  EXPECT_EQ(situ::format_bytes(0), "0 B");
  EXPECT_EQ(situ::format_bytes(1023), "1023 B");
  EXPECT_EQ(situ::format_bytes(1024), "1 KiB");
  EXPECT_EQ(situ::format_bytes(4'845'215'744), "4.51 GiB");
  EXPECT_EQ(situ::format_bytes(96ull << 30), "96 GiB");
  EXPECT_EQ(situ::format_bytes(117'964'800), "112.5 MiB");
  EXPECT_EQ(situ::format_bytes((1ull << 40) - 1), "1 TiB");
  EXPECT_EQ(situ::format_bandwidth(307'200'000'000), "307.2 GB/s");
  EXPECT_EQ(situ::format_bandwidth(1'638'400'000'000), "1.64 TB/s");
  EXPECT_EQ(situ::format_nanoseconds(105), "105 ns");
  EXPECT_EQ(situ::format_nanoseconds(1.244), "1.24 ns");
  EXPECT_EQ(situ::format_nanoseconds(1800), "1.8 us");
  EXPECT_EQ(situ::format_hertz(1'300'000'000), "1.3 GHz");
}

TEST(units, exact_forms_prefer_the_largest_unit_that_divides) {
  EXPECT_EQ(situ::exact_bytes(0), "0 B");
  EXPECT_EQ(situ::exact_bytes(96ull << 30), "96 GiB");
  EXPECT_EQ(situ::exact_bytes(117'964'800), "115200 KiB");
  EXPECT_EQ(situ::exact_bytes(1001), "1001 B");
  EXPECT_EQ(situ::exact_bandwidth(60'800'000'000), "60800 MB/s");
  EXPECT_EQ(situ::exact_hertz(1'300'000'000), "1300 MHz");
  EXPECT_EQ(situ::exact_nanoseconds(0.1), "0.1 ns");
}

TEST(units, exact_forms_lose_nothing) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random{seed};
  for (int i = 0; i < 20000; ++i) {
    // All magnitudes, and multiples of units more often than chance would have it.
    std::uint64_t value = random() >> (random() % 64);
    if (i % 3 == 0) value = (value >> 40) << (random() % 41);
    if (i % 5 == 0) value = value / 1000 * 1000;
    ASSERT_EQ(situ::parse_bytes(situ::exact_bytes(value)), value);
    ASSERT_EQ(situ::parse_bandwidth(situ::exact_bandwidth(value)), value);
    ASSERT_EQ(situ::parse_hertz(situ::exact_hertz(value)), value);
    double ns = 0;
    const std::uint64_t bits = random();
    std::memcpy(&ns, &bits, sizeof ns);
    if (std::isfinite(ns)) {
      ASSERT_EQ(situ::parse_nanoseconds(situ::exact_nanoseconds(std::fabs(ns))), std::fabs(ns));
    }
  }
}

}  // namespace
