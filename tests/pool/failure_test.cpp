// A device that fails, and a disk that fills up within a transaction.
#include "pool/open_pool.h"
#include "pools.h"

#include <situ/base/log.h>

#include <sys/resource.h>

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

// A machine that goes down may have brought a later record to the device, and not the one before it. What is written
// anew in the place of that one must not lead to the later one.
TEST_F(pool_redo_failure, of_a_record_ends_those_behind_it_for_good) {
  const folder in;
  constexpr situ::pool_options batched{
      .most_bytes = 1 << 24, .promise = situ::pool_promise::batched, .sync_every = std::chrono::milliseconds{0}};
  constexpr std::size_t in_first_record = 8192 + 40;
  const auto push_two = [&](pool& to, std::uint64_t first, std::uint64_t second) {
    push(to, first);
    if (second != 0) push(to, second);
    return bytes_of(in.file());
  };
  std::vector<char> left;
  {
    pool made = open_pool::create(in.file(), batched, {nullptr, pool_medium::page_cache});
    left = push_two(made, 1, 2);
  }
  left.at(in_first_record) ^= 1;
  write_bytes(in.file(), left);
  {
    pool opened = open_pool::open(in.file(), situ::pool_access::write, {nullptr, pool_medium::page_cache});
    EXPECT_EQ(opened.root<item>("head"), nullptr);
    left = push_two(opened, 7, 0);
  }
  write_bytes(in.file(), left);
  const pool opened = pool::open(in.file(), situ::pool_access::read);
  EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(7));
}

// A limit on the length of files: to the transaction, the same as a full disk.
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
  EXPECT_THAT(full, HasSubstr("ulimit -f"));
  EXPECT_EQ(std::count(words, words + count, 0), static_cast<std::ptrdiff_t>(count));
  change_all();
  EXPECT_EQ(std::count(words, words + count, 7), static_cast<std::ptrdiff_t>(count));
}

}  // namespace
