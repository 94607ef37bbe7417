// token_ring: a token goes round a ring of places, and each place adds its number to it. The same program runs on this
// machine and, compiled once more, on a modelled one, where the time of a hop is that of the modelled machine.
//
//   situ run -n 4 token_ring [rounds, 100]
//   situ model run --machine nemesys-4x4 -n 4 token_ring_modelled
#include <situ/model/region.h>
#include <situ/situ.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

struct mailbox {
  situ::ptr<long> token;
  situ::ptr<situ::signal> filled;  // the number of the round whose token has come
};

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const std::uint64_t rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100;
  const std::uint32_t me = situ::here().index(), places = situ::place_count();
  const mailbox own{situ::allocate<long>(), situ::allocate_signals()};
  const std::vector<mailbox> all = situ::all_gather(own);
  const mailbox& next = all[(me + 1) % places];

  long token = 0;
  const auto begin = std::chrono::steady_clock::now();
  {
    const situ::model::region here{"rounds"};
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      if (me != 0) {  // place 0 sends first, and then waits for what comes round
        situ::wait_until(own.filled, round);
        token = *own.token.local() + me;
      }
      situ::put_signal(next.token, &token, 1, next.filled, round);
      if (me == 0) {
        situ::wait_until(own.filled, round);
        token = *own.token.local();
      }
    }
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  situ::barrier();  // the mailboxes are needed until here

  if (me != 0) return 0;
  const long expected = static_cast<long>(rounds) * places * (places - 1) / 2;
  std::printf("%u places: the token is %ld, %s\n", places, token, token == expected ? "as it should be" : "wrong");
  std::printf("one hop: %.0f ns\n", took.count() / static_cast<double>(rounds * places));
  return token == expected ? 0 : 1;
}
