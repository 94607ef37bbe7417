// A device that fails, a disk that fills up within a transaction, and a pool that another build has written.
#include "pool/open_pool.h"
#include "pools.h"

#include <situ/base/log.h>

#include <sys/resource.h>

#include <cstring>
#include <sstream>

using namespace situ_pool_test;
using situ::errc;
using situ::pool;
using situ::transaction;
using situ::detail::open_pool;
using situ::detail::pool_medium;
using situ::detail::pool_step;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

// Fails at the fence of one step, as msync does where the device cannot write.
class failing_device : public situ::detail::persistence_recorder {
 public:
  void begin(int, const std::byte*, bool) override {}
  void flush(const std::byte*, std::size_t, pool_step) override {}
  void fence(pool_step step) override {
    if (is_failing_ && step == at_) situ::throw_error(errc::bad_file, "the device has failed");
  }
  void write(std::uint64_t, const std::byte*, std::size_t, pool_step step) override {
    if (is_full_ && step == at_) situ::throw_error(errc::out_of_memory, "the disk is full");
  }
  void be_full_at(pool_step step) {
    at_ = step;
    is_full_ = true;
  }
  void go_on() { is_full_ = is_failing_ = false; }
  void fail_at(pool_step step) {
    at_ = step;
    is_failing_ = true;
  }

 private:
  pool_step at_ = pool_step::create;
  bool is_failing_ = false;
  bool is_full_ = false;
};

class pool_failure : public testing::TestWithParam<pool_step> {
 protected:
  pool_failure() : sink_{situ::set_log_sink([](situ::log_level, std::string_view) {})} {}
  ~pool_failure() override { situ::set_log_sink(sink_); }
  situ::log_sink sink_;
};

TEST_P(pool_failure, of_the_device_leaves_whole_transactions_and_ends_writing) {
  const folder in;
  failing_device device;
  {
    pool made = open_pool::create(in.file(), {.most_bytes = 1 << 24, .promise = situ::pool_promise::machine},
                                  {&device, pool_medium::dax});
    push(made, 1);
    push(made, 2);
    device.fail_at(GetParam());
    const std::string failed = error_of(errc::bad_file, [&] { push(made, 3); });
    EXPECT_THAT(failed, HasSubstr("the device has failed"));
    // What it was, or, where it failed at the very end, what it is now; and no more of it.
    const bool is_complete = GetParam() == pool_step::end;
    EXPECT_EQ(values_of(made.root<item>("head")).size(), is_complete ? 3 : 2);
    EXPECT_THAT(error_of(errc::bad_file, [&] { push(made, 4); }), HasSubstr("has failed before"));
  }
  pool opened = pool::open(in.file());
  const std::vector<std::uint64_t> found = values_of(opened.root<item>("head"));
  EXPECT_EQ(found.size(), GetParam() == pool_step::end ? 3 : 2);
  EXPECT_EQ(opened.check().blocks, found.size());
  EXPECT_THAT(opened.check().damage, ElementsAre());
  push(opened, 9);
  EXPECT_EQ(opened.root<item>("head")->value, 9);
}

INSTANTIATE_TEST_SUITE_P(at, pool_failure,
                         testing::Values(pool_step::snapshot, pool_step::publish, pool_step::commit, pool_step::end),
                         [](const auto& info) { return std::string{situ::detail::name(info.param)}; });

// --- of a redo log ---

constexpr situ::pool_options redo{.most_bytes = 1 << 24, .promise = situ::pool_promise::machine};

class pool_redo_failure : public pool_failure {};

TEST_F(pool_redo_failure, at_a_record_ends_writing_and_leaves_whole_transactions) {
  const folder in;
  failing_device device;
  {
    pool made = open_pool::create(in.file(), redo, {&device, pool_medium::page_cache});
    push(made, 1);
    push(made, 2);
    device.fail_at(pool_step::append);
    EXPECT_THAT(error_of(errc::bad_file, [&] { push(made, 3); }), HasSubstr("the device has failed"));
    EXPECT_THAT(values_of(made.root<item>("head")), ElementsAre(2, 1));
    EXPECT_THAT(error_of(errc::bad_file, [&] { push(made, 4); }), HasSubstr("has failed before"));
  }
  // The record was written, and nobody knows whether the device has it.
  pool opened = pool::open(in.file());
  EXPECT_THAT(values_of(opened.root<item>("head")), testing::AnyOf(ElementsAre(2, 1), ElementsAre(3, 2, 1)));
  EXPECT_EQ(opened.check().blocks, values_of(opened.root<item>("head")).size());
  EXPECT_THAT(opened.check().damage, ElementsAre());
  push(opened, 9);
  EXPECT_EQ(opened.root<item>("head")->value, 9);
}

TEST_F(pool_redo_failure, of_a_full_disk_takes_the_transaction_back_and_goes_on) {
  const folder in;
  failing_device device;
  {
    pool made = open_pool::create(in.file(), redo, {&device, pool_medium::page_cache});
    push(made, 1);
    device.be_full_at(pool_step::append);
    EXPECT_THAT(error_of(errc::out_of_memory, [&] { push(made, 2); }), HasSubstr("the disk is full"));
    EXPECT_THAT(values_of(made.root<item>("head")), ElementsAre(1));
    device.go_on();
    push(made, 3);
    EXPECT_THAT(values_of(made.root<item>("head")), ElementsAre(3, 1));
  }
  const pool opened = pool::open(in.file());
  EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(3, 1));
  EXPECT_EQ(opened.check().blocks, 2u);
}

TEST_F(pool_redo_failure, at_a_checkpoint_is_told_and_loses_nothing) {
  for (const pool_step step : {pool_step::checkpoint, pool_step::checkpoint_end}) {
    const folder in;
    failing_device device;
    std::size_t complete = 0;
    {
      pool made = open_pool::create(in.file(), redo, {&device, pool_medium::page_cache, 4096});
      device.fail_at(step);
      std::string failed;
      while (failed.empty() && complete < 1000) {
        try {
          push(made, ++complete);
        } catch (const situ::error& thrown) {
          failed = thrown.what();
          --complete;
        }
      }
      EXPECT_THAT(failed, HasSubstr("has failed before"));
      EXPECT_EQ(values_of(made.root<item>("head")).size(), complete);
    }
    const pool opened = pool::open(in.file());
    EXPECT_EQ(values_of(opened.root<item>("head")).size(), complete);
    EXPECT_EQ(opened.check().blocks, complete);
  }
}

// The limit on a file's length stands for a disk that is full.
TEST(pool_full_disk, within_a_long_transaction_takes_it_back) {
  const folder in;
  constexpr std::size_t count = 1 << 17;  // 1 MiB, so that its log has to go on in the heap
  pool made = pool::create(in.file(), small);
  auto* const words = made.transact([](transaction& t) { return t.make_array<std::uint64_t>(count); });
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit less = before;
  less.rlim_cur = std::filesystem::file_size(in.file());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &less), 0);
  const auto change_all = [&] {
    made.transact([&](transaction& t) {
      for (std::size_t i = 0; i < count; i += 64) {
        t.change(words + i, 64);
        std::fill_n(words + i, 64, 7);
      }
    });
  };
  const std::string full = error_of(errc::out_of_memory, change_all);
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(full, HasSubstr("cannot be had"));
  EXPECT_EQ(std::count(words, words + count, 0), static_cast<std::ptrdiff_t>(count));
  change_all();
  EXPECT_EQ(std::count(words, words + count, 7), static_cast<std::ptrdiff_t>(count));
}

// --- a pool of an earlier build ---

constexpr std::size_t golden_bytes = 1130496;

// A pool of 1 MiB at most to which 1, 2 and 3 were pushed, and whose writer was killed in a transaction that had set
// the first one's value to 99. In tests/pool/version_1.hex are its stretches of 32 bytes that are not all zero: an
// offset, then the bytes, in hexadecimal. A change that cannot open it needs another version.
std::vector<char> read_golden() {
  std::vector<char> bytes(golden_bytes);
  std::ifstream file{SITU_TEST_SOURCE_DIR "/pool/version_1.hex"};
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words{line};
    std::size_t offset = 0;
    words >> std::hex >> offset;
    for (unsigned byte = 0; words >> byte; ++offset) bytes.at(offset) = static_cast<char>(byte);
  }
  return bytes;
}
TEST(pool_golden, of_version_1_opens_and_is_recovered) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "its addresses are not ThreadSanitizer's";
#endif
  const folder in;
  const std::vector<char> golden = read_golden();
  write_bytes(in.file(), golden);
  pool opened = pool::open(in.file());
  EXPECT_EQ(opened.info().restored_ranges, 1);
  EXPECT_EQ(opened.info().transactions, 4);
  EXPECT_EQ(opened.info().roots.at(0).name, "head");
  EXPECT_EQ(opened.check().blocks, 3);
  EXPECT_THAT(opened.check().damage, ElementsAre());
#if defined(__GNUC__) && !defined(__clang__)  // fingerprints have names as the compiler writes them
  EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(3, 2, 1));
  push(opened, 4);
  EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(4, 3, 2, 1));
#endif
}

}  // namespace
