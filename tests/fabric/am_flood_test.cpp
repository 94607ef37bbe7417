// Seven places send to one as fast as they can: every message arrives, and neither side's memory grows with the number
// of messages. The number in millions is the program's argument.
#include "support/places.h"

#include <unistd.h>

#include <charconv>
#include <fstream>

namespace situ {
namespace {

std::uint64_t messages_in_all = 1'000'000;

// Pages of this process that are in memory.
std::uint64_t resident_bytes() {
  std::ifstream file{"/proc/self/statm"};
  std::uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

thread_local std::uint64_t heard = 0;
thread_local std::uint64_t sum = 0;
void on_number(am::token&, std::uint64_t number) {
  ++heard;
  sum += number;
}

// Little more is in memory than before. (A sanitizer's own memory grows with each first access.)
void expect_bounded(std::uint64_t resident_before) {
  constexpr std::uint64_t most_growth_bytes = std::uint64_t{4}
                                              << 20;  // the channels are under 3 MiB and touched before
  if (test::with_sanitizer) return;
  EXPECT_LE(std::max(resident_bytes(), resident_before) - resident_before, most_growth_bytes)
      << "place " << here().index();
}

class flood : public test::on_places {};

TEST_P(flood, of_short_messages_keeps_memory_bounded) {
  run([] {
    const std::uint32_t senders = place_count() - 1;
    const std::uint64_t each = messages_in_all / (test::with_sanitizer ? 10 : test::or_modelled(1, 100)) / senders;
    const auto send_some = [](std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) am::request_short<on_number>(place{0}, i);
    };
    constexpr std::uint64_t warm_up = 2 * detail::channel::cell_count;
    if (here().index() != 0) send_some(warm_up);
    barrier();
    while (here().index() == 0 && heard < warm_up * senders) progress();
    const std::uint64_t resident = resident_bytes();
    const memory_usage before = memory_statistics();
    heard = sum = 0;
    barrier();
    if (here().index() == 0) {
      while (heard < each * senders) progress();
      EXPECT_EQ(heard, each * senders);
      EXPECT_EQ(sum, senders * (each * (each - 1) / 2));
    } else {
      send_some(each);
    }
    barrier();
    expect_bounded(resident);
    EXPECT_EQ(memory_statistics().opened_bytes, before.opened_bytes);
    EXPECT_EQ(memory_statistics().live_bytes, before.live_bytes);
  });
}

void on_payload(am::token&, std::span<std::byte> payload) {
  ++heard;
  sum += static_cast<std::uint64_t>(payload.front()) + payload.size();
}

TEST_P(flood, of_medium_messages_keeps_memory_bounded) {
  run([] {
    const std::uint32_t senders = place_count() - 1;
    const std::uint64_t each = messages_in_all / (test::with_sanitizer ? 1000 : test::or_modelled(50, 5000)) / senders;
    const memory_usage before = memory_statistics();
    std::uint64_t resident = 0;
    std::uint64_t expected = 0;
    for (int lap = 0; lap < 2; ++lap) {  // the first touches all of the rings
      heard = sum = 0;
      barrier();
      if (here().index() == 0) {
        while (heard < each * senders) progress();
        for (std::uint64_t i = 0; i < each; ++i) expected += (i & 0xff) + 1 + i % 5000;
        EXPECT_EQ(sum, expected * senders);
        expected = 0;
      } else {
        std::vector<std::byte> payload(5000);
        for (std::uint64_t i = 0; i < each; ++i) {
          payload[0] = static_cast<std::byte>(i);
          am::request_medium<on_payload>(place{0}, std::span{payload}.first(1 + i % 5000));
        }
      }
      barrier();
      if (lap == 0) resident = resident_bytes();
    }
    expect_bounded(resident);
    EXPECT_EQ(memory_statistics().opened_bytes, before.opened_bytes);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, flood, testing::ValuesIn(test::layouts({8})), test::layout_name);

}  // namespace
}  // namespace situ

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) {
    std::uint64_t millions = 0;
    std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), millions);
    if (millions == 0) return 2;
    situ::messages_in_all = millions * 1'000'000;
  }
  return RUN_ALL_TESTS();
}
