// Each system call of a pool's file made to fail, one after the other: while a pool is made, opened, changed and grown,
// copied, mended and compacted. What fails says so, by the file; a pool is as it was before, or, where the call that
// failed was the last of a transaction, as after it; it opens again; and nothing else is left.
//
// The calls are wrapped by the linker (CMakeLists.txt), so what is tested is what is shipped. What cannot be made to
// fail like that is a page that its device cannot read when it is first touched: that is a signal.
#include "pool/open_pool.h"
#include "pool/pool_tools.h"
#include "pools.h"

#include <situ/base/log.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>

// --- calls that fail ---

namespace {

class failing_call {
 public:
  static constexpr int none = -1;
  int left = none;               // so many succeed, and the next fails
  int reason = 0;                // errno's value
  const char* failed = nullptr;  // which one it was
  bool fails_locks = false;      // calls of locks are among them

  // errno's value where this one is to fail, else 0.
  int next(const char* name) {
    if (left == none || left-- != 0) return 0;
    failed = name;
    return reason;
  }
};
failing_call fault;

// Waits for a device of which the first fails, once a second has begun beside it or has not for a while. The kernel
// tells of a failure once, so the second knows nothing of it.
class watched_waits {
 public:
  void begin() {
    const std::lock_guard guard{lock_};
    is_watched_ = true;
    begun_ = 0;
  }
  int end() {
    const std::lock_guard guard{lock_};
    is_watched_ = false;
    return begun_;
  }
  [[nodiscard]] bool await_first() {
    std::unique_lock guard{lock_};
    return changed_.wait_for(guard, std::chrono::seconds{20}, [&] { return begun_ != 0; });
  }
  // What fdatasync returns; none: the system says it.
  std::optional<int> next() {
    std::unique_lock guard{lock_};
    if (!is_watched_) return std::nullopt;
    const bool is_first = ++begun_ == 1;
    changed_.notify_all();
    if (!is_first) return 0;
    changed_.wait_for(guard, std::chrono::milliseconds{200}, [&] { return begun_ != 1; });
    return errno = EIO, -1;
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  bool is_watched_ = false;
  int begun_ = 0;
};
watched_waits waits;

}  // namespace

extern "C" {
// NOLINTBEGIN: names as the linker has them
int __real_open(const char*, int, ...);
int __wrap_open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (std::string_view{path}.starts_with("/proc/self/maps")) return __real_open(path, flags, mode);
  if (const int failed = fault.next("open"); failed != 0) return errno = failed, -1;
  return __real_open(path, flags, mode);
}
int __real_fcntl(int, int, ...);
int __wrap_fcntl(int descriptor, int what, ...) {
  va_list rest;
  va_start(rest, what);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  const bool may_fail = fault.fails_locks && (what == F_OFD_SETLK || what == F_OFD_GETLK);
  if (const int failed = may_fail ? fault.next("fcntl") : 0; failed != 0) return errno = failed, -1;
  return __real_fcntl(descriptor, what, argument);
}
#define WRAPPED(result, name, parameters, arguments, failure)              \
  result __real_##name parameters;                                         \
  result __wrap_##name parameters {                                        \
    if (const int failed = fault.next(#name); failed != 0) return failure; \
    return __real_##name arguments;                                        \
  }
WRAPPED(ssize_t, pread, (int d, void* to, std::size_t n, off_t at), (d, to, n, at), (errno = failed, -1))
WRAPPED(ssize_t, pwrite, (int d, const void* from, std::size_t n, off_t at), (d, from, n, at), (errno = failed, -1))
WRAPPED(int, ftruncate, (int d, off_t n), (d, n), (errno = failed, -1))
WRAPPED(int, posix_fallocate, (int d, off_t at, off_t n), (d, at, n), failed)
WRAPPED(int, fallocate, (int d, int how, off_t at, off_t n), (d, how, at, n), (errno = failed, -1))
WRAPPED(int, fsync, (int d), (d), (errno = failed, -1))
WRAPPED(int, msync, (void* at, std::size_t n, int how), (at, n, how), (errno = failed, -1))
WRAPPED(int, linkat, (int a, const char* from, int b, const char* to, int how), (a, from, b, to, how),
        (errno = failed, -1))
WRAPPED(int, rename, (const char* from, const char* to), (from, to), (errno = failed, -1))
WRAPPED(void*, mmap, (void* at, std::size_t n, int p, int how, int d, off_t from), (at, n, p, how, d, from),
        (errno = failed, MAP_FAILED))
WRAPPED(int, mprotect, (void* at, std::size_t n, int p), (at, n, p), (errno = failed, -1))
#undef WRAPPED
int __real_fdatasync(int);
int __wrap_fdatasync(int d) {
  if (const std::optional<int> watched = waits.next()) return *watched;
  if (const int failed = fault.next("fdatasync"); failed != 0) return errno = failed, -1;
  return __real_fdatasync(d);
}
// NOLINTEND
}

using namespace situ_pool_test;
using situ::errc;
using situ::pool;
using situ::pool_access;
using situ::transaction;
using situ::detail::open_pool;
using situ::detail::pool_medium;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr situ::pool_options options{.most_bytes = std::uint64_t{1} << 24, .promise = situ::pool_promise::machine};
const situ::detail::pool_overrides on_disk{nullptr, pool_medium::page_cache};  // wherever the folder of the test is

class pool_io_error : public testing::TestWithParam<int> {
 protected:
  pool_io_error() : sink_{situ::set_log_sink([](situ::log_level, std::string_view) {})} {}
  ~pool_io_error() override { situ::set_log_sink(sink_); }

  // Does it once for each of its calls, which fails; then without a failure. `before` comes before each time, `after`
  // behind it, and gets whether it threw. The names of calls that were seen to end it.
  std::vector<std::string> fail_each(const std::function<void()>& before, const std::function<void()>& body,
                                     const std::function<void(bool)>& after, bool fails_locks = false) {
    std::vector<std::string> ended;
    for (int call = 0;; ++call) {
      before();
      bool has_thrown = false;
      fault = {call, GetParam(), nullptr, fails_locks};
      try {
        body();
      } catch (const situ::error& thrown) {
        has_thrown = true;
        fault.left = failing_call::none;
        EXPECT_THAT(thrown.code(), AnyOf(errc::bad_file, errc::out_of_memory)) << thrown.what();
        EXPECT_THAT(std::string{thrown.message()}, AnyOf(HasSubstr(in.file()), HasSubstr(in.file("other.pool"))));
      }
      fault.left = failing_call::none;
      SCOPED_TRACE(testing::Message() << "call " << call << ", " << (fault.failed == nullptr ? "none" : fault.failed));
      EXPECT_TRUE(!has_thrown || fault.failed != nullptr);
      after(has_thrown);
      if (fault.failed == nullptr) return ended;
      if (has_thrown) ended.emplace_back(fault.failed);
      if (HasFailure() || call > 1000) return ended;
    }
  }
  void make_pool() {
    std::filesystem::remove(in.file());
    pool made = open_pool::create(in.file(), options, on_disk);
    push(made, 1);
    push(made, 2);
  }
  [[nodiscard]] std::size_t files() const {
    const std::filesystem::directory_iterator all{std::filesystem::path{in.file()}.parent_path()};
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  static void expect_sound(const pool& of, std::vector<std::uint64_t> values) {
    EXPECT_THAT(of.check().damage, ElementsAre());
    EXPECT_EQ(of.check().blocks, values.size());
    EXPECT_EQ(values_of(of.root<item>("head")), values);
  }
  folder in;

 private:
  situ::log_sink sink_;
};

TEST_P(pool_io_error, while_a_pool_is_made_leaves_none) {
  const auto ended = fail_each([&] { std::filesystem::remove(in.file()); },
                               [&] { (void)open_pool::create(in.file(), options, on_disk); },
                               [&](bool has_thrown) {
                                 EXPECT_EQ(files(), has_thrown ? 0 : 1);
                                 if (!has_thrown) expect_sound(pool::open(in.file()), {});
                               });
  EXPECT_THAT(ended, testing::IsSupersetOf({"open", "posix_fallocate", "fsync", "linkat"}));
}

TEST_P(pool_io_error, while_a_pool_is_opened_leaves_it_as_it_was) {
  make_pool();
  const std::vector<char> before = bytes_of(in.file());
  for (const pool_access access : {pool_access::read, pool_access::write}) {
    const auto ended = fail_each([] {}, [&] { (void)open_pool::open(in.file(), access, on_disk); },
                                 [&](bool has_thrown) {
                                   EXPECT_TRUE(!has_thrown || bytes_of(in.file()) == before);
                                   expect_sound(pool::open(in.file(), pool_access::read), {2, 1});
                                 },
                                 true);
    // A reader whose addresses cannot be had maps it elsewhere.
    EXPECT_THAT(ended,
                testing::IsSupersetOf({"open", "fcntl", "pread", access == pool_access::read ? "mprotect" : "mmap"}));
  }
}

TEST_P(pool_io_error, while_a_transaction_is_taken_back_leaves_it_to_the_next) {
  make_pool();
  std::vector<char> cut;
  {
    pool opened = pool::open(in.file());
    transaction t{opened};
    t.set(opened.root<item>("head")->value, 99u);
    cut = bytes_of(in.file());
  }
  for (const pool_access access : {pool_access::read, pool_access::write}) {
    fail_each([&] { write_bytes(in.file(), cut); }, [&] { (void)open_pool::open(in.file(), access, on_disk); },
              [&](bool) { expect_sound(pool::open(in.file(), pool_access::read), {2, 1}); });
  }
}

// A record that cannot be read is no record that is not there: what follows it would be cleared.
TEST_P(pool_io_error, while_a_log_is_read_loses_no_transaction_of_it) {
  make_pool();
  std::vector<char> logged;
  {
    pool opened = open_pool::open(in.file(), pool_access::write, on_disk);
    push(opened, 3);
    push(opened, 4);
    logged = bytes_of(in.file());
  }
  for (const pool_access access : {pool_access::read, pool_access::write}) {
    const auto ended =
        fail_each([&] { write_bytes(in.file(), logged); }, [&] { (void)open_pool::open(in.file(), access, on_disk); },
                  [&](bool) { expect_sound(pool::open(in.file(), pool_access::read), {4, 3, 2, 1}); });
    EXPECT_THAT(ended, testing::Contains("pread"));
  }
}

TEST_P(pool_io_error, while_it_is_changed_and_grows_leaves_what_was_or_what_is) {
  bool is_open = false;
  const auto ended = fail_each(
      [&] {
        make_pool();
        is_open = false;
      },
      [&] {
        pool opened = open_pool::open(in.file(), pool_access::write, on_disk);
        is_open = true;
        opened.transact([&](transaction& t) {
          t.destroy(t.allocate(3 << 20, 16));
          t.set(opened.root<item>("head")->next->value, 10u);
          t.set_root("head", t.make<item>(3u, opened.root<item>("head")));
        });
      },
      [&](bool has_thrown) {
        const pool opened = pool::open(in.file());
        const bool is_done = opened.root<item>("head")->value == 3;
        EXPECT_TRUE(is_done || has_thrown);
        expect_sound(opened, is_done ? std::vector<std::uint64_t>{3, 2, 10} : std::vector<std::uint64_t>{2, 1});
      });
  EXPECT_THAT(ended, testing::IsSupersetOf({"posix_fallocate", "fsync", "pwrite", "fdatasync"}));
}

// Also where a wait for the device would have succeeded afterwards.
TEST_P(pool_io_error, at_a_record_ends_writing_unless_the_disk_was_full) {
  make_pool();
  std::vector<char> left;
  {
    pool opened = open_pool::open(in.file(), pool_access::write, on_disk);
    fault = {0, GetParam(), nullptr};
    (void)error_of(GetParam() == EIO ? errc::bad_file : errc::out_of_memory, [&] { push(opened, 3); });
    EXPECT_STREQ(fault.failed, "pwrite");
    fault.left = failing_call::none;
    EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(2, 1));
    left = bytes_of(in.file());
    if (GetParam() == EIO) {
      EXPECT_THAT(error_of(errc::bad_file, [&] { opened.sync(); }), HasSubstr("has failed before"));
      EXPECT_THAT(error_of(errc::bad_file, [&] { push(opened, 4); }), HasSubstr("has failed before"));
    } else {
      push(opened, 4);
    }
  }
  EXPECT_EQ(bytes_of(in.file()) == left, GetParam() == EIO) << "written after a failure, or not after none";
  expect_sound(pool::open(in.file()),
               GetParam() == EIO ? std::vector<std::uint64_t>{2, 1} : std::vector<std::uint64_t>{4, 2, 1});
}

TEST_P(pool_io_error, while_it_is_copied_leaves_no_copy) {
  make_pool();
  const std::vector<char> before = bytes_of(in.file());
  for (const bool may_replace : {false, true}) {
    const auto ended = fail_each([&] { std::filesystem::remove(in.file("other.pool")); },
                                 [&] { (void)situ::detail::copy_pool(in.file(), in.file("other.pool"), may_replace); },
                                 [&](bool has_thrown) {
                                   EXPECT_EQ(bytes_of(in.file()), before);
                                   // A name that replaces another is there before its folder is on the device.
                                   const bool is_there = std::filesystem::exists(in.file("other.pool"));
                                   EXPECT_TRUE(is_there != has_thrown || (is_there && may_replace));
                                   EXPECT_EQ(files(), is_there ? 2 : 1);
                                   if (is_there)
                                     expect_sound(pool::open(in.file("other.pool"), pool_access::read), {2, 1});
                                 });
    EXPECT_THAT(ended, testing::IsSupersetOf({"pread", "pwrite", "posix_fallocate", "fsync", "linkat"}));
  }
}

TEST_P(pool_io_error, while_it_is_mended_leaves_it_as_it_was) {
  make_pool();
  std::vector<char> damaged = bytes_of(in.file());
  damaged[situ::detail::pool_roots_offset] ^= 1;
  const auto ended =
      fail_each([&] { write_bytes(in.file(), damaged); }, [&] { (void)situ::detail::repair_pool(in.file(), ""); },
                [&](bool has_thrown) {
                  EXPECT_EQ(files(), 1);
                  const bool is_mended = bytes_of(in.file()) != damaged;
                  EXPECT_TRUE(is_mended || has_thrown);
                  if (is_mended) expect_sound(pool::open(in.file()), {2, 1});
                });
  EXPECT_THAT(ended, testing::IsSupersetOf({"pwrite", "mmap", "fsync", "rename"}));
}

TEST_P(pool_io_error, while_it_is_compacted_leaves_a_sound_pool) {
  const auto ended = fail_each(
      [&] {
        make_pool();
        pool opened = pool::open(in.file());
        void* block = nullptr;
        opened.transact([&](transaction& t) {
          block = t.allocate(200000, 16);
          (void)t.allocate(100000, 16);
        });
        push(opened, 3);
        opened.transact([&](transaction& t) { t.destroy(block); });
      },
      [&] { (void)situ::detail::compact_pool(in.file()); },
      [&](bool) {
        pool opened = pool::open(in.file());
        EXPECT_THAT(values_of(opened.root<item>("head")), ElementsAre(3, 2, 1));
        EXPECT_EQ(opened.check().blocks, 4);
        opened.transact([](transaction& t) { std::memset(t.allocate(400000, 16), 1, 400000); });
        EXPECT_THAT(opened.check().damage, ElementsAre());
      });
  EXPECT_THAT(ended, testing::IsSupersetOf({"ftruncate", "fallocate"}));
}

// Else the one that succeeds would take for written what the other has lost.
TEST(pool_waits, for_one_device_are_kept_apart) {
  const folder in;
  pool made = open_pool::create(in.file(),
                                {.most_bytes = std::uint64_t{1} << 24,
                                 .promise = situ::pool_promise::batched,
                                 .sync_every = std::chrono::milliseconds{1}},
                                on_disk);
  waits.begin();
  push(made, 1);
  const bool has_begun = waits.await_first();
  const std::string failed = has_begun ? error_of(errc::bad_file, [&] { made.sync(); }) : "";
  EXPECT_EQ(waits.end(), 1);
  EXPECT_THAT(failed, HasSubstr("Input/output error"));
}

INSTANTIATE_TEST_SUITE_P(with, pool_io_error, testing::Values(EIO, ENOSPC),
                         [](const auto& info) { return info.param == EIO ? "an_io_error" : "a_full_disk"; });

}  // namespace
