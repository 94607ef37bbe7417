// Memory that a server on this host passes to readers: to whom, that nobody writes by it, what a revocation takes away,
// and what of it counts.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "rmem/handshake.h"
#include "rmem/memory_table.h"
#include "rmem/servers.h"
#include "rmem/session.h"

using namespace situ_rmem_test;
using namespace situ::rmem::detail;

namespace {

constexpr std::uint64_t capacity = 8 * mebibyte;

rmem::server_options at_socket_and_port() {
  auto made = options_of(capacity);
  made.most_mapped_bytes = 2 * mebibyte;
  made.listen = {"unix:" + testing::TempDir() + "situ-rmem-readers-" + std::to_string(::getpid()), "127.0.0.1:0"};
  return made;
}

os::descriptor open_again(int file, int how) {
  return os::descriptor{::open(("/proc/self/fd/" + std::to_string(file)).c_str(), how | O_CLOEXEC)};
}

class rmem_readers : public testing::Test {
 protected:
  running_server server{at_socket_and_port()};
  client owner{server.endpoint(), packages()};
  client other{server.endpoint(), graphs()};
  const capability whole = owner.allocate(mebibyte, 0);
  const capability reader = owner.grant(whole, 0, mebibyte, rights::read, "graphs");

  void fill(unsigned seed) { owner.write(whole, 0, pattern(mebibyte, seed)); }
  static bool has(const rmem::read_only_region& at, unsigned seed) {
    const auto wanted = pattern(mebibyte, seed);
    return std::equal(wanted.begin(), wanted.end(), at.bytes().begin());
  }
  [[nodiscard]] std::uint64_t used() { return owner.server_statistics().used_bytes; }
};

TEST_F(rmem_readers, loads_are_reads_without_messages) {
  const auto here = other.map_to_read(reader);
  ASSERT_TRUE(here);
  ASSERT_EQ(here->bytes().size(), mebibyte);
  for (const unsigned seed : {1U, 2U}) {
    fill(seed);
    EXPECT_TRUE(has(*here, seed));
  }
  owner.write(whole, 8, std::vector<std::byte>(8));
  owner.fetch_add(whole, 8, 77);
  std::uint64_t word = 0;
  std::memcpy(&word, here->bytes().data() + 8, sizeof word);
  EXPECT_EQ(word, 77U);
  std::optional<rmem::read_only_region> again = other.map_to_read(reader);
  ASSERT_TRUE(again);
  EXPECT_TRUE(other.check(*again));
  EXPECT_TRUE(owner.map_to_read(whole));
  EXPECT_EQ(server.counted().reads, 0U);
}

TEST_F(rmem_readers, it_is_for_a_capability_to_read_all_of_it) {
  const auto denied = [&](client& by, const capability& with) {
    expect_refused(errc::access_denied, [&] { (void)by.map_to_read(with); });
  };
  denied(other, owner.grant(whole, 0, mebibyte - 1, rights::all));
  denied(other, owner.grant(whole, 1, mebibyte - 1, rights::all));
  denied(other, owner.grant(whole, 0, mebibyte, rights::write | rights::atomic | rights::grant));
  denied(owner, reader);  // for the other application
  denied(other, reader.part(0, 4096));
  denied(other, reader.part(4096, mebibyte - 4096));
  capability changed = reader;
  changed.secret[5] ^= std::byte{1};
  denied(other, changed);
  changed = reader;
  changed.bytes += 1;
  denied(other, changed);
  changed.bytes = ~std::uint64_t{0} - 100;
  denied(other, changed);
  const capability ended = owner.grant(whole, 0, mebibyte, rights::read);
  owner.revoke(ended);
  denied(other, ended);
  EXPECT_TRUE(other.map_to_read(reader));
  EXPECT_EQ(server.counted().denied, 10U);
}

TEST_F(rmem_readers, over_tcp_of_what_is_large_and_without_a_second_room_there_are_messages) {
  client far{server.endpoint(1), graphs()};
  EXPECT_FALSE(far.map_to_read(reader));
  const capability large = owner.allocate(capacity - 2 * mebibyte);
  EXPECT_FALSE(owner.map_to_read(large));
  owner.free(large);
  EXPECT_FALSE(owner.map_to_read(owner.allocate(2 * mebibyte + 1)));
  std::vector<std::byte> got(64);
  far.read(reader, 0, got);
  EXPECT_TRUE(owner.map_to_read(whole));
}

TEST_F(rmem_readers, who_writes_by_a_mapping_and_who_reads_by_one_exclude_each_other) {
  const capability first = owner.allocate(4096, 0, rmem::lifetime::connection);
  const auto here = owner.map_to_read(first);
  ASSERT_TRUE(here);
  EXPECT_FALSE(owner.map(first));
  const capability second = owner.allocate(4096, 0, rmem::lifetime::connection);
  EXPECT_TRUE(owner.map(second));
  EXPECT_FALSE(owner.map_to_read(second));
}

// --- nobody writes ---

void expect_no_write(int file, std::size_t bytes) {
  EXPECT_EQ(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), MAP_FAILED);
  EXPECT_EQ(::mmap(nullptr, bytes, PROT_WRITE, MAP_SHARED, file, 0), MAP_FAILED);
  void* const at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(at, MAP_FAILED);
  EXPECT_NE(::mprotect(at, bytes, PROT_READ | PROT_WRITE), 0);
  EXPECT_NE(::madvise(at, bytes, MADV_REMOVE), 0);
  const os::descriptor memory{::open("/proc/self/mem", O_RDWR | O_CLOEXEC)};
  EXPECT_LT(::pwrite(memory.number(), "x", 1, reinterpret_cast<off_t>(at)), 0);
  EXPECT_EQ(::munmap(at, bytes), 0);
  EXPECT_LT(::write(file, "x", 1), 0);
  EXPECT_LT(::pwrite(file, "x", 1, 100), 0);
  for (const off_t size : {off_t{0}, static_cast<off_t>(bytes) / 2, static_cast<off_t>(bytes) * 2})
    EXPECT_NE(::ftruncate(file, size), 0);
  for (const int how : {FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE, FALLOC_FL_COLLAPSE_RANGE,
                        FALLOC_FL_INSERT_RANGE})
    EXPECT_NE(::fallocate(file, how, 0, 4096), 0);
  EXPECT_NE(::fallocate(file, 0, 0, static_cast<off_t>(bytes) * 2), 0);
  EXPECT_NE(::fcntl(file, F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(rmem_read_file, nobody_writes_by_it_in_any_way) {
  memory_table table{0, mebibyte, {}};
  capability whole;
  ASSERT_TRUE(table.allocate(65000, 1, 5, whole).is_ok());
  const auto at = [&] { return table.reach(1, whole.number, whole.secret, whole.address, 65000, rights::write); };
  std::fill_n(at(), 65000, std::byte{7});
  int file = -1;
  ASSERT_TRUE(table.pass_to_read(2, {whole.address, 65000}, whole.number, whole.secret, file).is_ok());
  struct stat about{};
  ASSERT_EQ(::fstat(file, &about), 0);
  EXPECT_EQ(about.st_size, 65536 + static_cast<off_t>(notice_bytes));
  const auto all = static_cast<std::size_t>(about.st_size);
  expect_no_write(file, all);  // even by the server's own
  const os::descriptor read_only = open_again(file, O_RDONLY);
  ASSERT_TRUE(read_only);
  expect_no_write(read_only.number(), all);
  const os::descriptor reopened = open_again(read_only.number(), O_RDWR);
  if (reopened) expect_no_write(reopened.number(), all);
  EXPECT_FALSE(open_again(read_only.number(), O_RDWR | O_TRUNC));
  // The server's mapping writes on.
  at()[100] = std::byte{9};
  std::byte got{};
  EXPECT_EQ(::pread(file, &got, 1, 100), 1);
  EXPECT_EQ(got, std::byte{9});
  EXPECT_EQ(at()[0], std::byte{7});
}

TEST_F(rmem_readers, what_the_client_gets_cannot_be_made_writable) {
  const auto here = other.map_to_read(reader);
  ASSERT_TRUE(here);
  auto* const at = const_cast<std::byte*>(here->bytes().data());
  EXPECT_NE(::mprotect(at, 4096, PROT_READ | PROT_WRITE), 0);
  const os::descriptor memory{::open("/proc/self/mem", O_RDWR | O_CLOEXEC)};
  EXPECT_LT(::pwrite(memory.number(), "x", 1, reinterpret_cast<off_t>(at)), 0);
  void* const moved = ::mremap(at, 0, 4096, MREMAP_MAYMOVE);  // once more
  if (moved != MAP_FAILED) {
    EXPECT_NE(::mprotect(moved, 4096, PROT_READ | PROT_WRITE), 0);
    ::munmap(moved, 4096);
  }
}

// A reader's mode, lease or lock on the file keeps neither another one nor the server waiting.
TEST(rmem_read_file, what_a_reader_does_to_the_file_lets_nobody_wait) {
  service serves{0, mebibyte, {}, keys(), 4};
  capability made;
  ASSERT_TRUE(serves.memory().allocate(4096, 0, 0, made).is_ok());
  request_head head{};
  head.operation = static_cast<std::uint16_t>(operation::map_to_read);
  head.address = made.address;
  head.bytes = made.bytes;
  head.grant = made.number;
  head.secret = made.secret;
  for (int i = 0; i < 3; ++i) {
    os::descriptor file;
    ASSERT_EQ(serves.pass_memory({1, 1, 0}, head, file).status, status::ok);
    EXPECT_EQ(::fcntl(file.number(), F_GETFL) & O_ACCMODE, O_RDONLY);
    EXPECT_EQ(::fchmod(file.number(), 0), 0);
    (void)::fcntl(file.number(), F_SETLEASE, F_WRLCK);
    EXPECT_EQ(::flock(file.number(), LOCK_EX), 0);
  }
}

// --- revocation ---

TEST_F(rmem_readers, a_revoked_reader_sees_nothing_that_is_written_later_and_others_map_anew) {
  const capability kept = owner.grant(whole, 0, mebibyte, rights::read);
  client third{server.endpoint(), cluster()};
  auto revoked = other.map_to_read(reader);
  auto goes_on = third.map_to_read(kept);
  ASSERT_TRUE(revoked && goes_on);
  fill(1);
  EXPECT_TRUE(other.check(*revoked));
  const std::byte* const where = goes_on->bytes().data();
  owner.revoke(reader);
  fill(2);
  EXPECT_TRUE(has(*revoked, 1));
  expect_refused(errc::access_denied, [&] { (void)other.check(*revoked); });
  EXPECT_TRUE(has(*revoked, 1));
  expect_refused(errc::access_denied, [&] { (void)other.map_to_read(reader); });
  EXPECT_TRUE(has(*goes_on, 1));
  EXPECT_FALSE(third.check(*goes_on));
  EXPECT_TRUE(has(*goes_on, 2));
  EXPECT_EQ(goes_on->bytes().data(), where);
  EXPECT_TRUE(third.check(*goes_on));
  fill(3);
  EXPECT_TRUE(has(*goes_on, 3));
  std::vector<std::byte> got(mebibyte);
  third.read(kept, 0, got);
  EXPECT_EQ(got, pattern(mebibyte, 3));
}

TEST_F(rmem_readers, what_was_granted_further_goes_with_what_it_was_made_from) {
  const capability middle = owner.grant(whole, 0, mebibyte, rights::read | rights::grant);
  const capability last = other.grant(middle, 0, mebibyte, rights::read);
  auto here = other.map_to_read(last);
  ASSERT_TRUE(here);
  owner.revoke(middle);
  fill(4);
  EXPECT_EQ(here->bytes()[0], std::byte{0});
  EXPECT_EQ(here->bytes()[mebibyte - 1], std::byte{0});
  expect_refused(errc::access_denied, [&] { (void)other.check(*here); });
}

TEST_F(rmem_readers, a_capability_that_nobody_has_mapped_ends_without_a_move) {
  auto here = other.map_to_read(reader);
  ASSERT_TRUE(here);
  const capability unused = owner.grant(whole, 0, mebibyte, rights::read);
  const capability part = owner.grant(whole, 0, 64, rights::all);
  owner.revoke(unused);
  owner.revoke(part);
  EXPECT_TRUE(other.check(*here));
  // Nor does one that was mapped before the region moved.
  const capability mapped = owner.grant(whole, 0, mebibyte, rights::read);
  EXPECT_TRUE(other.map_to_read(mapped));
  owner.revoke(reader);
  const capability anew = owner.grant(whole, 0, mebibyte, rights::read);
  auto again = other.map_to_read(anew);
  ASSERT_TRUE(again);
  owner.revoke(mapped);
  EXPECT_TRUE(other.check(*again));
}

TEST_F(rmem_readers, a_region_moves_again_and_again_while_it_is_read_and_written) {
  const capability kept = owner.grant(whole, 0, mebibyte, rights::read);
  std::atomic<std::uint64_t> written = 0;
  std::atomic<bool> is_over = false;
  std::jthread writes{[&] {
    client by{server.endpoint(), packages()};
    while (!is_over) {
      const std::uint64_t next = written + 1;
      by.write(whole, 4096, std::as_bytes(std::span{&next, 1}));
      written = next;
    }
  }};
  std::jthread revokes{[&] {
    client by{server.endpoint(), packages()};
    for (int i = 0; i < 60; ++i) {
      const capability passing = by.grant(whole, 0, mebibyte, rights::read);
      auto mapped = by.map_to_read(passing);
      EXPECT_TRUE(mapped);
      by.revoke(passing);
      expect_refused(errc::access_denied, [&] { (void)by.check(*mapped); });
    }
    is_over = true;
  }};
  auto here = other.map_to_read(kept);
  ASSERT_TRUE(here);
  std::size_t moved = 0;
  while (!is_over) {
    const std::uint64_t least = written;
    std::uint64_t seen = 0;
    do {
      std::memcpy(&seen, here->bytes().data() + 4096, sizeof seen);
      if (other.check(*here)) break;
      ++moved;
    } while (true);
    ASSERT_GE(seen, least);
  }
  EXPECT_GT(moved, 0U);
}

// A client's connection by hand.
class hand {
 public:
  hand(service& of, std::uint64_t number) : session_{of, number} {
    session_.allow_memory();
    const auto heard = situ::os::byte_reader{session_.output()[0]}.take<hello>();
    session_.sent(sizeof heard);
    login said{protocol_magic, protocol_version, 0, fixed<application_bytes>(packages().application), {}, {}};
    said.proof = client_proof(packages(), heard, said);
    send(bytes_of(said));
    session_.sent(sizeof(welcome));
  }
  void send(std::span<const std::byte> bytes) {
    std::memcpy(session_.room().data(), bytes.data(), bytes.size());
    session_.received(bytes.size());
  }
  void ask(operation what, const capability& with) {
    request_head head{};
    head.operation = static_cast<std::uint16_t>(what);
    head.address = with.address;
    head.bytes = with.bytes;
    head.grant = with.number;
    head.secret = with.secret;
    send(bytes_of(head));
  }
  session session_;
};

TEST(rmem_read_file, a_read_that_is_on_its_way_is_not_lost_with_what_moves) {
  service serves{0, mebibyte, {}, keys(), 4};
  memory_table& memory = serves.memory();
  capability whole;
  capability granted;
  ASSERT_TRUE(memory.allocate(100'000, 0, 0, whole).is_ok());
  ASSERT_TRUE(memory.grant(0, whole, {whole.address, 100'000}, rights::read, any_application, granted).is_ok());
  const auto bytes = pattern(100'000);
  std::copy(bytes.begin(), bytes.end(),
            memory.reach(0, whole.number, whole.secret, whole.address, 100'000, rights::write));
  hand reads{serves, 1};
  hand maps{serves, 2};
  reads.ask(operation::read, whole);
  ASSERT_EQ(reads.session_.output()[1].size(), 100'000U);  // where it lies
  maps.ask(operation::map_to_read, granted);
  ASSERT_GE(maps.session_.passing(), 0);
  const std::uint64_t used = memory.used_bytes();
  maps.session_.passed();
  maps.session_.sent(sizeof(answer_head));
  maps.ask(operation::revoke, granted);  // nobody has the file: it is gone
  EXPECT_EQ(situ::os::byte_reader{maps.session_.output()[0]}.take<answer_head>().status, 0);
  EXPECT_LT(memory.used_bytes(), used);
  std::fill_n(memory.reach(0, whole.number, whole.secret, whole.address, 100'000, rights::write), 100'000,
              std::byte{1});
  const session::pieces out = reads.session_.output();
  ASSERT_EQ(out[0].size(), sizeof(answer_head) + 100'000);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), out[0].begin() + sizeof(answer_head)));
  EXPECT_TRUE(out[1].empty());
}

// --- ends, and what counts ---

TEST_F(rmem_readers, what_has_ended_stays_as_it_was_and_counts_until_it_is_unmapped) {
  EXPECT_EQ(used(), mebibyte);
  auto here = other.map_to_read(reader);
  ASSERT_TRUE(here);
  EXPECT_EQ(used(), 2 * mebibyte);  // with where it may move to
  fill(1);
  owner.free(whole);
  EXPECT_TRUE(has(*here, 1));
  expect_refused(errc::access_denied, [&] { (void)other.check(*here); });
  EXPECT_EQ(used(), mebibyte);
  expect_refused(
      errc::out_of_memory, [&] { (void)owner.allocate(capacity); }, "1 MiB for clients that have regions mapped");
  const capability next = owner.allocate(capacity - mebibyte);
  owner.write(next, 0, pattern(mebibyte, 5));
  EXPECT_TRUE(has(*here, 1));
  owner.free(next);
  here.reset();
  EXPECT_EQ(used(), 0U);
  EXPECT_NO_THROW((void)owner.allocate(capacity));
}

TEST(rmem_read_file, every_way_to_keep_it_counts_for_its_owner) {
  memory_table table{0, mebibyte, {}};
  const auto pass = [&](int& file) {
    capability whole;
    EXPECT_TRUE(table.allocate(65536, 1, 0, whole).is_ok());
    EXPECT_TRUE(table.pass_to_read(2, {whole.address, 65536}, whole.number, whole.secret, file).is_ok());
    return whole;
  };
  int file = -1;
  table.free(pass(file).address);
  EXPECT_EQ(table.used_bytes(), 0U);  // nobody had it
  for (const int how : {O_RDONLY, O_RDWR, O_PATH}) {
    const capability whole = pass(file);
    os::descriptor kept = open_again(file, how);
    ASSERT_TRUE(kept);
    table.free(whole.address);
    table.collect();
    EXPECT_EQ(table.used_bytes(), 65536U) << how;
    kept = {};
    table.collect();
    EXPECT_EQ(table.used_bytes(), 0U) << how;
  }
  const capability whole = pass(file);
  void* const at = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  EXPECT_EQ(table.used_bytes(), 131072U);
  ASSERT_TRUE(table.revoke(1, whole.number, whole.secret).is_ok());
  EXPECT_EQ(table.used_bytes(), 131072U);  // the region, and what is still mapped
  table.free(whole.address);
  EXPECT_EQ(table.used_bytes(), 65536U);
  ::munmap(at, 4096);
  table.collect();
  EXPECT_EQ(table.used_bytes(), 0U);
}

TEST(rmem_read_file, what_is_kept_are_as_many_regions_less) {
  memory_table table{0, 64 * mebibyte, {}};
  std::vector<void*> kept;
  capability whole;
  for (std::uint32_t i = 0; i < memory_table::most_regions; ++i) {
    ASSERT_TRUE(table.allocate(4096, 1, 0, whole).is_ok());
    // For the last one there is a file, but none to move to.
    int file = -1;
    const outcome got = table.pass_to_read(2, {whole.address, 4096}, whole.number, whole.secret, file);
    ASSERT_EQ(got.is_ok(), i + 1 < memory_table::most_regions) << got.text;
    if (got.is_ok()) kept.push_back(::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0));
    table.free(whole.address);
  }
  ASSERT_EQ(kept.size(), memory_table::most_regions - 1);
  EXPECT_EQ(table.used_bytes(), kept.size() * 4096);
  EXPECT_EQ(table.region_count(), 0U);
  ASSERT_TRUE(table.allocate(4096, 1, 0, whole).is_ok());
  const outcome got = table.allocate(4096, 1, 0, whole);
  EXPECT_EQ(got.status, status::full);
  EXPECT_THAT(got.text, testing::HasSubstr("with those that somebody has mapped"));
  EXPECT_TRUE(table.allocate(4096, 2, 0, whole).is_ok());  // it is another application's matter
  ::munmap(kept.back(), 4096);
  kept.pop_back();
  EXPECT_TRUE(table.allocate(4096, 1, 0, whole).is_ok());
  for (void* const each : kept) ::munmap(each, 4096);
  table.collect();
  EXPECT_EQ(table.used_bytes(), 3 * 4096U);
}

TEST_F(rmem_readers, a_server_that_is_gone_is_told) {
  fill(1);
  auto here = other.map_to_read(reader);
  ASSERT_TRUE(here);
  server.stop();
  EXPECT_TRUE(has(*here, 1));
  expect_refused(errc::link_lost, [&] { (void)other.check(*here); });
}

TEST_F(rmem_readers, a_region_that_moves_where_there_is_no_second_room_is_told) {
  const capability kept = owner.grant(whole, 0, mebibyte, rights::read);
  auto revoked = other.map_to_read(reader);
  auto here = other.map_to_read(kept);
  ASSERT_TRUE(revoked && here);
  const capability rest = owner.allocate(capacity - 2 * mebibyte);
  owner.revoke(reader);  // cannot fail
  fill(3);
  EXPECT_EQ(revoked->bytes()[0], std::byte{0});
  expect_refused(errc::not_supported, [&] { (void)other.check(*here); }, "read it by messages");
  owner.free(rest);
  EXPECT_FALSE(other.check(*here));
  EXPECT_TRUE(has(*here, 3));
}

}  // namespace
