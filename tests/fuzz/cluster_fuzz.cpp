// Hostile operations and messages to a host's server. See cluster_fuzz.h for what an input is.
#include "fuzz/cluster_fuzz.h"

#include <situ/base/log.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "cluster/delivery.h"
#include "cluster/hosts_alive.h"
#include "cluster/operations.h"
#include "cluster/survivors_agreement.h"
#include "memory/heap.h"
#include "memory/job.h"
#include "memory/segment.h"
#include "os/bytes.h"

namespace situ::test {
namespace {

using namespace situ::detail;
using namespace situ::detail::cluster;

enum step_flags : unsigned {
  at_block = 1,         // the address counts from the server's block
  second_at_block = 2,  // the second word, too
  at_other = 4,         // the address counts from the slice of the place that asks
  comes_late = 8,       // so much data that it comes after the head: 64 times as long, and of zeros
  as_stranger = 16,     // by an end that is no place's
  is_answer = 32,
  is_message = 64,  // with is_answer: that a place asks for credit; with comes_late: all is taken in afterwards
};

constexpr std::size_t private_bytes = std::size_t{64} << 10;  // of each slice, before its heap
constexpr std::size_t block_bytes = 10'000;
constexpr std::uint64_t secret = 0x5ec3e7'5ec3e7'5eULL;
constexpr std::size_t secret_words = 512;  // at the begin of each slice, where channels would be
constexpr place_home homes[]{{0, 0}, {1, 0}};
constexpr std::array<place_home, 3> rest_homes{{{0, 0}, {1, 0}, {2, 0}}};  // for survivors()

// Compared by its image: the fuzzer learns what words are compared with, and would put the secret there itself.
bool is_secret(std::uint64_t word) noexcept {
  const auto image = [](std::uint64_t of) { return (of ^ of >> 29) * 0x9e3779b97f4a7c15ULL; };
  static const std::uint64_t kept = image(secret);
  return image(word) == kept;
}

[[noreturn]] void find(const char* what) {
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

// Place 1 and its memory, for all inputs.
struct world {
  job shared = job::create({.place_count = 2, .memory_budget = std::uint64_t{64} << 20});
  address_space space = address_space::map(shared, 2);
  std::array<std::uint64_t, 2> limits{};
  place_context context;
  std::optional<detail::segment> memory;
  std::unique_ptr<channel_pair> channels;
  bool are_channels_used = true;

  world() {
    (void)set_log_sink([](log_level, std::string_view) {});
    job_control& control = shared.control();
    context.base = space.base();
    context.slice_shift = control.slice_shift;
    context.slice_mask = (std::uintptr_t{1} << control.slice_shift) - 1;
    context.heap_offset = segment::heap_offset(control, private_bytes);
    context.limit = limits.data();
    context.place_count = 2;
    context.place = 1;
    context.awaited_words = reinterpret_cast<const std::byte*>(&control.slot(0).awaited);
    context.job = &control;
    memory.emplace(control, slice(1), 1, private_bytes);
    for (std::uint32_t p = 0; p < 2; ++p) std::fill_n(words_of(p), secret_words, secret);
  }
  [[nodiscard]] std::uintptr_t slice(std::uint32_t place) const noexcept {
    return context.base + (std::uintptr_t{place} << context.slice_shift);
  }
  [[nodiscard]] std::uint64_t* words_of(std::uint32_t place) const noexcept {
    return reinterpret_cast<std::uint64_t*>(slice(place));
  }
  [[nodiscard]] bool is_open(const std::byte* at, std::uint64_t bytes) {
    const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(at) - slice(1) - context.heap_offset;
    const std::uint64_t extent = shared.control().slot(1).extent.load();
    return offset < extent && bytes <= extent - offset;
  }
};
world& the_world() {
  static world only;
  return only;
}

class fuzzed_server final : host_wire {
 public:
  fuzzed_server()
      : operations_{world_.context, homes, 1, *this}, messages_{world_.shared.control(), homes, 1, *this, operations_} {
    operations_.add_peer(0, 0);
    // As large as many inputs together.
    if (std::exchange(world_.are_channels_used, false)) world_.channels.reset(new channel_pair);
    messages_.add_place(1, *channels_);
    block_ = static_cast<std::byte*>(world_.memory->allocate(block_bytes, 64));
    // A server reads and writes whatever is open; that no block of its is there is not its fault.
    ASAN_UNPOISON_MEMORY_REGION(reinterpret_cast<void*>(world_.slice(1) + world_.context.heap_offset),
                                world_.shared.control().slot(1).extent.load());
    std::memset(block_, 1, block_bytes);
  }
  ~fuzzed_server() override {
    (void)world_.memory->statistics();  // takes in what was given back from elsewhere
    const auto found = segment::find_block(world_.context, reinterpret_cast<std::uintptr_t>(block_));
    if (found && found->live) (void)world_.memory->deallocate(block_);
  }

  cluster_outcome send(std::span<const std::byte> input) {
    while (input.size() > 4) {
      const auto how = static_cast<unsigned>(input[0]);
      const auto head_bytes = std::min<std::size_t>(static_cast<std::size_t>(input[1]) * 2, input.size() - 4);
      const std::size_t data_bytes = static_cast<std::size_t>(input[2]) | static_cast<std::size_t>(input[3]) << 8;
      std::vector<std::byte> head{input.begin() + 4, input.begin() + 4 + static_cast<std::ptrdiff_t>(head_bytes)};
      input = input.subspan(4 + head_bytes);
      const std::size_t data_given = std::min(data_bytes, input.size());
      const std::vector<std::byte> data{input.begin(), input.begin() + static_cast<std::ptrdiff_t>(data_given)};
      input = input.subspan(data_given);
      put_right(how, head);
      give(how, head, data);
      check();
    }
    const operations::counts& count = operations_.count();
    const delivery::counts& messages = messages_.count();
    return {count.done + messages.delivered, count.denied, count.dropped + messages.dropped};
  }

 private:
  void send(wire_peer to, wire_message kind, std::span<const std::byte> head,
            std::span<const std::byte> data) noexcept override {
    if (credit_head credit; kind == wire_message::credit) {
      if (to > 1 || parse_credit(head, data.size(), credit) != nullptr || credit.source != 0 || credit.target != 1)
        find("credit that is none");
      if (credit.cells > messages_.count().delivered) find("credit for more than was delivered");
      return;
    }
    parsed_answer answer;
    if (to > 1 || kind != wire_message::answer || parse_answer(head, data.size(), answer) != nullptr)
      find("an answer that is none");
    if (data.size() > most_piece_bytes) find("an answer that is too long");
    for (std::size_t i = 0; i + 8 <= data.size(); ++i)
      if (std::uint64_t word = 0; std::memcpy(&word, data.data() + i, 8), is_secret(word))
        find("memory that is not open");
    if (is_secret(answer.head.value)) find("a word that is not open");
    ++answers_;
  }
  void give_up(wire_peer) noexcept override {}
  bool progress(wire_receiver&) override { return false; }
  bool arm() noexcept override { return true; }
  int descriptor() const noexcept override { return -1; }
  bool is_idle() const noexcept override { return true; }

  void put_right(unsigned how, std::vector<std::byte>& head) const {
    if (head.size() < sizeof(operation_head)) return;
    auto is = os::byte_reader{head}.take<operation_head>();
    if ((how & at_block) != 0) is.address += reinterpret_cast<std::uintptr_t>(block_);
    if ((how & second_at_block) != 0) is.second += reinterpret_cast<std::uintptr_t>(block_);
    if ((how & at_other) != 0) is.address += world_.slice(0);
    std::memcpy(head.data(), &is, sizeof is);
  }

  // As a server does that is the second of three.
  void hear(const parsed_news& news) {
    constexpr std::uint16_t hosts = 3;
    if (news.head.host >= hosts || news.head.host == 1 || !news.alive.hosts.is_part_of(host_set::first_hosts(hosts)))
      return;
    now_ += std::chrono::milliseconds{news.alive.number % 300};
    alive_.hear(news.head.host, news.alive, now_);
    alive_.turn(now_);
    for (const hosts_alive::letter& each : alive_.take_letters()) {
      parsed_news again;
      if (each.to >= hosts || parse_news(pack_news(each.what, 1, hosts).bytes(), 0, again) != nullptr ||
          again.alive.hosts != each.what.hosts)
        find("news of this server that are none");
    }
    if (!alive_.has_ended() && !alive_.living().has(1)) find("a host goes on that is left out");
  }

  // As a server of the second host does; the decider is the first.
  void hear_rest(std::uint16_t from, const rest_news& news) {
    place_set living{static_cast<std::uint32_t>(rest_homes.size())};
    for (std::uint32_t place = 0; place < living.size(); ++place) living.add(place);
    rest_.look({.hosts = host_set::first_hosts(3), .living = living, .round = 1});
    const std::uint64_t before = rest_.round();
    rest_.hear(from, news);
    if (rest_.round() < before) find("a round of survivors() goes back");
    for (const survivors_agreement::letter& each : rest_.take_letters()) {
      const packed_rest packed = pack_rest(each.what, 1);
      parsed_news head;
      rest_news again;
      if (each.to >= 3 || parse_news(packed.head.bytes(), packed.data.size(), head) != nullptr ||
          parse_rest(head, packed.data, static_cast<std::uint32_t>(rest_homes.size()), again) != nullptr ||
          again != each.what)
        find("news of survivors() that are none");
    }
  }

  void give(unsigned how, std::span<const std::byte> head, std::span<const std::byte> data) {
    if ((how & is_message) != 0) return give_message(how, head, data);
    if ((how & is_answer) != 0) {
      parsed_answer answer;
      (void)parse_answer(head, data.size(), answer);
      parsed_news news;
      if (parse_news(head, data.size(), news) != nullptr) return;
      if (news.text.size() > head.size()) find("news with more text than came");
      if (is_of_living(static_cast<host_news>(news.head.what))) hear(news);
      rest_news of_rest;
      if (static_cast<host_news>(news.head.what) == host_news::rest && news.head.host < 3 &&
          parse_rest(news, data, static_cast<std::uint32_t>(rest_homes.size()), of_rest) == nullptr)
        hear_rest(news.head.host, of_rest);
      return;
    }
    const wire_peer from = (how & as_stranger) != 0 ? 1 : 0;
    ++sent_;
    if ((how & comes_late) == 0) return operations_.received(from, head, data);
    const std::uint64_t bytes = 64 * data.size();
    std::byte* const room = operations_.room_for(from, head, bytes);
    if (room == nullptr) return;
    if (!world_.is_open(room, bytes)) find("data goes where nothing is open");
    std::memset(room, 0, bytes);
    operations_.received(from, head, {room, bytes});
  }

  void give_message(unsigned how, std::span<const std::byte> head, std::span<const std::byte> data) {
    const wire_peer from = (how & as_stranger) != 0 ? 1 : 0;
    const auto kind = (how & is_answer) != 0 ? wire_message::credit : wire_message::message;
    messages_.received(from, kind, head, data);
    world_.are_channels_used = true;
    if (kind == wire_message::message) ++messages_given_;
    if ((how & comes_late) == 0) return;
    do {
      take_in(channels_->request, taken_[0]);
      take_in(channels_->reply, taken_[1]);
    } while (messages_.deliver());
  }

  struct taken_part {
    std::uint64_t cells = 0;
    std::uint64_t data = 0;
  };
  // As a place does, which finds nothing there that is not as it should be.
  void take_in(channel& from, taken_part& part) {
    for (;; ++part.cells) {
      const cell& c = from.cells[part.cells % channel::cell_count];
      const std::uint64_t header = c.header.load(std::memory_order_acquire);
      if (header >> 32 != part.cells + 1) break;
      const message_form form{.kind = static_cast<message_kind>(header >> 8 & 0xff),
                              .arguments = static_cast<std::uint32_t>(header & 0xff),
                              .payload_bytes = static_cast<std::uint32_t>(c.handler >> 48),
                              .payload_in_cell = (header >> 16 & 1) != 0};
      if (source_in(header) != 0 || form.kind < message_kind::short_message || form.kind > message_kind::call ||
          form.arguments > max_arguments || form.words_used() > cell::word_count ||
          form.record_bytes() > channel::data_bytes)
        find("a message in a channel that is none");
      if (form.record_bytes() != 0) part.data = next_record(part.data, form.record_bytes()).end;
    }
    from.consumed.data.store(part.data, std::memory_order_release);
    from.consumed.cells.store(part.cells, std::memory_order_release);
  }

  void check() {
    const delivery::counts& messages = messages_.count();
    if (messages.delivered > messages_given_) find("more messages than came");
    if (messages.most_held_bytes > channel::data_bytes) find("more is held than a window");
    const operations::counts& count = operations_.count();
    if (count.done + count.denied != answers_) find("more answers, or fewer, than operations");
    if (count.done + count.denied + count.dropped != sent_) find("a message of which nothing is known");
    for (std::uint32_t p = 0; p < 2; ++p)
      if (std::any_of(world_.words_of(p), world_.words_of(p) + secret_words,
                      [](auto word) { return !is_secret(word); }))
        find("memory is changed that is not open");
  }

  world& world_ = the_world();
  operations operations_;
  hosts_alive alive_{3, 1, hosts_alive::limits::of(std::chrono::milliseconds{100}), {}};
  survivors_agreement rest_{rest_homes, 3, 1};
  hosts_alive::time now_{};
  std::byte* block_ = nullptr;
  std::size_t sent_ = 0;
  std::size_t answers_ = 0;
  delivery messages_;
  std::unique_ptr<channel_pair>& channels_ = world_.channels;
  std::array<taken_part, 2> taken_;
  std::size_t messages_given_ = 0;
};

template <class Head>
void add_step(std::vector<std::byte>& to, unsigned how, const Head& head, std::size_t data_bytes = 0,
              std::span<const std::uint64_t> shape = {}) {
  to.push_back(std::byte(how));
  to.push_back(std::byte((sizeof head + shape.size_bytes()) / 2));
  to.push_back(std::byte(data_bytes & 0xff));
  to.push_back(std::byte(data_bytes >> 8));
  for (const std::byte each : os::bytes_of(head)) to.push_back(each);
  for (const std::byte each : std::as_bytes(shape)) to.push_back(each);
  to.insert(to.end(), data_bytes, std::byte{3});
}
operation_head step(far_operation what, std::uint64_t address, std::uint64_t bytes, std::uint64_t second = 0,
                    std::uint64_t third = 0) {
  operation_head head{.what = static_cast<std::uint8_t>(what)};
  head.address = address;
  head.bytes = bytes;
  head.second = second;
  head.third = third;
  return head;
}

}  // namespace

cluster_outcome send_cluster_input(std::span<const std::byte> input) { return fuzzed_server{}.send(input); }

std::vector<cluster_seed> cluster_seeds() {
  using enum far_operation;
  std::vector<cluster_seed> seeds;
  const auto begin = [&](const char* name, std::size_t done) -> std::vector<std::byte>& {
    return seeds.emplace_back(cluster_seed{name, {}, done}).input;
  };
  auto* input = &begin("put-and-get", 3);
  add_step(*input, at_block, step(put, 8, 100), 100);
  add_step(*input, at_block, step(get, 0, 5000, 5000));
  add_step(*input, at_block | comes_late, step(put, 0, 6400), 100);
  add_step(*input, at_block | comes_late, step(put, 0, 6400, std::uint64_t{1} << 40), 100);
  add_step(*input, at_other, step(get, 0, 8));
  add_step(*input, at_block | as_stranger, step(get, 0, 8));
  input = &begin("boxes", 2);
  const std::uint64_t shape[]{std::uint64_t{4} << 32 | 2, 3, 5, 50, static_cast<std::uint64_t>(-2)};
  add_step(*input, at_block | second_at_block, step(box_put, 100, 60, 0, 1000), 60, shape);
  add_step(*input, at_block | second_at_block, step(box_get, 100, 60, 0, 1000), 0, shape);
  const std::uint64_t far[]{std::uint64_t{8} << 32 | 1, 2, std::uint64_t{1} << 60};
  add_step(*input, at_block | second_at_block, step(box_get, 0, 16, 0, 16), 0, far);
  input = &begin("words", 10);
  for (std::uint8_t i = 0; i < word_operations; ++i) {
    operation_head head = step(atomic, 8, 5, 7);
    head.how = i;
    head.type = static_cast<std::uint8_t>(word_type::int64);
    add_step(*input, at_block, head);
  }
  operation_head real = step(atomic, 16, 0);
  real.how = static_cast<std::uint8_t>(word_operation::fetch_xor);
  real.type = static_cast<std::uint8_t>(word_type::float64);
  add_step(*input, at_block, real);
  input = &begin("signals", 2);
  operation_head signal = step(put_signal, 64, 40, 0, 9);
  add_step(*input, at_block | second_at_block, signal, 40);
  signal.how = operation_head::adds;
  signal.type = static_cast<std::uint8_t>(word_type::float64);
  add_step(*input, at_block | second_at_block, signal, 40);
  signal.second = 4;
  add_step(*input, at_block | second_at_block, signal, 40);
  input = &begin("given-back", 1);
  add_step(*input, at_block, step(give_back, 0, 0));
  add_step(*input, at_block, step(give_back, 0, 0));
  add_step(*input, at_block, step(give_back, 8, 0));
  input = &begin("answer", 0);
  add_step(*input, is_answer, step(put, 0, 0));
  input = &begin("messages", 7);
  const std::uint64_t words[]{1, 2, 3, 4, 5, 6};
  const auto message = [&](std::uint32_t sequence, message_kind kind, std::uint8_t arguments, std::uint64_t payload,
                           std::uint8_t is_reply = 0) {
    return message_head{.target = 1,
                        .source = 0,
                        .sequence = sequence,
                        .channel = is_reply,
                        .kind = static_cast<std::uint8_t>(kind),
                        .arguments = arguments,
                        .payload_in_cell = payload <= 8,
                        .handler = payload << 48 | 77};
  };
  const std::span<const std::uint64_t> all{words};
  add_step(*input, is_message, message(1, message_kind::short_message, 2, 0), 0, all.first(2));
  add_step(*input, is_message, message(3, message_kind::medium_message, 1, 500), 500, all.first(1));  // early
  add_step(*input, is_message, message(3, message_kind::medium_message, 1, 500), 500, all.first(1));  // twice
  add_step(*input, is_message | comes_late, message(2, message_kind::long_message, 3, 0), 0, all);
  add_step(*input, is_message, message(4, message_kind::call, 9, 0), 24, all);
  add_step(*input, is_message, message(1, message_kind::medium_message, 5, 8, 1), 0, all);
  add_step(*input, is_message | is_answer, credit_head{.source = 0, .target = 1});
  add_step(*input, is_message | as_stranger, message(5, message_kind::short_message, 0, 0));
  add_step(*input, is_message, message(5, message_kind::medium_message, 0, 60'000), 60'000);
  add_step(*input, is_message | comes_late, message(6, message_kind::call, 0, 60'000), 60'000);
  add_step(*input, is_message, message(300, message_kind::call, 0, 0));
  return seeds;
}

}  // namespace situ::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)situ::test::send_cluster_input(std::as_bytes(std::span{data, size}));
  return 0;
}
