// Damaged messages in a channel: each is refused with bad_message, or taken for no message yet, or runs a handler that
// sees only what lies within the message. The receiver's state does not move when it refuses, so that the right message
// is still taken afterwards.
#include "support/endpoints.h"
#include "support/places.h"

#include <situ/fabric/am.h>

#include <cstring>
#include <memory>
#include <random>

#include "fuzz/allocation_watch.h"

namespace situ::detail {
namespace {

using test::mixed;

// What the handlers of this test saw: that all of it can be read is the point.
struct sight {
  std::uint64_t runs = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0;
};
thread_local sight seen;

// A long message with a flipped size may show open memory of this place that is not allocated, which ASan would report.
__attribute__((no_sanitize("address"))) void look_at(std::span<const std::byte> payload) {
  ++seen.runs;
  seen.bytes += payload.size();
  const std::byte* const bytes = payload.data();
  for (std::size_t i = 0; i < payload.size(); ++i) seen.sum += static_cast<std::uint64_t>(bytes[i]);
}
void on_short(am::token&, std::uint64_t a, bool b, double c) {
  look_at({});
  seen.sum += a + (b ? 1 : 0) + (c > 0 ? 1 : 0);
}
void on_many(am::token&, int a, int b, int c, int d, int e, int f, int g, int h, int i) {
  look_at({});
  // damaged ones may overflow an int
  for (const int each : {a, b, c, d, e, f, g, h, i}) seen.sum += static_cast<std::uint64_t>(each);
}
void on_medium(am::token&, std::span<std::byte> payload, std::uint64_t a) {
  look_at(payload);
  seen.sum += a;
}

class hostile_cell : public testing::Test {
 protected:
  std::unique_ptr<test::local_endpoints> places = std::make_unique<test::local_endpoints>(2);
  ptr<void> landing = make_landing();

  // Both ends as at the start: for when they no longer agree on where they are in the ring.
  void renew() {
    places.reset();
    places = std::make_unique<test::local_endpoints>(2);
    landing = make_landing();
  }
  [[nodiscard]] ptr<void> make_landing() {
    const test::acting_as target{places->context(1)};
    return situ::allocate_bytes(4096);
  }

  // Sends one of several kinds of message; returns its cell.
  cell& send(std::uint64_t kind) {
    const test::acting_as sender{places->context(0)};
    outgoing& out = (*places)[0].requests_to(1);
    cell& c = out.to->cells[out.sent % channel::cell_count];
    const std::vector<std::byte> payload = test::pattern(kind % 3 == 0 ? 100 : 3000, kind);
    switch (kind % 5) {
      case 0: am::request_short<on_short>(place{1}, kind, true, 0.5); break;
      case 1: am::request_short<on_many>(place{1}, 1, 2, 3, 4, 5, 6, 7, 8, 9); break;
      case 2: am::request_medium<on_medium>(place{1}, payload, kind); break;
      case 3: am::request_medium<on_medium>(place{1}, std::span{payload}.first(10), kind); break;
      default: am::request_long<on_medium>(place{1}, landing, std::span{payload}.first(100), kind);
    }
    return c;
  }

  static constexpr std::size_t most_for_an_error = 4096;  // its text, with what is put together for it
  enum class verdict { refused, ignored, ran };
  verdict receive() {
    const test::acting_as target{places->context(1)};
    const std::uint64_t before = seen.runs;
    const test::allocation_peak taken;
    try {
      (*places)[1].poll(true);
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::bad_message) << e.what();
      EXPECT_EQ(seen.runs, before);
      EXPECT_LE(taken.bytes(), most_for_an_error);
      return verdict::refused;
    }
    EXPECT_EQ(taken.bytes(), 0U);
    return seen.runs == before ? verdict::ignored : verdict::ran;
  }

  // Damages the cell, receives, repairs it, and receives again.
  template <class Damage>
  verdict receive_damaged(cell& c, Damage damage) {
    struct parts {
      std::uint64_t header, handler, words[cell::word_count];
    };
    static_assert(sizeof(parts) == sizeof(cell));
    parts right;
    std::memcpy(&right, static_cast<const void*>(&c), sizeof(right));
    parts wrong = right;
    damage(wrong.header, wrong.handler, wrong.words);
    std::memcpy(static_cast<void*>(&c), &wrong, sizeof(wrong));
    const verdict v = receive();
    std::memcpy(static_cast<void*>(&c), &right, sizeof(right));
    if (v != verdict::ran) {
      EXPECT_EQ(receive(), verdict::ran) << "the repaired message is lost";
    }
    return v;
  }
};

// A handler's name that is none: outside the executable's code, and of no other module.
std::uint64_t no_function(std::uint64_t random) {
  const std::uint64_t end = own_code.begin + own_code.bytes;
  switch (random % 4) {
    case 0: return random / 4 % own_code.begin;                               // headers and constants before the code
    case 1: return end + random / 4 % (std::uint64_t{1} << 31);               // behind it
    case 2: return (1 + random / 4 % 65535) << 32 | UINT32_MAX;               // some module, far behind its code
    default: return std::uint64_t{0xfffe} << 32 | (random / 4 & UINT32_MAX);  // a module that is not loaded
  }
}

TEST_F(hostile_cell, handlers_that_are_no_functions_are_refused) {
  std::mt19937_64 random{test::test_seed()};
  for (int i = 0; i < test::rounds(2000); ++i) {
    cell& c = send(random());
    const std::uint64_t id = no_function(random());
    ASSERT_EQ(find_function(id), nullptr) << std::hex << id;
    ASSERT_EQ(receive_damaged(c, [&](std::uint64_t&, std::uint64_t& handler,
                                     std::uint64_t*) { handler = (handler & 0xffff'0000'0000'0000) | id; }),
              verdict::refused);
  }
}

TEST_F(hostile_cell, wrong_counts_and_kinds_are_refused) {
  std::mt19937_64 random{test::test_seed()};
  for (int i = 0; i < test::rounds(2000); ++i) {
    cell& c = send(random());
    const std::uint64_t right = c.header.load() & 0xff;
    std::uint64_t arguments = random() % 256;
    while (arguments == right) arguments = random() % 256;
    ASSERT_EQ(receive_damaged(c, [&](std::uint64_t& header, std::uint64_t&,
                                     std::uint64_t*) { header = (header & ~std::uint64_t{0xff}) | arguments; }),
              verdict::refused)
        << arguments;
    cell& next = send(random());
    const std::uint64_t kind = random() % 2 == 0 ? 0 : 5 + random() % 251;
    ASSERT_EQ(receive_damaged(next, [&](std::uint64_t& header, std::uint64_t&,
                                        std::uint64_t*) { header = (header & ~std::uint64_t{0xff00}) | kind << 8; }),
              verdict::refused)
        << kind;
  }
}

TEST_F(hostile_cell, payloads_larger_than_their_room_are_refused) {
  cell& c = send(2);
  EXPECT_EQ(receive_damaged(c, [](std::uint64_t&, std::uint64_t& handler,
                                  std::uint64_t*) { handler |= std::uint64_t{0xffff} << 48; }),
            verdict::refused);
  cell& in_cell = send(3);  // ten bytes in the cell, behind one argument: forty would fit
  EXPECT_EQ(receive_damaged(in_cell,
                            [](std::uint64_t&, std::uint64_t& handler, std::uint64_t*) {
                              handler = (handler & 0xffff'ffff'ffff) | std::uint64_t{41} << 48;
                            }),
            verdict::refused);
}

TEST_F(hostile_cell, long_payloads_outside_the_own_segment_are_refused) {
  std::mt19937_64 random{test::test_seed()};
  const std::uint64_t extent = places->control().slot(1).extent.load();
  const std::uintptr_t heap =
      places->context(1).base + (std::uintptr_t{1} << places->context(1).slice_shift) + places->context(1).heap_offset;
  for (int i = 0; i < test::rounds(1000); ++i) {
    cell& c = send(4);
    std::uint64_t address = 0, bytes = 1 + random() % 1000;
    switch (random() % 5) {
      case 0: address = random(); break;
      case 1: address = heap - 1 - random() % 5000; break;
      case 2: address = heap + extent - random() % bytes; break;                // the end sticks out
      case 3: address = heap, bytes = ~std::uint64_t{0} - random() % 2; break;  // address + bytes wraps around
      default: address = heap - (std::uintptr_t{1} << places->context(1).slice_shift);
    }
    ASSERT_EQ(receive_damaged(c, [&](std::uint64_t&, std::uint64_t&,
                                     std::uint64_t* words) { words[4] = address, words[5] = bytes; }),
              verdict::refused)
        << std::hex << address << ' ' << bytes;
  }
  // As a message of another kind: then these words are anything.
  cell& c = send(4);
  EXPECT_EQ(receive_damaged(c,
                            [&](std::uint64_t& header, std::uint64_t&, std::uint64_t* words) {
                              header = (header & ~std::uint64_t{0xff00}) | std::uint64_t{1} << 8;
                              words[4] = random(), words[5] = random();
                            }),
            verdict::refused);
}

TEST_F(hostile_cell, another_sequence_number_is_no_message_yet) {
  std::mt19937_64 random{test::test_seed()};
  for (int i = 0; i < test::rounds(500); ++i) {
    cell& c = send(random());
    const std::uint64_t flip = 1 + random() % UINT32_MAX;
    ASSERT_EQ(receive_damaged(c, [&](std::uint64_t& header, std::uint64_t&, std::uint64_t*) { header ^= flip << 32; }),
              verdict::ignored);
  }
}

// Any bits anywhere but the function's name (a wrong one within the code cannot be told from a right one). Whatever the
// handler is then shown lies within the cell, the ring, or this place's heap, which are all readable: the sums touch
// every byte.
TEST_F(hostile_cell, flipped_bits_never_lead_outside) {
  std::mt19937_64 random{test::test_seed()};
  std::uint64_t verdicts[3]{};
  for (int i = 0; i < test::rounds(20000); ++i) {
    cell& c = send(random());
    bool other_sizes = false;
    const verdict v = receive_damaged(c, [&](std::uint64_t& header, std::uint64_t& handler, std::uint64_t* words) {
      const std::uint64_t right[] = {header, handler};
      for (std::uint64_t flips = 1 + random() % 6; flips > 0; --flips) {
        const std::uint64_t bit = std::uint64_t{1} << random() % 64;
        switch (random() % 4) {
          case 0: header ^= bit & UINT32_MAX; break;
          case 1: handler ^= bit & 0xffff'0000'0000'0000; break;
          default: words[random() % cell::word_count] ^= bit;
        }
      }
      other_sizes = header != right[0] || handler != right[1];
    });
    ++verdicts[static_cast<int>(v)];
    if (v == verdict::ran && other_sizes) renew();
  }
  EXPECT_GT(verdicts[static_cast<int>(verdict::refused)], 0U);
  EXPECT_GT(verdicts[static_cast<int>(verdict::ran)], 0U);
}

}  // namespace
}  // namespace situ::detail
