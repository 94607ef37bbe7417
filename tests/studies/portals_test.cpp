// Blocks between clusters of the modelled MPPA-256: what the protocols of portals.h take, step by step.
#include "rmem/portals.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/machine_files.h"

namespace situ::studies::rmem {
namespace {

const model::machine_spec& bostan() {
  static const model::machine_spec spec = model::parse_machine(mppa_256_bostan_toml(), "mppa-256-bostan.toml");
  return spec;
}

constexpr library_times takes{
    .send_mail = 1000, .take_mail = 200, .open = 300, .prepare = 4000, .permit = 50, .write = 600};

double microseconds_of_a_block(protocol by, bool is_write, std::uint64_t bytes = 64, std::uint32_t peers = 1) {
  constexpr std::uint32_t blocks = 3;
  return static_cast<double>(bytes) /
         megabytes_per_second(bostan(), takes,
                              {.by = by, .is_write = is_write, .bytes = bytes, .peers = peers, .blocks = blocks});
}

// The networks take some hundred nanoseconds a message; the rest is the sum of the calls on the longest way.
void expect_sum(double got, double sum) {
  EXPECT_GT(got, sum);
  EXPECT_LT(got, sum + 3);
}

TEST(Portals, AWriteInTwoStepsIsHeaderPermissionData) {
  expect_sum(microseconds_of_a_block(protocol::two_steps, true), 1000 + 200 + 300 + 4000 + 50 + 600);
}
TEST(Portals, AWriteInOneStepNeedsNoHeader) {
  expect_sum(microseconds_of_a_block(protocol::one_step, true), 4000 + 50 + 600);
}
// The server's two connectors are opened while the reader gets ready.
TEST(Portals, InTwoStepsAReaderAndItsServerGetReadyTogether) {
  expect_sum(microseconds_of_a_block(protocol::two_steps, false), 1000 + 300 + 4000 + 50 + 600);
}
TEST(Portals, InOneStepTheReaderWaitsForItsServer) {
  expect_sum(microseconds_of_a_block(protocol::one_step, false), 1000 + 200 + 2 * 300 + 50 + 300 + 4000 + 50 + 600);
}

// 1.6 GB/s a link: 64 KiB take 41 us at least, and packets of 256 bytes have a head each.
TEST(Portals, ABlockTakesTheDataNetwork) {
  const double more =
      microseconds_of_a_block(protocol::two_steps, true, 64 << 10) - microseconds_of_a_block(protocol::two_steps, true);
  EXPECT_GT(more, 65536 / 1600.0);
  EXPECT_LT(more, 1.1 * 65536 / 1600.0);
}

TEST(Portals, PeersShareTheServersLink) {
  constexpr library_times none{};
  const block_moves alone{.is_write = true, .bytes = 64 << 10};
  block_moves four = alone;
  four.peers = 4;
  const double one = megabytes_per_second(bostan(), none, alone);
  EXPECT_GT(one, 1400);
  EXPECT_NEAR(megabytes_per_second(bostan(), none, four), one / 4, one / 20);
}

TEST(Portals, TheSameRunTakesTheSameTime) {
  EXPECT_EQ(microseconds_of_a_block(protocol::two_steps, false, 4096, 16),
            microseconds_of_a_block(protocol::two_steps, false, 4096, 16));
}

std::string refused(const model::machine_spec& machine, const block_moves& of) {
  try {
    (void)megabytes_per_second(machine, takes, of);
  } catch (const error& bad) {
    EXPECT_EQ(bad.code(), errc::bad_argument);
    return std::string{bad.message()};
  }
  return "";
}

TEST(Portals, WhatCannotBeIsSaid) {
  using testing::HasSubstr;
  EXPECT_THAT(refused(bostan(), {.bytes = 64, .peers = 17}), HasSubstr("17 peers and a server need"));
  EXPECT_THAT(refused(bostan(), {.bytes = 3 << 20}), HasSubstr("a block of 3145728 bytes does not fit"));
  EXPECT_THAT(refused(bostan(), {.bytes = 0}), HasSubstr("a block of 0 bytes"));
  const model::machine_spec nemesys = model::parse_machine(nemesys_4x4_toml(), "nemesys-4x4.toml");
  EXPECT_THAT(refused(nemesys, {.bytes = 64}), HasSubstr("NEMESYS 4x4 has 14 and none"));
}

}  // namespace
}  // namespace situ::studies::rmem
