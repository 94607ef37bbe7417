// The file of a pool: made, opened again at its own addresses, refused where it is not sound, and grown.
#include "pool/format.h"
#include "pools.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <random>

#include "support/build_paths.h"
#include "support/forked.h"

using namespace situ_pool_test;
using situ::errc;
using situ::pool;
using situ::pool_access;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct other_item {
  std::uint64_t value;
  other_item* before;
};
struct holder {
  item* first;
  std::uint32_t count;
};

TEST(pool_file, what_was_stored_is_there_again_at_the_same_address) {
  const folder in;
  const item* head = nullptr;
  {
    pool made = pool::create(in.file(), small);
    EXPECT_EQ(made.root<item>("head"), nullptr);
    for (const std::uint64_t value : {1, 2, 3}) push(made, value);
    head = made.root<item>("head");
  }
  const pool opened = pool::open(in.file());
  EXPECT_EQ(opened.root<item>("head"), head);
  EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(3, 2, 1));
  EXPECT_EQ(opened.info().restored_ranges, 0);
  EXPECT_EQ(opened.info().transactions, 3);
  EXPECT_THAT(opened.check().damage, ElementsAre());
}

TEST(pool_file, another_process_finds_it) {
  const folder in;
  push(*std::make_unique<pool>(pool::create(in.file(), small)), 7);
  const situ::os::exit_status end = situ::test::in_forked_child([&] {
    pool opened = pool::open(in.file());
    push(opened, 8);
    ::_exit(values_of(opened.root<item>("head")) == std::vector<std::uint64_t>{8, 7} ? 0 : 1);  // does not close it
  });
  EXPECT_EQ(situ::test::code_of(end), 0);
  EXPECT_THAT(values_of(pool::open(in.file()).root<item>("head")), ElementsAre(8, 7));
}

TEST(pool_file, open_or_create_makes_it_once) {
  const folder in;
  push(*std::make_unique<pool>(pool::open_or_create(in.file(), small)), 1);
  EXPECT_THAT(values_of(pool::open_or_create(in.file(), small).root<item>("head")), ElementsAre(1));
  EXPECT_THAT(error_of(errc::bad_file, [&] { (void)pool::create(in.file(), small); }), HasSubstr("File exists"));
}

TEST(pool_file, a_pool_is_sparse_and_says_what_it_is) {
  const folder in;
  const pool made = pool::create(in.file());  // 64 GiB at most, so 32 MiB of map
  struct stat status{};
  ASSERT_EQ(::stat(in.file().c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 2 << 20);
  const situ::pool_info info = made.info();
  EXPECT_EQ(info.version, 1);
  EXPECT_EQ(info.most_bytes, std::uint64_t{64} << 30);
  EXPECT_EQ(info.heap_bytes, 1 << 20);
  EXPECT_EQ(info.free_bytes, 1 << 20);
  EXPECT_EQ(info.promise, situ::pool_promise::process);
  EXPECT_EQ(info.primitive, "none");
}

TEST(pool_file, the_promise_of_the_machine_is_kept_by_a_primitive_that_is_told) {
  const folder in;
  const situ::pool_info info =
      pool::create(in.file(), {.most_bytes = 1 << 24, .promise = situ::pool_promise::machine}).info();
  if (info.medium == "page cache") {
    EXPECT_EQ(info.primitive, "fdatasync");
  } else if (info.medium == "DAX") {
    EXPECT_THAT(info.primitive, testing::AnyOf("clflush", "clflushopt", "clwb", "msync"));
  } else {
    EXPECT_EQ(info.medium, "file system in memory");
    EXPECT_EQ(info.primitive, "none");
  }
}

// --- who may open it ---

TEST(pool_file, is_opened_once_by_a_process) {
  const folder in;
  const auto first = std::make_unique<pool>(pool::create(in.file(), small));
  EXPECT_THAT(error_of(errc::bad_file, [&] { (void)pool::open(in.file()); }),
              testing::AllOf(HasSubstr(in.file()), HasSubstr("this process has it open already")));
  EXPECT_THAT(error_of(errc::bad_file, [&] { (void)pool::open(in.file(), pool_access::read); }),
              testing::AllOf(HasSubstr("a writer has it open"), HasSubstr("process " + std::to_string(::getpid()))));
}

TEST(pool_file, a_reader_cannot_write) {
  const folder in;
  push(*std::make_unique<pool>(pool::create(in.file(), small)), 5);
  pool reader = pool::open(in.file(), pool_access::read);
  EXPECT_THAT(values_of(reader.root<item>("head")), ElementsAre(5));
  EXPECT_THAT(error_of(errc::bad_argument, [&] { push(reader, 6); }), HasSubstr("open it for writing"));
}

TEST(pool_file, is_refused_where_its_addresses_are_taken) {
  const folder in;
  std::uintptr_t base = 0;
  {
    const pool made = pool::create(in.file(), small);
    base = made.info().base;
  }
  void* const taken = ::mmap(reinterpret_cast<void*>(base + (1 << 20)), 4096, PROT_READ,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_NE(taken, MAP_FAILED);
  EXPECT_THAT(error_of(errc::bad_file, [&] { (void)pool::open(in.file()); }),
              testing::AllOf(HasSubstr("its addresses"), HasSubstr("memory of this process")));
  ::munmap(taken, 4096);
  EXPECT_NO_THROW((void)pool::open(in.file()));
}

struct branch {
  std::optional<item*> perhaps;
  branch* children[2];
  std::uint64_t number;
};

TEST(pool_file, a_reader_has_it_at_other_addresses_where_its_own_are_taken) {
  const folder in;
  std::uintptr_t base = 0;
  {
    pool made = pool::create(in.file(), small);
    made.transact([&](situ::transaction& t) {
      item* const shared = t.make<item>(7u, nullptr);
      auto* const leaves = t.make_array<branch>(3);
      for (std::uint64_t i = 0; i < 3; ++i) leaves[i] = {i == 1 ? std::optional{shared} : std::nullopt, {}, i};
      leaves[2].children[0] = leaves;  // a cycle
      t.set_root("tree", t.make<branch>(std::optional{shared}, leaves + 1, leaves + 2, 9u));
      item* array = static_cast<item*>(t.allocate(100000, 16));  // as long as a large block
      std::memset(static_cast<void*>(array), 0, 100000);
      array[6000] = {8, shared};
      t.set_root("array", array);
      t.set_root("bare", shared);
    });
    push(made, 1);
    push(made, 2);
    base = made.info().base;
  }
  const std::vector<char> before = bytes_of(in.file());
  void* const taken =
      ::mmap(reinterpret_cast<void*>(base), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_NE(taken, MAP_FAILED);
  {
    const pool first = pool::open(in.file(), pool_access::read);
    const pool second = pool::open(in.file(), pool_access::read);  // each has a copy of its own
    for (const pool* each : {&first, &second}) {
      EXPECT_TRUE(each->info().is_moved);
      EXPECT_NE(each->info().base, base);
      EXPECT_THAT(each->check().damage, ElementsAre());
      EXPECT_THAT(values_of(each->root<item>("head")), ElementsAre(2, 1));
      EXPECT_THAT(values_of(each->root<item>("head")), ElementsAre(2, 1));
      const branch* const tree = each->root<branch>("tree");
      const branch* const leaves = tree->children[0] - 1;
      EXPECT_EQ(tree->children[1], leaves + 2);
      EXPECT_EQ(leaves[2].children[0], leaves);
      EXPECT_EQ(leaves[1].perhaps, tree->perhaps);
      EXPECT_FALSE(leaves[0].perhaps.has_value());
      EXPECT_EQ((*tree->perhaps)->value, 7);
      EXPECT_EQ(each->root<item>("array")[6000].next, *tree->perhaps);
      EXPECT_EQ(each->root<item>("bare"), *tree->perhaps);
    }
  }
  EXPECT_EQ(bytes_of(in.file()), before);
  ::munmap(taken, 4096);
  EXPECT_FALSE(pool::open(in.file(), pool_access::read).info().is_moved);
}

TEST(pool_file, what_is_reached_as_two_types_is_refused_at_other_addresses) {
  const folder in;
  std::uintptr_t base = 0;
  {
    pool made = pool::create(in.file(), small);
    made.transact([&](situ::transaction& t) {
      item* const both = t.make<item>(7u, nullptr);
      t.set_root("item", both);
      t.set_root("other", reinterpret_cast<other_item*>(both));
    });
    base = made.info().base;
  }
  void* const taken =
      ::mmap(reinterpret_cast<void*>(base), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_NE(taken, MAP_FAILED);
  {
    const pool opened = pool::open(in.file(), pool_access::read);
    EXPECT_EQ(opened.root<item>("item")->value, 7);
    for (int i = 0; i < 2; ++i)
      EXPECT_THAT(error_of(errc::bad_file, [&] { (void)opened.root<other_item>("other"); }),
                  testing::AllOf(HasSubstr("is reached as"), HasSubstr("other_item")));
  }
  ::munmap(taken, 4096);
}

// --- bytes that are not sound ---

class damaged_pool : public testing::Test {
 protected:
  damaged_pool() {
    pool made = pool::create(in.file(), small);
    for (const std::uint64_t value : {1, 2, 3}) push(made, value);
  }
  std::string refusal() {
    const std::vector<char> before = bytes_of(in.file());
    const std::string words = error_of(errc::bad_file, [&] { (void)pool::open(in.file()); });
    EXPECT_EQ(bytes_of(in.file()), before) << "a pool that is refused is left as it is";
    EXPECT_THAT(words, HasSubstr(in.file()));
    return words;
  }
  template <class Value>
  void set(std::uint64_t offset, Value value) {
    std::vector<char> bytes = bytes_of(in.file());
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    write_bytes(in.file(), bytes);
  }
  // With a right check.
  template <class Change>
  void change_header(Change change) {
    std::vector<char> bytes = bytes_of(in.file());
    situ::detail::pool_header header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    change(header);
    header.check = situ::detail::check_of(0, &header, offsetof(situ::detail::pool_header, check));
    std::memcpy(bytes.data(), &header, sizeof header);
    write_bytes(in.file(), bytes);
  }
  folder in;
};

TEST_F(damaged_pool, what_is_no_pool_is_refused) {
  write_bytes(in.file(), std::vector<char>(bytes_of(in.file()).size(), 'X'));
  EXPECT_THAT(refusal(), testing::AllOf(HasSubstr("byte 0"), HasSubstr("is no pool")));
}

TEST_F(damaged_pool, another_version_is_refused) {
  change_header([](auto& header) { header.version = 4; });
  EXPECT_THAT(refusal(),
              testing::AllOf(HasSubstr("byte 8"), HasSubstr("format version 4"), HasSubstr("versions 1 to 3")));
}

TEST_F(damaged_pool, another_page_size_is_refused) {
  change_header([](auto& header) { header.page_bytes = 65536; });
  EXPECT_THAT(refusal(), testing::AllOf(HasSubstr("byte 12"), HasSubstr("pages of 65536 bytes")));
}

TEST_F(damaged_pool, another_processor_is_refused) {
  change_header([](auto& header) { header.architecture = 0x61726d36; });
  EXPECT_THAT(refusal(), HasSubstr("architecture 0x61726d36"));
}

TEST_F(damaged_pool, each_bit_of_the_header_counts) {
  const std::vector<char> sound = bytes_of(in.file());
  for (std::size_t bit = 0; bit < 8 * sizeof(situ::detail::pool_header); ++bit) {
    std::vector<char> bytes{sound.begin(), sound.begin() + 4096};
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    std::fstream{in.file(), std::ios::binary | std::ios::in | std::ios::out}.write(bytes.data(), 512);
    EXPECT_THAT(error_of(errc::bad_file, [&] { (void)pool::open(in.file()); }), HasSubstr(in.file())) << bit;
  }
}

TEST_F(damaged_pool, headers_with_a_right_check_and_senseless_values_are_refused) {
  const auto refused = [&](auto change) {
    const std::vector<char> before = bytes_of(in.file());
    change_header(change);
    EXPECT_FALSE(refusal().empty());
    write_bytes(in.file(), before);
  };
  refused([](auto& header) { header.base = 0; });
  refused([](auto& header) { header.base = ~std::uint64_t{0} / 16384 * 16384; });
  refused([](auto& header) { header.base = (std::uint64_t{1} << 47) - 16384; });
  refused([](auto& header) { header.base += 8; });
  refused([](auto& header) { header.most_bytes = 0; });
  refused([](auto& header) { header.most_bytes = ~std::uint64_t{0} / 16384 * 16384; });
  refused([](auto& header) { header.most_bytes += 1; });
  refused([](auto& header) { header.chunk_bytes = 4096; });
  refused([](auto& header) { header.promise = 9; });
}

TEST_F(damaged_pool, a_file_cut_short_is_refused_at_any_length) {
  const std::vector<char> whole = bytes_of(in.file());
  for (std::size_t length = 0; length < whole.size(); length += length < 8192 ? 409 : 16001) {
    write_bytes(in.file(), {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
    EXPECT_THAT(refusal(), HasSubstr("byte " + std::to_string(length))) << length;
  }
  write_bytes(in.file(), {whole.begin(), whole.end() - 1});
  EXPECT_THAT(refusal(), HasSubstr("cut short"));
}

TEST_F(damaged_pool, one_copy_of_the_heaps_size_is_enough_and_is_mended) {
  set(situ::detail::pool_state_offset + 8, std::uint64_t{1} << 40);
  EXPECT_THAT(pool::open(in.file(), pool_access::read).check().notes, ElementsAre(HasSubstr("byte 1024")));
  EXPECT_THAT(pool::open(in.file(), pool_access::read).check().damage, ElementsAre());
  EXPECT_THAT(pool::open(in.file()).check().notes, ElementsAre());
  set(situ::detail::pool_state_offset + 8, std::uint64_t{1} << 40);
  set(situ::detail::pool_state_offset + 512 + 8, std::uint64_t{1} << 40);
  EXPECT_THAT(refusal(), HasSubstr("both copies"));
}

TEST_F(damaged_pool, a_damaged_number_of_the_log_is_refused) {
  set(situ::detail::pool_sequence_offset, std::uint64_t{0x10000});
  EXPECT_THAT(refusal(), HasSubstr("byte 2048"));
}

TEST_F(damaged_pool, a_damaged_entry_of_the_map_is_refused) {
  set(situ::detail::pool_map_offset, std::uint64_t{12345});
  EXPECT_THAT(refusal(), HasSubstr("the entry of chunk 0 is damaged"));
}

TEST_F(damaged_pool, a_damaged_root_is_refused_when_it_is_used) {
  set(situ::detail::pool_roots_offset + 32, std::uint64_t{4711});
  const pool opened = pool::open(in.file());
  EXPECT_THAT(error_of(errc::bad_file, [&] { (void)opened.root<item>("head"); }), HasSubstr("byte 4096"));
  EXPECT_THAT(opened.check().damage, ElementsAre(HasSubstr("root 0 is damaged")));
}

TEST_F(damaged_pool, a_damaged_slab_is_refused_when_it_is_used) {
  const std::uint64_t heap = situ::detail::pool_heap_offset(small.most_bytes);
  set(heap + offsetof(situ::detail::slab_header, live) + 15 * 8, ~std::uint64_t{0});  // blocks beyond its end
  pool opened = pool::open(in.file());
  EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(3, 2, 1));
  EXPECT_THAT(error_of(errc::bad_file, [&] { push(opened, 4); }), HasSubstr("the slab in chunk 0 is damaged"));
  EXPECT_THAT(opened.check().damage, ElementsAre(HasSubstr("has blocks that it has no room for")));
}

// Bytes of the pool's own parts, anything at all: it is refused, or what is found is said; nothing else happens.
TEST_F(damaged_pool, random_bytes_do_no_harm) {
  const std::vector<char> sound = bytes_of(in.file());
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random{seed};
  const std::uint64_t heap = situ::detail::pool_heap_offset(small.most_bytes);
  const std::uint64_t parts[][2] = {{1024, 2056}, {4096, 4300}, {8192, 8400}, {73728, 74400}, {heap, heap + 192}};
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    std::fstream file{in.file(), std::ios::binary | std::ios::in | std::ios::out};
    for (const auto& [from, to] : parts) {
      std::vector<char> bytes{sound.begin() + static_cast<std::ptrdiff_t>(from),
                              sound.begin() + static_cast<std::ptrdiff_t>(to)};
      if (random() % 3 == 0)
        for (unsigned i = random() % 8 + 1; i != 0; --i) bytes[random() % bytes.size()] = static_cast<char>(random());
      file.seekp(static_cast<std::streamoff>(from)).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    file.close();
    try {
      pool opened = pool::open(in.file());
      (void)opened.check();
      push(opened, 9);
      (void)opened.root<item>("head");
    } catch (const situ::error& thrown) {
      ++refused;
      EXPECT_EQ(thrown.code(), errc::bad_file) << thrown.what();
    }
  }
  EXPECT_GT(refused, 30);
}

// --- the page that says what the bytes are ---

TEST(pool_format, is_as_its_page_has_it) {
  using namespace situ::detail;
  const std::uint64_t salt = add_to_check(1, 2);
  const std::uint64_t kept = 42;
  log_entry entry{0, 0x20000, sizeof kept, log_kind::undo};
  entry.check = entry.right_check(salt, seal(1, salt), &kept);
  std::vector<unsigned char> bytes(sizeof entry + sizeof kept);
  std::memcpy(bytes.data(), &entry, sizeof entry);
  std::memcpy(bytes.data() + sizeof entry, &kept, sizeof kept);
  std::string dump = "```hex";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    char text[24];
    if (i % 16 == 0) {
      std::snprintf(text, sizeof text, "\n%08zx ", i);
      dump += text;
    }
    std::snprintf(text, sizeof text, " %02x", static_cast<unsigned>(bytes[i]));
    dump += text;
  }
  const std::vector<char> page = bytes_of(SITU_TEST_SOURCE_DIR "/../docs/formats/pool.md");
  EXPECT_THAT(std::string(page.begin(), page.end()), HasSubstr(dump + "\n```"));
}

// --- types ---

TEST(pool_roots, are_typed) {
  const folder in;
  pool made = pool::create(in.file(), small);
  push(made, 1);
  const std::string refused = error_of(errc::bad_file, [&] { (void)made.root<other_item>("head"); });
  EXPECT_THAT(refused, testing::AllOf(HasSubstr("root 'head'"), HasSubstr("other_item"), HasSubstr("fingerprint")));
  EXPECT_EQ(made.root<other_item>("elsewhere"), nullptr);
}

TEST(pool_roots, have_names_and_can_go) {
  const folder in;
  pool made = pool::create(in.file(), small);
  push(made, 1, "one");
  push(made, 2, "two");
  made.transact([&](situ::transaction& t) {
    t.set_root("both", t.make<holder>(made.root<item>("one"), 1u));
    t.set_root<item>("one", nullptr);
  });
  EXPECT_EQ(made.root<item>("one"), nullptr);
  EXPECT_EQ(made.root<holder>("both")->first->value, 1);
  EXPECT_EQ(made.info().roots.size(), 2);
  EXPECT_THAT(made.check().damage, ElementsAre());
}

TEST(pool_roots, that_cannot_be_are_refused) {
  const folder in;
  pool made = pool::create(in.file(), small);
  item outside{1, nullptr};
  made.transact([&](situ::transaction& t) {
    item* const inside = t.make_array<item>(2);
    EXPECT_THAT(error_of(errc::bad_argument, [&] { t.set_root("", inside); }), HasSubstr("no name of a root"));
    EXPECT_THAT(error_of(errc::bad_argument, [&] { t.set_root(std::string(32, 'x'), inside); }), HasSubstr("1 to 31"));
    EXPECT_THAT(error_of(errc::bad_address, [&] { t.set_root("a", &outside); }), HasSubstr("not the start"));
    EXPECT_THAT(error_of(errc::bad_address, [&] { t.set_root("a", inside + 1); }), HasSubstr("not the start"));
    for (int i = 0; i < 64; ++i) t.set_root(std::to_string(i), inside);
    EXPECT_THAT(error_of(errc::bad_argument, [&] { t.set_root("one more", inside); }), HasSubstr("64 roots"));
  });
}

// --- growing ---

TEST(pool_file, grows_and_is_found_grown) {
  const folder in;
  constexpr std::size_t bytes = 5 << 20;
  {
    pool made = pool::create(in.file(), small);
    made.transact([&](situ::transaction& t) {
      struct area {
        std::byte* bytes;
      };
      std::byte* const large = static_cast<std::byte*>(t.allocate(bytes, 16));
      std::memset(large, 0x5a, bytes);
    });
    EXPECT_GE(made.info().heap_bytes, bytes);
  }
  const pool opened = pool::open(in.file());
  std::size_t found = 0;
  opened.for_each_block([&](void* block, std::size_t length) {
    found += length;
    EXPECT_EQ(static_cast<const unsigned char*>(block)[bytes - 1], 0x5a);
  });
  EXPECT_EQ(found, bytes);
}

TEST(pool_file, a_full_pool_says_so_and_stays_as_it_was) {
  const folder in;
  pool made = pool::create(in.file(), small);
  push(made, 1);
  const std::string full = error_of(errc::out_of_memory, [&] {
    made.transact([&](situ::transaction& t) {
      for (;;) (void)t.allocate(1 << 20, 16);
    });
  });
  EXPECT_THAT(full, testing::AllOf(HasSubstr("at most 16 MiB"), HasSubstr("most_bytes")));
  EXPECT_EQ(made.check().blocks, 1);
  push(made, 2);
  EXPECT_THAT(values_of(made.root<item>("head")), ElementsAre(2, 1));
}

TEST(pool_file, a_limit_on_the_size_of_files_is_named_and_the_pool_stays_as_it_was) {
  const folder in;
  pool made = pool::create(in.file(), small);
  push(made, 1);
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit less = before;
  less.rlim_cur = std::filesystem::file_size(in.file()) + 32768;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &less), 0);
  const std::string full = error_of(
      errc::out_of_memory, [&] { made.transact([&](situ::transaction& t) { (void)t.allocate(2 << 20, 16); }); });
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(full, testing::AllOf(HasSubstr("RLIMIT_FSIZE, ulimit -f"), testing::Not(HasSubstr("disk"))));
  EXPECT_EQ(made.check().blocks, 1);
  made.transact([&](situ::transaction& t) { (void)t.allocate(2 << 20, 16); });
  EXPECT_EQ(made.check().blocks, 2);
}

}  // namespace
