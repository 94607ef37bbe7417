// Fuzzes what a server of remote memory makes of a client's bytes: requests with wrong lengths, ranges, capabilities
// and flags, cut anywhere, in pieces of all sizes, to a client that takes its answers slowly. rmem_fuzz.h says of what
// an input consists.
#include "fuzz/rmem_fuzz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "os/bytes.h"
#include "rmem/follower.h"
#include "rmem/handshake.h"
#include "rmem/service.h"
#include "rmem/session.h"

namespace situ::test {
namespace {

using namespace rmem;
using namespace rmem::detail;

// What is put right in a head, by the bits of a step's first byte.
constexpr unsigned own = 1;          // the capability for all of the client's region
constexpr unsigned read_only = 2;    // the one to read some of it
constexpr unsigned ended = 3;        // one that has been revoked
constexpr unsigned which_one = 3;    // (0: as the head has it)
constexpr unsigned at_own = 4;       // the address counts from the client's region
constexpr unsigned at_others = 8;    // from another application's
constexpr unsigned slowly = 16;      // its answers are taken a few bytes at a time
constexpr unsigned in_pieces = 32;   // and it is sent so
constexpr unsigned ranges_too = 64;  // addresses in the body count as that of the head
constexpr unsigned untaken = 128;    // no answer is taken before the next step

constexpr std::uint64_t own_bytes = 24576;
constexpr std::uint64_t others_bytes = 4096;
constexpr std::uint64_t capacity = 65536;
constexpr std::size_t most_output = std::size_t{600} * 1024;
constexpr std::string_view marker = "bytes of nobody else";

[[noreturn]] void find(const char* what) {
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

class fuzzed_client {
 public:
  fuzzed_client()
      : service_{5, capacity, {}, {application_key{"one", {}, false}, application_key{"two", {}, true}}, 4},
        session_{service_, 1} {
    memory_table& memory = service_.memory();
    session_.allow_memory();
    (void)memory.allocate(own_bytes, 0, 1, capabilities_[own]);
    (void)memory.allocate(others_bytes, 1, 0, others_);
    const capability& mine = capabilities_[own];
    (void)memory.grant(0, mine, {mine.address + 8, 5000}, rights::read, any_application, capabilities_[read_only]);
    (void)memory.grant(0, mine, {mine.address, 64}, rights::all, any_application, capabilities_[ended]);
    (void)memory.revoke(0, capabilities_[ended].number, capabilities_[ended].secret);
    for (std::size_t i = 0; i < others_bytes; ++i) others_memory()[i] = std::byte(marker[i % marker.size()]);
    log_in();
  }

  rmem_outcome send(std::span<const std::byte> input) {
    while (!session_.has_ended() && input.size() > sizeof(request_head)) {
      const auto how = static_cast<unsigned>(input[0]);
      auto head = os::byte_reader{input.subspan(1)}.take<request_head>();
      input = input.subspan(1 + sizeof head);
      put_right(how, head);
      give(how, bytes_of(head));
      const bool has_data = head.operation == static_cast<std::uint16_t>(operation::write);
      const std::uint64_t wanted = head.body_bytes + (has_data ? std::min<std::uint64_t>(head.bytes, 1U << 20) : 0);
      std::vector<std::byte> rest(
          input.begin(), input.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(wanted, input.size())));
      input = input.subspan(rest.size());
      if ((how & ranges_too) != 0)
        for (std::size_t i = 0; i + sizeof(range) <= std::min<std::size_t>(rest.size(), head.body_bytes);
             i += sizeof(range)) {
          auto each = os::byte_reader{std::span{rest}.subspan(i)}.take<range>();
          each.address += base(how);
          std::memcpy(rest.data() + i, &each, sizeof each);
        }
      give(how, rest);
      if ((how & untaken) == 0) take(how);
    }
    take(0);
    check();
    outcome_.is_closed = session_.has_ended();
    return outcome_;
  }

 private:
  [[nodiscard]] std::byte* others_memory() {
    return const_cast<std::byte*>(service_.memory().memory_at(others_.address).data());
  }
  [[nodiscard]] std::uint64_t base(unsigned how) const {
    if ((how & at_own) != 0) return capabilities_[own].address;
    return (how & at_others) != 0 ? others_.address : 0;
  }

  void log_in() {
    const auto heard = os::byte_reader{session_.output()[0]}.take<hello>();
    session_.sent(sizeof heard);
    login said{protocol_magic, protocol_version, 0, fixed<application_bytes>("one"), {}, {}};
    said.proof = client_proof(service_.key_of(0), heard, said);
    give(0, bytes_of(said));
    session_.sent(sizeof(welcome));
    if (!session_.is_logged_in()) find("the login is refused");
  }

  void put_right(unsigned how, request_head& head) const {
    head.address += base(how);
    if (const unsigned which = how & which_one; which != 0) {
      head.grant = capabilities_[which].number;
      head.secret = capabilities_[which].secret;
    }
  }

  // As a socket would: what there is no room for waits until the client has taken some answers.
  void give(unsigned how, std::span<const std::byte> bytes) {
    while (!bytes.empty() && !session_.has_ended()) {
      const std::span<std::byte> room = session_.room();
      if (room.empty()) {
        if (output_bytes() == 0) find("there is neither room nor output");
        take_some(how);
        continue;
      }
      std::size_t now = std::min(room.size(), bytes.size());
      if ((how & in_pieces) != 0) now = std::min<std::size_t>(now, 1 + given_ % 37);
      std::memcpy(room.data(), bytes.data(), now);
      session_.received(now);
      given_ += now;
      bytes = bytes.subspan(now);
      if (output_bytes() > most_output) find("answers pile up");
    }
  }

  [[nodiscard]] std::size_t output_bytes() const { return session_.output()[0].size() + session_.output()[1].size(); }
  void take_some(unsigned how) {
    const session::pieces out = session_.output();
    std::size_t bytes = output_bytes();
    if ((how & slowly) != 0) bytes = std::min<std::size_t>(bytes, 1 + given_ % 501);
    const std::size_t first = std::min(bytes, out[0].size());
    taken_.insert(taken_.end(), out[0].begin(), out[0].begin() + static_cast<std::ptrdiff_t>(first));
    taken_.insert(taken_.end(), out[1].begin(), out[1].begin() + static_cast<std::ptrdiff_t>(bytes - first));
    if (session_.passing() >= 0) take_memory(session_.passing());
    session_.sent(bytes);
    read_answers();
  }
  // Keeps the file, and writes where it can: neither does the others harm.
  void take_memory(int file) {
    struct stat about{};
    std::array<std::byte, others_bytes> bytes;
    if (::fstat(file, &about) != 0 || about.st_size > static_cast<off_t>(own_bytes + notice_bytes) ||
        ::pread(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
      find("what is passed is no memory of this client's region");
    const auto text = std::as_bytes(std::span{marker});
    if (std::search(bytes.begin(), bytes.end(), text.begin(), text.end()) != bytes.end())
      find("memory of another application's region");
    const bool is_to_read = (::fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY;
    if (is_to_read != ((::fcntl(file, F_GET_SEALS) & F_SEAL_FUTURE_WRITE) != 0))
      find("memory that readers may write to");
    if (!is_to_read) bytes.fill(std::byte{0x5a});
    if (!is_to_read && ::pwrite(file, bytes.data(), bytes.size(), 0) < 0) find("memory that cannot be written to");
    if (kept_.size() < 8) kept_.emplace_back(::fcntl(file, F_DUPFD_CLOEXEC, 0));
    session_.passed();
  }
  void take(unsigned how) {
    while (output_bytes() > 0) take_some(how);
  }

  void read_answers() {
    std::size_t at = 0;
    while (taken_.size() - at >= sizeof(answer_head)) {
      const auto head = os::byte_reader{std::span{taken_}.subspan(at)}.take<answer_head>();
      if (head.status > static_cast<std::uint16_t>(status::not_supported) || head.flags > 2 ||
          head.body_bytes > most_output)
        find("an answer that is none");
      if (taken_.size() - at - sizeof head < head.body_bytes) break;
      at += sizeof head + head.body_bytes;
      if (head.flags == 0) ++(head.status == 0 ? outcome_.done : outcome_.refused);
    }
    const auto text = std::as_bytes(std::span{marker});
    if (std::search(taken_.begin(), taken_.begin() + static_cast<std::ptrdiff_t>(at), text.begin(), text.end()) !=
        taken_.begin() + static_cast<std::ptrdiff_t>(at))
      find("bytes of another application's region");
    taken_.erase(taken_.begin(), taken_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void check() {
    if (!taken_.empty()) find("half an answer");
    for (std::size_t i = 0; i < others_bytes; ++i)
      if (others_memory()[i] != std::byte(marker[i % marker.size()])) find("another application's region is changed");
    const memory_table& memory = service_.memory();
    if (memory.used_bytes() > capacity) find("more memory than there is");
    if (memory.capability_count() < memory.region_count() && outcome_.done == 0) find("a capability has gone");
  }

  service service_;
  session session_;
  std::array<capability, 4> capabilities_;
  capability others_;
  std::size_t given_ = 0;
  std::vector<std::byte> taken_;
  std::vector<os::descriptor> kept_;
  rmem_outcome outcome_;
};

// The same input once more, as what a member of a chain hears from the one before it: each step is a byte and a change,
// in a message of the right length and position.
std::size_t hear_as_member(std::span<const std::byte> input) {
  std::size_t done = 0;
  constexpr unsigned in_place = 1;  // its addresses and numbers count from the first that there are
  constexpr unsigned in_batch = 2;  // else in a part of a copy
  constexpr unsigned as_it_is = 4;  // any kind, however long it says that it is
  service member{5, capacity, {}, {application_key{"one", {}, false}, application_key{"two", {}, true}}, 4};
  member.become_replica(9, any_server, 0, "here");
  view_entry view{1, 9, 5, 1, 1, 0, 0, {}};
  view.chain[0] = {8, fixed<sizeof(endpoint_text)>("there")};
  member.member()->install(view, 1);
  follower source{member, 8};
  while (!source.has_ended() && input.size() > sizeof(change_head)) {
    const auto how = static_cast<unsigned>(input[0]);
    auto change = os::byte_reader{input.subspan(1)}.take<change_head>();
    input = input.subspan(1 + sizeof change);
    if ((how & as_it_is) == 0) {
      change.kind = 1 + change.kind % static_cast<std::uint32_t>(change_kind::slots);
      change.data_bytes = static_cast<std::uint32_t>(std::min<std::size_t>(change.data_bytes % 512, input.size()));
      if (change.owner[0] % 2 == 0) change.owner = fixed<application_bytes>("one");
    }
    if ((how & in_place) != 0) {
      change.address += (std::uint64_t{5} << offset_bits) + 4096;
      change.number += std::uint64_t{1} << 32;
      change.parent += std::uint64_t{1} << 32;
    }
    const auto data = input.first(std::min<std::size_t>(change.data_bytes, input.size()));
    input = input.subspan(data.size());
    const bool is_batch = (how & in_batch) != 0;
    const stream_head head{static_cast<std::uint32_t>(sizeof change + data.size()),
                           static_cast<std::uint32_t>(is_batch ? stream_kind::batch : stream_kind::snapshot),
                           member.member()->position() + (is_batch ? 1 : 0)};
    for (std::span<const std::byte> bytes : {bytes_of(head), bytes_of(change), data})
      while (!bytes.empty() && !source.has_ended()) {
        const std::span<std::byte> room = source.room();
        if (room.empty()) find("a member takes nothing");
        const std::size_t now = std::min(room.size(), bytes.size());
        std::memcpy(room.data(), bytes.data(), now);
        source.received(now);
        bytes = bytes.subspan(now);
      }
    done += !source.has_ended();
    if (!source.output()[0].empty()) source.sent(source.output()[0].size());
    if (member.memory().used_bytes() > capacity) find("a member takes more memory than it has");
  }
  return done;
}

void add_step(std::vector<std::byte>& to, unsigned how, const request_head& head, std::size_t following = 0) {
  to.push_back(std::byte(how));
  const auto bytes = bytes_of(head);
  to.insert(to.end(), bytes.begin(), bytes.end());
  for (std::size_t i = 0; i < following; ++i) to.push_back(std::byte(i));
}
void add_range(std::vector<std::byte>& to, range each) {
  const auto bytes = bytes_of(each);
  to.insert(to.end(), bytes.begin(), bytes.end());
}
request_head step(operation what, std::uint64_t at, std::uint64_t bytes, std::uint32_t body = 0,
                  std::uint64_t operand = 0, std::uint16_t flags = 0) {
  return {body, static_cast<std::uint16_t>(what), flags, 9, at, bytes, 0, {}, operand};
}

}  // namespace

rmem_outcome send_rmem_input(std::span<const std::byte> input) { return fuzzed_client{}.send(input); }
std::size_t hear_rmem_input(std::span<const std::byte> input) { return hear_as_member(input); }

std::vector<std::byte> rmem_stream() {
  std::vector<std::byte> made;
  const auto add = [&](unsigned how, change_kind what, change_head change, std::span<const std::byte> data = {}) {
    change.kind = static_cast<std::uint32_t>(what) - 1;  // counts from 0 here
    change.data_bytes = static_cast<std::uint32_t>(data.size());
    made.push_back(std::byte(how));
    for (const auto bytes : {bytes_of(change), data}) made.insert(made.end(), bytes.begin(), bytes.end());
  };
  change_head region{};
  region.bytes = 8192;
  change_head part{};
  part.address = 16;
  part.bytes = 64;
  part.number = 1;
  part.may = 3;
  change_head client{};
  client.client = 77;
  change_head first{};
  first.address = 5;
  const range where{(std::uint64_t{5} << offset_bits) + 4096 + 8, 4};
  std::vector<std::byte> bytes(sizeof where + where.bytes, std::byte{1});
  std::memcpy(bytes.data(), &where, sizeof where);
  change_head one_range{};
  one_range.number = 1;
  const std::array<std::uint32_t, 2> uses{1, 1};
  add(0, change_kind::begin, first);
  add(1, change_kind::allocate, region);
  add(1, change_kind::grant, part);
  add(0, change_kind::client, client);
  add(1, change_kind::slots, {}, std::as_bytes(std::span{uses}));
  add(0, change_kind::bytes, one_range, bytes);
  add(2, change_kind::bytes, one_range, bytes);
  add(2, change_kind::done, client);
  add(3, change_kind::revoke, part);
  add(3, change_kind::free, {});
  return made;
}

std::vector<rmem_seed> rmem_seeds() {
  std::vector<rmem_seed> seeds;
  const auto begin = [&](const char* name, std::size_t done) -> std::vector<std::byte>& {
    return seeds.emplace_back(rmem_seed{name, {}, done}).input;
  };
  using enum operation;
  auto* input = &begin("write-and-read", 4);
  add_step(*input, own | at_own, step(write, 100, 300), 300);
  add_step(*input, own | at_own | in_pieces, step(write, 1, 300, 0, 0, flag_two_steps), 300);
  add_step(*input, own | at_own | slowly, step(read, 0, own_bytes));
  add_step(*input, read_only | at_own | untaken, step(read, 8, 5000));
  input = &begin("parts", 2);
  add_step(*input, own | at_own | ranges_too, step(write, 0, 20, 32));
  add_range(*input, {16, 12});
  add_range(*input, {4000, 8});
  input->insert(input->end(), 20, std::byte{7});
  add_step(*input, own | at_own | ranges_too, step(read, 0, 5008, 32));
  add_range(*input, {0, 5000});
  add_range(*input, {8192, 8});
  input = &begin("words", 2);
  add_step(*input, own | at_own, step(fetch_add, 8, 8, 0, 3));
  add_step(*input, own | at_own, step(compare_swap, 8, 8, 8, 3), 8);
  add_step(*input, read_only | at_own, step(fetch_add, 8, 8, 0, 3));
  add_step(*input, own | at_own, step(fetch_add, 4, 8, 0, 3));
  input = &begin("others", 0);
  add_step(*input, own | at_others, step(read, 0, 64));
  add_step(*input, own | at_others, step(write, 0, 64), 64);
  add_step(*input, at_others, step(free, 0, 0));
  add_step(*input, ended | at_own, step(read, 0, 64));
  add_step(*input, own | at_own, step(read, own_bytes - 8, 9));
  input = &begin("regions", 6);
  add_step(*input, 0, step(allocate, 0, 5000, 0, 0, flag_with_session));
  add_step(*input, own | at_own, step(grant, 8, 16, 0, 3));
  add_step(*input, own | at_own, step(revoke, 0, 0));
  add_step(*input, at_own, step(free, 0, 0));
  add_step(*input, 0, step(list_regions, 0, 0));
  add_step(*input, 0, step(statistics, 0, 0));
  add_step(*input, 0, step(allocate, 0, capacity));
  input = &begin("names", 4);
  const name_entry entry{fixed<48>("a"), fixed<208>("b")};
  const auto named = bytes_of(entry);
  add_step(*input, 0, step(link_name, 0, 0, 256));
  input->insert(input->end(), named.begin(), named.end());
  for (const operation what : {resolve_name, list_names, unlink_name}) {
    add_step(*input, 0, step(what, 0, 0, 48));
    input->insert(input->end(), named.begin(), named.begin() + 48);
  }
  input = &begin("too-long", 0);
  add_step(*input, own | at_own, step(write, 0, ~std::uint64_t{0}), 100);
  input = &begin("freed-while-it-is-read", 2);
  add_step(*input, own | at_own | untaken, step(read, 0, own_bytes));
  add_step(*input, at_own, step(free, 0, 0));
  input = &begin("mapped-to-read", 6);
  add_step(*input, own | at_own, step(map_to_read, 0, own_bytes));
  add_step(*input, read_only | at_own, step(map_to_read, 8, 5000));
  add_step(*input, own | at_own, step(map_to_read, 0, own_bytes - 8));
  add_step(*input, own | at_own, step(map_memory, 0, own_bytes));
  add_step(*input, own | at_own, step(write, 0, 64), 64);
  add_step(*input, 0, step(statistics, 0, 0));
  add_step(*input, own | at_own | untaken, step(read, 0, own_bytes));
  add_step(*input, own | at_own, step(revoke, 0, 0));
  add_step(*input, own | at_own, step(map_to_read, 0, own_bytes));
  add_step(*input, at_own, step(free, 0, 0));
  input = &begin("mapped", 4);
  add_step(*input, own | at_own | slowly, step(map_memory, 0, own_bytes));
  add_step(*input, own | at_own, step(map_memory, 0, own_bytes));
  add_step(*input, own | at_own, step(map_to_read, 0, own_bytes));
  add_step(*input, own | at_own, step(read, 0, own_bytes));
  add_step(*input, at_own, step(free, 0, 0));
  add_step(*input, 0, step(allocate, 0, capacity / 2));
  return seeds;
}

}  // namespace situ::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  situ::test::send_rmem_input(std::as_bytes(std::span{data, size}));
  situ::test::hear_rmem_input(std::as_bytes(std::span{data, size}));
  return 0;
}
