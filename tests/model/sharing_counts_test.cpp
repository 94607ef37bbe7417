// What cores of one tile take from each other, counted by hand on tests/model/four_cores.toml.
#include "model/parts/modelled_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "support/build_paths.h"

namespace situ::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class taken_lines final : public sharing_observer {
 public:
  void on_taken(std::uint32_t core, std::uint64_t address) override { seen.emplace_back(core, address); }
  std::vector<std::pair<std::uint32_t, std::uint64_t>> seen;
};

struct SharingCounts : testing::Test {
  SharingCounts() {
    machine.map_range(0, std::uint64_t{1} << 32, 0);
    machine.observe_sharing(&observer);
  }
  void access(std::uint32_t core, std::uint64_t address, access_kind kind) {
    now = machine.access(core, address, 8, kind, now);
  }
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> of(std::uint32_t core) const {
    const sharing_counts counts = machine.sharing(core);
    return {counts.coherence_misses, counts.upgrades};
  }
  modelled_machine machine{read_machine(SITU_TEST_SOURCE_DIR "/model/four_cores.toml")};
  taken_lines observer;
  time_ps now = 0;
};

TEST_F(SharingCounts, ALineThatAnotherCoreTookIsACoherenceMissOnce) {
  access(0, 4096, access_kind::read);  // cold
  EXPECT_THAT(observer.seen, IsEmpty());
  access(1, 4104, access_kind::write);  // cold, and core 0 loses the line
  EXPECT_THAT(observer.seen, ElementsAre(Pair(0, 4096)));
  EXPECT_THAT(of(0), Pair(0, 0));
  EXPECT_THAT(of(1), Pair(0, 0));
  access(0, 4096, access_kind::read);  // lost; core 1 may only read from now on
  EXPECT_THAT(of(0), Pair(1, 0));
  access(0, 4096, access_kind::read);
  EXPECT_THAT(of(0), Pair(1, 0));
  access(1, 4104, access_kind::write);
  EXPECT_THAT(of(1), Pair(0, 1));
  access(0, 4096, access_kind::write);
  EXPECT_THAT(of(0), Pair(2, 0));
  EXPECT_THAT(observer.seen, ElementsAre(Pair(0, 4096), Pair(1, 4096), Pair(0, 4096), Pair(1, 4096)));
  machine.reset_counters();
  EXPECT_THAT(of(0), Pair(0, 0));
}

// Nine lines of one set of eight ways: the first leaves because of the others, and nobody has taken it.
TEST_F(SharingCounts, ALineThatMadeRoomIsNot) {
  for (std::uint64_t line = 0; line < 9; ++line) access(0, 4096 * (line + 1), access_kind::write);
  access(0, 4096, access_kind::write);
  EXPECT_THAT(of(0), Pair(0, 0));
  EXPECT_THAT(observer.seen, IsEmpty());
}

TEST_F(SharingCounts, ReadersOfALineTakeTheRightToWriteOnce) {
  access(0, 4096, access_kind::write);
  for (std::uint32_t core = 1; core < 4; ++core) access(core, 4096, access_kind::read);
  EXPECT_THAT(observer.seen, ElementsAre(Pair(0, 4096)));
  access(0, 4096, access_kind::atomic);
  EXPECT_THAT(of(0), Pair(0, 1));
  EXPECT_THAT(observer.seen, ElementsAre(Pair(0, 4096), Pair(1, 4096), Pair(2, 4096), Pair(3, 4096)));
}

}  // namespace
}  // namespace situ::model
