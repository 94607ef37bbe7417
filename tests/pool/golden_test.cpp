// Pools that earlier builds have written open in this one, and hold what they held: tests/pool/golden/README.md.
//   pool_golden_test --write tests/pool/golden
// writes those of this build's format version, which a change of the format needs.
#include "pool/format.h"
#include "pools.h"

#include <situ/base/log.h>
#include <situ/pool/migration.h>

#include <chrono>
#include <cstring>
#include <sstream>

#include "pool/pool_tools.h"
#include "support/build_paths.h"

namespace situ_pool_test::then {
struct item {
  std::uint64_t value;
  std::uint64_t twice;
  item* next;
};
}  // namespace situ_pool_test::then

using namespace situ_pool_test;
using situ::pool;
using situ::pool_access;
using situ::pool_migration;
using situ::transaction;
using testing::ElementsAre;

namespace {

constexpr situ::pool_options least{.most_bytes = std::uint64_t{1} << 20};

// --- what the files hold: each kind is made by one function, and looked at by another ---

// 1, 2 and 3 were pushed, and the writer was killed in a transaction that had set the first one's value to 99.
std::vector<char> make_incomplete(const std::string& path) {
  pool made = pool::create(path, least);
  for (const std::uint64_t value : {1, 2, 3}) push(made, value);
  transaction t{made};
  t.set(made.root<item>("head")->next->next->value, 99u);
  return bytes_of(path);
}
void look_at_incomplete(pool& opened, bool has_types) {
  EXPECT_EQ(opened.info().restored_ranges, 1);
  EXPECT_EQ(opened.info().transactions, 4);
  EXPECT_EQ(opened.info().roots.at(0).name, "head");
  EXPECT_EQ(opened.check().blocks, 3);
  if (!has_types) return;
  EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(3, 2, 1));
  push(opened, 4);
  EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(4, 3, 2, 1));
}

// Blocks of several classes and of whole chunks, some given back; the promise of the machine.
constexpr std::size_t sizes[] = {16, 48, 1000, 5000, 40000, 100000};
std::vector<char> make_blocks(const std::string& path) {
  pool made = pool::create(path, {.most_bytes = least.most_bytes, .promise = situ::pool_promise::machine});
  made.transact([&](transaction& t) {
    item* last = nullptr;
    for (const std::size_t bytes : sizes) {
      auto* const block = static_cast<std::byte*>(t.allocate(bytes, 16));
      std::memset(block, 0, bytes);
      block[bytes - 1] = std::byte{0x5a};
      last = new (block) item{bytes, last};
      t.destroy(t.allocate(bytes, 16));
    }
    t.set_root("last", last);
    t.set_root("gone", last);
  });
  made.transact([&](transaction& t) { t.set_root<item>("gone", nullptr); });
  return bytes_of(path);
}
void look_at_blocks(pool& opened, bool has_types) {
  const situ::pool_info info = opened.info();
  EXPECT_EQ(info.promise, situ::pool_promise::machine);
  EXPECT_EQ(info.roots.size(), 1);
  EXPECT_EQ(opened.check().blocks, std::size(sizes));
  if (!has_types) return;
  std::size_t i = std::size(sizes);
  for (const item* each = opened.root<item>("last"); each != nullptr; each = each->next) {
    ASSERT_GT(i, 0);
    EXPECT_EQ(each->value, sizes[--i]);
    if (sizes[i] > sizeof(item)) {
      EXPECT_EQ(reinterpret_cast<const std::byte*>(each)[sizes[i] - 1], std::byte{0x5a});
    }
  }
  EXPECT_EQ(i, 0);
}

// Free chunks between others are holes, and the heap ends behind the last block.
std::vector<char> make_compacted(const std::string& path) {
  {
    pool made = pool::create(path, least);
    std::byte* block = nullptr;
    made.transact([&](transaction& t) { block = static_cast<std::byte*>(t.allocate(100000, 16)); });
    push(made, 1);
    made.transact([&](transaction& t) { t.destroy(block); });
  }
  (void)situ::detail::compact_pool(path);
  return bytes_of(path);
}
void look_at_compacted(pool& opened, bool has_types) {
  EXPECT_EQ(opened.info().heap_bytes, 8 * situ::detail::chunk_bytes);
  EXPECT_EQ(opened.check().blocks, 1);
  if (has_types) {
    EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(1));
  }
  opened.transact([](transaction& t) { std::memset(t.allocate(100000, 16), 1, 100000); });
}

// Stopped between two transactions of a step from `then::item` to `item`.
struct stopped {};
pool_migration<then::item, item> make_step(bool stops) {
  return {.name = "forget twice",
          .convert = [](transaction& t, then::item* old) { return t.make<item>(old->value, nullptr); },
          .go_on =
              [stops](transaction& t, then::item* old, item* made) {
                if (old->next == nullptr) {
                  t.destroy(old);
                  return false;
                }
                if (stops && made->next != nullptr) throw stopped{};
                then::item* const from = old->next;
                item** end = &made->next;
                while (*end != nullptr) end = &(*end)->next;
                t.set(*end, t.make<item>(from->value, nullptr));
                t.set(old->next, from->next);
                t.destroy(from);
                return true;
              },
          .old_names = {{"then::", ""}}};
}
std::vector<char> make_migrating(const std::string& path) {
  pool made = pool::create(path, least);
  made.transact([](transaction& t) {
    then::item* first = nullptr;
    for (const std::uint64_t value : {4, 3, 2, 1}) first = t.make<then::item>(value, value * 2, first);
    t.set_root("head", first);
  });
  (void)made.migrate(
      "head", pool_migration<then::item, then::item>{.name = "as it was then",
                                                     .convert = [](transaction&, then::item* old) { return old; },
                                                     .new_names = {{"then::", ""}}});
  try {
    (void)made.migrate("head", make_step(true));
  } catch (const stopped&) {}
  return bytes_of(path);
}
void look_at_migrating(pool& opened, bool has_types) {
  EXPECT_EQ(opened.info().roots.size(), 2);
  EXPECT_EQ(opened.check().blocks, 5);
  if (!has_types) return;
  const auto done = opened.migrate("head", make_step(false));
  ASSERT_EQ(done.size(), 1);
  EXPECT_TRUE(done[0].is_resumed);
  EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(opened.check().blocks, 4);
}

// Killed with three transactions in the log, none of them where it belongs.
std::vector<char> make_records(const std::string& path, bool has_checks) {
  pool made = pool::create(path, {.most_bytes = least.most_bytes,
                                  .promise = situ::pool_promise::batched,
                                  .sync_every = std::chrono::milliseconds{0},
                                  .object_checks = has_checks});
  for (const std::uint64_t value : {1, 2, 3}) push(made, value);
  return bytes_of(path);
}
void look_at_records(pool& opened, bool has_types) {
  EXPECT_EQ(opened.info().promise, situ::pool_promise::batched);
  EXPECT_EQ(opened.info().replayed_transactions, 3);
  EXPECT_EQ(opened.check().blocks, 3);
  if (!has_types) return;
  EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(3, 2, 1));
  push(opened, 4);
}
std::vector<char> make_batched(const std::string& path) { return make_records(path, false); }
std::vector<char> make_checked_batched(const std::string& path) { return make_records(path, true); }
void look_at_checked_batched(pool& opened, bool has_types) {
  look_at_records(opened, has_types);
  EXPECT_EQ(opened.check().checked_blocks, opened.check().blocks);
}

// Short and long objects, one given back; the writer was killed in a transaction that had changed both.
std::vector<char> make_checked(const std::string& path) {
  pool made = pool::create(path, {.most_bytes = least.most_bytes, .object_checks = true});
  for (const std::uint64_t value : {1, 2}) push(made, value);
  std::byte* block = nullptr;
  made.transact([&](transaction& t) {
    block = static_cast<std::byte*>(t.allocate(40000, 16));
    std::memset(block, 0, 40000);
    std::memset(block + 20000, 0x5a, 100);
    t.destroy(made.root<item>("head")->next);
    t.set(made.root<item>("head")->next, nullptr);
  });
  made.transact([&](transaction& t) { *t.change(block + 20000, 1) = std::byte{7}; });
  transaction t{made};
  t.set(made.root<item>("head")->value, 99u);
  *t.change(block, 1) = std::byte{8};
  return bytes_of(path);
}
void look_at_checked(pool& opened, bool has_types) {
  EXPECT_TRUE(opened.info().has_object_checks);
  EXPECT_EQ(opened.info().restored_ranges, 2);
  const situ::pool_findings found = opened.check();
  EXPECT_EQ(found.blocks, 2);
  EXPECT_EQ(found.checked_blocks, 2);
  if (!has_types) return;
  EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(2));
  opened.transact([&](transaction& t) { t.set(opened.root<item>("head")->value, 3u); });
}

struct golden_kind {
  const char* name;
  std::uint32_t version;
  std::vector<char> (*make)(const std::string& path);
  void (*look)(pool& opened, bool has_types);
};
using situ::detail::pool_version;
using situ::detail::pool_version_features;
using situ::detail::pool_version_redo;
constexpr golden_kind kinds[] = {
    {"incomplete", pool_version, make_incomplete, look_at_incomplete},
    {"blocks", pool_version, make_blocks, look_at_blocks},
    {"compacted", pool_version, make_compacted, look_at_compacted},
    {"migrating", pool_version, make_migrating, look_at_migrating},
    {"batched", pool_version_redo, make_batched, look_at_records},
    {"checked", pool_version_features, make_checked, look_at_checked},
    {"checked-batched", pool_version_features, make_checked_batched, look_at_checked_batched}};

// --- files: the length, then each stretch of 32 bytes that are not all zero, in hexadecimal ---

constexpr std::size_t line_bytes = 32;

std::vector<char> read_hex(const std::filesystem::path& path) {
  std::ifstream file{path};
  std::size_t length = 0;
  file >> std::hex >> length;
  std::vector<char> bytes(length);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words{line};
    std::size_t offset = 0;
    words >> std::hex >> offset;
    for (unsigned byte = 0; words >> byte; ++offset) bytes.at(offset) = static_cast<char>(byte);
  }
  return bytes;
}

void write_hex(const std::filesystem::path& path, const std::vector<char>& bytes) {
  std::ofstream file{path};
  char text[24];
  const auto put = [&](const char* format, std::size_t value) {
    std::snprintf(text, sizeof text, format, value);
    file << text;
  };
  put("%06zx\n", bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += line_bytes) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(line_bytes, bytes.size() - at));
    if (std::all_of(begin, end, [](char byte) { return byte == 0; })) continue;
    put("%06zx", at);
    for (auto each = begin; each != end; ++each) put(" %02zx", static_cast<unsigned char>(*each));
    file << '\n';
  }
}

const std::filesystem::path golden = SITU_TEST_SOURCE_DIR "/pool/golden";

std::string name_of(const golden_kind& kind) {
  return "version_" + std::to_string(kind.version) + "_" + kind.name + ".hex";
}

TEST(pool_golden, each_pool_that_was_written_opens_and_holds_what_it_held) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "their addresses are not ThreadSanitizer's";
#endif
#if defined(__GNUC__) && !defined(__clang__)
  constexpr bool has_types = true;
#else
  constexpr bool has_types = false;  // fingerprints have names as the compiler writes them
#endif
  const situ::log_sink sink = situ::set_log_sink([](situ::log_level, std::string_view) {});
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator{golden}) {
    if (file.path().extension() != ".hex") continue;
    SCOPED_TRACE(file.path().filename().string());
    const auto kind = std::find_if(std::begin(kinds), std::end(kinds), [&](const golden_kind& each) {
      return file.path().stem().string().ends_with(std::string{"_"} + each.name);
    });
    ASSERT_NE(kind, std::end(kinds));
    const folder in;
    write_bytes(in.file(), read_hex(file.path()));
    {
      const pool reader = pool::open(in.file(), pool_access::read);
      EXPECT_THAT(reader.check().damage, ElementsAre());
    }
    pool opened = pool::open(in.file());
    EXPECT_EQ(opened.info().version, kind->version);
    kind->look(opened, has_types);
    EXPECT_THAT(opened.check().damage, ElementsAre());
    ++count;
  }
  situ::set_log_sink(sink);
  EXPECT_GE(count, std::size(kinds));
}

TEST(pool_golden, there_is_one_of_each_kind_for_the_version_that_is_written_now) {
  for (const golden_kind& each : kinds) {
    const std::filesystem::path file = golden / name_of(each);
    EXPECT_TRUE(std::filesystem::exists(file)) << "write it by pool_golden_test --write " << golden;
  }
}

TEST(pool_golden, what_is_written_now_can_be_looked_at) {
  for (const golden_kind& each : kinds) {
    SCOPED_TRACE(each.name);
    const folder in;
    const std::vector<char> bytes = each.make(in.file());
    write_hex(in.file("hex"), bytes);
    EXPECT_EQ(read_hex(in.file("hex")), bytes);
    write_bytes(in.file(), bytes);
    const situ::log_sink sink = situ::set_log_sink([](situ::log_level, std::string_view) {});
    pool opened = pool::open(in.file());
    situ::set_log_sink(sink);
    each.look(opened, true);
  }
}

// Those that are there stay as they are.
int write_all(const std::filesystem::path& directory) {
  for (const golden_kind& each : kinds) {
    const std::filesystem::path file = directory / name_of(each);
    if (std::filesystem::exists(file)) continue;
    const folder in;
    write_hex(file, each.make(in.file()));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view{argv[1]} == "--write") return write_all(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
