// Messages of ten words by raw channels, and what they cost. Place 0 sends, place 1 receives. "order": 100 messages,
// each received at once; prints whether all came in order. "times": prints the cycles of a send (0), of a receive of a
// message that has arrived (1), and of both, with the way, if the receiver waits (2). "full": place 1 takes nothing for
// 100 us; prints whether the sender waited, and for which message first. "alone": receives what nobody sends.
#include <situ/base/detail/raw_channel.h>
#include <situ/situ.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

extern "C" std::uint64_t situ_model_now_cycles() noexcept;

namespace {

using words = std::array<std::uint32_t, 10>;

void compute(std::uint64_t cycles) {
  const std::uint64_t end = situ_model_now_cycles() + cycles;
  while (situ_model_now_cycles() < end) {}
}

words message_of(std::uint32_t number) {
  words made{};
  for (std::uint32_t i = 0; i < made.size(); ++i) made[i] = 1000 * number + i;
  return made;
}

void keep_order(std::uint32_t me) {
  std::uint32_t right = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    words message = message_of(i);
    if (me == 0) {
      situ_model_raw_send(1, message.data(), sizeof message);
    } else {
      words got{};
      right += situ_model_raw_receive(got.data(), sizeof got) == sizeof got && got == message ? 1 : 0;
    }
  }
  if (me == 1) std::printf("right %u\n", right);
}

// The least of ten rounds: the first ones warm the caches.
void take_times(std::uint32_t me) {
  constexpr int rounds = 10;
  std::uint64_t least[] = {~0ULL, ~0ULL, ~0ULL};
  words message{};
  const auto now = [] { return situ_model_now_cycles(); };
  situ::barrier();
  if (me == 1) {
    situ_model_raw_receive(message.data(), sizeof message);
    compute(10'000);
  }
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t begin = now();
    if (me == 0) {
      situ_model_raw_send(1, message.data(), sizeof message);
      least[0] = std::min(least[0], now() - begin);
      compute(20'000);
    } else if (round > 0) {
      situ_model_raw_receive(message.data(), sizeof message);
      least[1] = std::min(least[1], now() - begin);
    }
    if (me == 1) compute(20'000);
  }
  situ::barrier();
  for (int round = 0; round < rounds; ++round) {
    if (me == 0) {
      compute(20'000);
      const std::uint64_t begin = now();
      std::memcpy(message.data(), &begin, sizeof begin);
      situ_model_raw_send(1, message.data(), sizeof message);
    } else {
      situ_model_raw_receive(message.data(), sizeof message);
      std::uint64_t begin = 0;
      std::memcpy(&begin, message.data(), sizeof begin);
      least[2] = std::min(least[2], now() - begin);
    }
  }
  for (const int each : {0, 1, 2})
    if (least[each] != ~0ULL) std::printf("%d: %llu\n", each, static_cast<unsigned long long>(least[each]));
}

void fill_queue(std::uint32_t me) {
  constexpr std::uint32_t messages = 12;
  situ::barrier();
  std::uint32_t first_late = messages;
  for (std::uint32_t i = 0; i < messages; ++i) {
    words message = message_of(i);
    const std::uint64_t begin = situ_model_now_cycles();
    if (me == 0) {
      situ_model_raw_send(1, message.data(), sizeof message);
      if (situ_model_now_cycles() - begin > 10'000 && first_late == messages) first_late = i;
    } else {
      if (i == 0) compute(70'000);
      situ_model_raw_receive(message.data(), sizeof message);
    }
  }
  if (me == 0) std::printf("first that waited %u\n", first_late);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "order";
  situ::runtime rt{argc, argv};
  const std::uint32_t me = situ::here().index();
  if (me < 2) {
    if (std::strcmp(what, "order") == 0) keep_order(me);
    if (std::strcmp(what, "times") == 0) take_times(me);
    if (std::strcmp(what, "full") == 0) fill_queue(me);
    words none{};
    if (std::strcmp(what, "alone") == 0 && me == 0) situ_model_raw_receive(none.data(), sizeof none);
    if (std::strcmp(what, "long") == 0 && me == 0) situ_model_raw_send(1, argv, 41);
  }
  situ::barrier();
}
