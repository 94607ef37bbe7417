// Misses and upgrades that cores cause each other although they access different bytes, by hand.
#include "model/parts/false_sharing.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace {

using situ::model::false_sharing;

constexpr std::uint64_t line = 7;

enum class how { hit, miss, coherence_miss, upgrade };

struct followed {
  false_sharing seen;
  std::vector<std::uint32_t> found;  // objects of false misses and upgrades, in order

  followed() { seen.take(line); }
  void access(std::uint32_t core, std::uint64_t bytes, bool writes, how what, std::uint32_t object = 0) {
    seen.access({.core = core,
                 .line = line,
                 .bytes = bytes,
                 .object = object,
                 .writes = writes,
                 .reads = !writes,
                 .is_miss = what == how::miss || what == how::coherence_miss,
                 .is_coherence_miss = what == how::coherence_miss,
                 .is_upgrade = what == how::upgrade},
                [&](std::uint32_t each) { found.push_back(each); });
  }
  void end() {
    seen.end([&](std::uint32_t each) { found.push_back(each); });
  }
  [[nodiscard]] false_sharing::line_figures figures() const {
    false_sharing::line_figures made;
    seen.for_each([&](std::uint64_t, const false_sharing::line_figures& each) { made = each; });
    return made;
  }
};

TEST(FalseSharing, TheHeadersExample) {
  followed made;
  made.access(1, 0x1, true, how::hit);  // both have written the line
  made.access(2, 0x100, true, how::hit);
  made.access(1, 0x1, true, how::upgrade, 5);
  EXPECT_EQ(made.found, (std::vector<std::uint32_t>{5}));
  made.access(2, 0x100, false, how::coherence_miss, 6);
  EXPECT_EQ(made.found.size(), 1u);
  made.access(1, 0x1, true, how::upgrade, 5);
  EXPECT_EQ(made.found.size(), 2u);
  made.access(2, 0x100, false, how::coherence_miss, 8);
  EXPECT_EQ(made.found, (std::vector<std::uint32_t>{5, 5, 6}));
  made.access(2, 0x1, false, how::hit);
  made.end();
  EXPECT_EQ(made.found.size(), 3u);
  EXPECT_EQ(made.figures().coherence_misses, 2u);
  EXPECT_EQ(made.figures().upgrades, 2u);
  EXPECT_EQ(made.figures().falsely, 3u);
}

// A counter: each miss brings what the other core has written.
TEST(FalseSharing, BytesThatBothWriteAreSharedTruly) {
  followed made;
  made.access(1, 0xff, true, how::miss);
  for (int round = 0; round < 10; ++round) {
    made.access(2, 0xff, false, how::coherence_miss);
    made.access(2, 0xff, true, how::upgrade);
    made.access(1, 0xff, false, how::coherence_miss);
    made.access(1, 0xff, true, how::upgrade);
  }
  made.end();
  EXPECT_TRUE(made.found.empty());
  EXPECT_EQ(made.figures().coherence_misses, 20u);
}

// The flag and its datum are on a line: the miss on the flag brings the datum.
TEST(FalseSharing, AMissIsJudgedByAllAccessesUntilTheNext) {
  followed made;
  made.access(1, 0xf0, true, how::miss);
  made.access(2, 0x0f, false, how::coherence_miss);
  made.access(2, 0x10, false, how::hit);
  made.end();
  EXPECT_TRUE(made.found.empty());
}

// A line that a core evicted itself: the miss is none of coherence, and ends the one before.
TEST(FalseSharing, AnEvictionEndsAMiss) {
  followed made;
  made.access(1, 0xf0, true, how::miss);
  made.access(2, 0x0f, false, how::coherence_miss, 3);
  made.access(2, 0x0f, false, how::miss);
  EXPECT_EQ(made.found, (std::vector<std::uint32_t>{3}));
  made.end();
  EXPECT_EQ(made.found.size(), 1u);
}

// What the first miss has brought, and the core has not read, counts for the second.
TEST(FalseSharing, UnseenBytesAreSeenLater) {
  followed made;
  made.access(1, 0x10, true, how::miss);
  made.access(2, 0x01, false, how::coherence_miss);
  made.access(1, 0x20, true, how::upgrade);  // others have accessed 0x01 alone: false
  made.access(2, 0x10, false, how::coherence_miss);
  made.end();
  EXPECT_EQ(made.found.size(), 2u);
}

// Once the core has seen them, bytes count again only if they are written again.
TEST(FalseSharing, SeenBytesAreNotSeenTwice) {
  followed made;
  made.access(1, 0x1, true, how::miss);
  made.access(2, 0x1, false, how::coherence_miss);
  made.access(1, 0x1, true, how::upgrade);
  EXPECT_TRUE(made.found.empty());
  made.access(2, 0x1, false, how::coherence_miss);
  made.access(1, 0x2, true, how::upgrade, 4);
  made.access(2, 0x1, false, how::coherence_miss, 5);
  made.end();
  EXPECT_EQ(made.found, (std::vector<std::uint32_t>{4, 5}));
}

TEST(FalseSharing, AnUpgradeIsJudgedByAccessesSinceTheLastWrite) {
  followed made;
  made.access(1, 0x1, true, how::miss);
  made.access(2, 0x1, false, how::coherence_miss);
  made.access(1, 0x1, true, how::upgrade, 4);
  made.access(2, 0x2, false, how::miss);
  EXPECT_TRUE(made.found.empty());
  made.access(1, 0x1, true, how::upgrade, 5);
  EXPECT_EQ(made.found, (std::vector<std::uint32_t>{5}));
}

TEST(FalseSharing, PartsSayWhoAccessesWhat) {
  followed made;
  made.access(1, 0x1, true, how::miss, 4);
  made.access(1, 0x2, false, how::hit, 4);
  made.access(2, 0x100, true, how::coherence_miss, 9);
  const auto parts = made.figures().parts;
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].core, 1u);
  EXPECT_EQ(parts[0].read, 0x2u);
  EXPECT_EQ(parts[0].written, 0x1u);
  EXPECT_EQ(parts[1].object, 9u);
  EXPECT_EQ(parts[1].read, 0u);
  EXPECT_EQ(parts[1].written, 0x100u);
}

// Core 1 has initialised the bytes before the line was followed: core 2's write of them needs its upgrade.
TEST(FalseSharing, AccessesThatAreNotKnownCountAsNeeded) {
  followed made;
  made.access(2, 0x1, false, how::miss);
  made.access(2, 0x1, true, how::upgrade, 4);
  EXPECT_TRUE(made.found.empty());
  made.access(2, 0x1, false, how::hit);
  made.access(1, 0x100, false, how::coherence_miss);
  made.access(2, 0x1, true, how::upgrade, 5);  // since its own write core 1 has accessed another byte
  EXPECT_EQ(made.found, (std::vector<std::uint32_t>{5}));
}

TEST(FalseSharing, OtherLinesAreNotFollowed) {
  const followed made;
  EXPECT_TRUE(made.seen.follows(line));
  EXPECT_FALSE(made.seen.follows(line + 1));
}

}  // namespace
