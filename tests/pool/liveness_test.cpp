// Who has died and who lives: concluded from evidence only. A process that cannot look waits; one that was killed is
// found, whatever it leaves behind; one that has lost its locks writes nothing more. And children of a pool's process.
#include "pools.h"
#include "processes.h"

#include <situ/base/log.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

using namespace situ_pool_test;
using situ::errc;
using situ::pool;
using situ::pool_access;
using situ::transaction;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct pair {
  long first;
  long second;
};

constexpr std::chrono::milliseconds impatient{250};

// --- what keeps a process from looking ---

bool use_up_descriptors() {
  const rlimit few{64, 64};
  if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return false;
  while (::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {}
  return errno == EMFILE;
}

bool cover_proc() { return has_mounts_of_its_own() && ::mount("none", "/proc", "tmpfs", 0, nullptr) == 0; }

// Another process shows nothing of itself to this one but that its number is taken.
bool hide_others() {
  return ::geteuid() == 0 && has_mounts_of_its_own() && ::mount("proc", "/proc", "proc", 0, "hidepid=invisible") == 0 &&
         ::setgid(65534) == 0 && ::setuid(65534) == 0;
}

// Both take effect in children.
bool enter_other_numbers() { return enter_spaces(CLONE_NEWPID); }
bool enter_other_time() {
#if defined(CLONE_NEWTIME)
  return enter_spaces(CLONE_NEWTIME) && write_to("/proc/self/timens_offsets", "boottime 5000 0\n");
#else
  return false;
#endif
}

class pool_liveness : public testing::Test {
 protected:
  pool_liveness() {
    pool made = pool::create(in.file(), small);
    made.transact([](transaction& t) { t.set_root("pair", t.make<pair>()); });
    std::filesystem::permissions(in.file(), std::filesystem::perms::all);
    std::filesystem::permissions(std::filesystem::path{in.file()}.parent_path(), std::filesystem::perms::all);
  }
  // From step 1 on in a transaction of which the half is done, which is step 2, until step 3.
  [[nodiscard]] bool hold_in_transaction() {
    pool by = pool::open(in.file());
    pair* const both = by.root<pair>("pair");
    *opened += 1;
    bool is_well = comes_true([&] { return *step == 1; });
    by.transact([&](transaction& t) {
      t.change(both);
      both->first += 1;
      *step = 2;
      is_well = is_well && comes_true([&] { return *step == 3; });
      both->second += 1;
    });
    return is_well;
  }
  // Whether a transaction waits in vain for `holder`, with an error that names it and says so.
  [[nodiscard]] bool waits_in_vain(pool& by, pid_t holder, const char* what) {
    try {
      by.transact([&](transaction& t) {
        pair* const both = by.root<pair>("pair");
        t.change(both);
        both->first += 100;
        both->second += 100;
      });
    } catch (const situ::error& thrown) {
      const std::string text{thrown.what()};
      return thrown.code() == errc::bad_file && text.find("process " + std::to_string(holder)) != std::string::npos &&
             text.find(what) != std::string::npos;
    }
    return false;
  }
  void expect_untorn() {
    const pool found = pool::open(in.file());
    const pair both = *found.root<pair>("pair");
    EXPECT_EQ(both.first, 1);
    EXPECT_EQ(both.second, 1);
    EXPECT_THAT(found.check().damage, ElementsAre());
  }
  // Once the pool is open and `prepare` was called: what a process waits for that comes while the holder has it.
  [[nodiscard]] bool waits_in_vain_once_it(bool (*prepare)(), pid_t holder, std::atomic<int>& is_prepared) {
    pool by = open_impatiently();
    is_prepared = prepare() ? 1 : 0;
    *step = 1;
    return comes_true([&] { return *step == 2; }) &&
           (is_prepared == 0 || waits_in_vain(by, holder, "is in a transaction"));
  }
  // The process itself prepares, or its parent has done so: then it is in other name spaces from its beginning on.
  void expect_patience_of_one_that(bool (*prepare)(), bool is_its_parent = false) {
    common<std::atomic<int>> is_prepared;
    process holder{[&] { return hold_in_transaction(); }};
    ASSERT_TRUE(comes_true([&] { return *opened == 1; }));
    process waiter{[&] {
      if (!is_its_parent) return waits_in_vain_once_it(prepare, holder.number(), *is_prepared);
      common<std::atomic<int>> ignored;
      *is_prepared = prepare() ? 1 : 0;
      process child{[&] { return waits_in_vain_once_it([] { return true; }, holder.number(), *ignored); }};
      return child.wait() || *is_prepared == 0;
    }};
    EXPECT_TRUE(waiter.wait());
    *step = 3;
    EXPECT_TRUE(holder.wait());
    expect_untorn();
    if (*is_prepared == 0) GTEST_SKIP() << "the system does not let this user prepare it";
  }
  [[nodiscard]] pool open_impatiently() const {
    return pool::open(in.file(), situ::pool_opening{.patience = impatient});
  }

  folder in;
  common<std::atomic<int>> step;
  common<std::atomic<int>> opened;
};

// --- who cannot look waits ---

TEST_F(pool_liveness, one_without_descriptors_waits_for_a_transaction) {
  expect_patience_of_one_that(&use_up_descriptors);
}

TEST_F(pool_liveness, one_without_a_proc_waits_for_a_transaction) { expect_patience_of_one_that(&cover_proc); }

TEST_F(pool_liveness, one_from_which_processes_are_hidden_waits_for_a_transaction) {
  expect_patience_of_one_that(&hide_others);
}

TEST_F(pool_liveness, one_that_counts_processes_otherwise_waits_for_a_transaction) {
  expect_patience_of_one_that(&enter_other_numbers, true);
}

TEST_F(pool_liveness, one_that_counts_time_otherwise_waits_for_a_transaction) {
  expect_patience_of_one_that(&enter_other_time, true);
}

TEST_F(pool_liveness, one_without_descriptors_waits_for_a_section) {
  process reader{[&] {
    const pool by = pool::open(in.file(), pool_access::read);
    return by.read([&] {
      const volatile pair* const both = by.root<pair>("pair");
      const long before = both->first;
      *step = 1;
      return comes_true([&] { return *step == 2; }) && both->first == before;
    });
  }};
  ASSERT_TRUE(comes_true([&] { return *step == 1; }));
  process writer{[&] {
    pool by = open_impatiently();
    return use_up_descriptors() && waits_in_vain(by, reader.number(), "reads it");
  }};
  EXPECT_TRUE(writer.wait());
  *step = 2;
  EXPECT_TRUE(reader.wait());
}

// /proc shows such a process as a zombie.
TEST_F(pool_liveness, one_whose_main_thread_has_ended_lives) {
  std::optional<pool> waiting{open_impatiently()};
  process holder{[&] {
    std::thread{[&] { ::_exit(hold_in_transaction() ? 0 : 1); }}.detach();
    ::syscall(SYS_exit, 0);
    return false;
  }};
  const auto is_zombie = [&] {
    std::ifstream file{"/proc/" + std::to_string(holder.number()) + "/stat"};
    std::string text;
    std::getline(file, text);
    return text.find(") Z ") != std::string::npos;
  };
  *step = 1;
  ASSERT_TRUE(comes_true([&] { return *step == 2 && is_zombie(); }));
  EXPECT_TRUE(waits_in_vain(*waiting, holder.number(), "is in a transaction"));
  waiting.reset();
  *step = 3;
  EXPECT_TRUE(holder.wait());
  expect_untorn();
}

// --- who was killed is found ---

// Ended in a transaction, with a child left behind that keeps its locks.
process killed_beside_a_child(const std::string& path, std::atomic<pid_t>& left) {
  return process{[&]() -> bool {
    pool by = pool::open(path);
    transaction t{by};
    t.set(by.root<pair>("pair")->first, 99);
    left = leave_a_sleeper();
    situ::test::kill_this_process();
  }};
}

// Until its parent waits for it, all that is left of it is its number, and a state that a living one may show, too.
TEST_F(pool_liveness, one_that_leaves_a_child_is_found_dead_before_its_parent_has_waited) {
  const situ::log_sink before = situ::set_log_sink([](situ::log_level, std::string_view) {});
  pool beside = pool::open(in.file());
  common<std::atomic<pid_t>> left;
  process killed = killed_beside_a_child(in.file(), *left);
  siginfo_t told{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(killed.number()), &told, WEXITED | WNOWAIT), 0);
  beside.transact([&](transaction& t) { t.set(beside.root<pair>("pair")->second, 7); });
  EXPECT_EQ(beside.root<pair>("pair")->first, 0);
  EXPECT_FALSE(killed.wait());
  ::kill(*left, SIGKILL);
  situ::set_log_sink(before);
}

TEST_F(pool_liveness, one_that_leaves_a_child_is_found_dead_without_descriptors) {
  common<std::atomic<pid_t>> left;
  EXPECT_FALSE(killed_beside_a_child(in.file(), *left).wait());
  process writer{[&] {
    situ::set_log_sink([](situ::log_level, std::string_view) {});
    pool by = pool::open(in.file());
    if (!use_up_descriptors()) return false;
    by.transact([&](transaction& t) { t.set(by.root<pair>("pair")->second, 7); });
    return by.root<pair>("pair")->first == 0;
  }};
  EXPECT_TRUE(writer.wait());
  ::kill(*left, SIGKILL);
}

// --- who has lost its locks ---

// As a file system over a network does that has lost them.
void lose_locks_of(const std::string& path) {
  for (int each = 3; each < 1024; ++each) {
    std::error_code ignored;
    if (std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(each), ignored) != path) continue;
    struct flock all{};
    all.l_type = F_UNLCK;
    all.l_whence = SEEK_SET;
    ::fcntl(each, F_OFD_SETLK, &all);
  }
}

TEST_F(pool_liveness, a_transaction_that_has_lost_its_lock_writes_nothing_and_says_so) {
  common<std::array<char, 512>> told;
  process loser{[&] {
    pool by = pool::open(in.file());
    const auto error_in = [&](auto body) {
      try {
        by.transact(body);
        return std::string{"nothing was thrown"};
      } catch (const situ::error& thrown) {
        return std::string{thrown.what()};
      }
    };
    const std::string lost = error_in([&](transaction& t) {
      t.set(by.root<pair>("pair")->first, 5);
      t.set_root("made", t.make<pair>(1L, 2L));
      lose_locks_of(in.file());
      *step = 1;
      if (!comes_true([&] { return *step == 2; })) throw std::runtime_error{"nobody came"};
    });
    lost.copy(told->data(), told->size() - 1);
    const bool is_refused = error_in([&](transaction& t) { t.set(by.root<pair>("pair")->first, 6); }) == lost;
    *step = 3;
    return is_refused;
  }};
  ASSERT_TRUE(comes_true([&] { return *step == 1; }));
  {
    const situ::log_sink before = situ::set_log_sink([](situ::log_level, std::string_view) {});
    pool beside = pool::open(in.file());
    beside.transact([&](transaction& t) { t.set(beside.root<pair>("pair")->second, 7); });
    situ::set_log_sink(before);
    const std::vector<char> bytes = lasting_bytes_of(in.file());
    *step = 2;
    EXPECT_TRUE(loser.wait());
    EXPECT_EQ(lasting_bytes_of(in.file()), bytes);
    EXPECT_EQ(beside.root<pair>("made"), nullptr);
    EXPECT_EQ(beside.root<pair>("pair")->first, 0);
    EXPECT_EQ(beside.root<pair>("pair")->second, 7);
    beside.transact([&](transaction& t) { t.set(beside.root<pair>("pair")->second, 8); });
  }
  EXPECT_THAT(std::string{told->data()}, AllOf(HasSubstr(in.file()), HasSubstr("others took it for dead")));
  EXPECT_THAT(pool::open(in.file()).check().damage, ElementsAre());
}

TEST_F(pool_liveness, a_section_that_was_cut_is_told_and_is_the_last_one) {
  process reader{[&] {
    const pool by = pool::open(in.file(), pool_access::read);
    std::string logged;
    situ::set_log_sink([&](situ::log_level, std::string_view text) { logged += text; });
    by.read([&] {
      lose_locks_of(in.file());
      *step = 1;
      return comes_true([&] { return *step == 2; });
    });
    try {
      by.read([] {});
    } catch (const situ::error& thrown) {
      return logged.find("in a read section") != std::string::npos &&
             std::string_view{thrown.what()}.find("others took it for dead") != std::string_view::npos;
    }
    return false;
  }};
  ASSERT_TRUE(comes_true([&] { return *step == 1; }));
  pool beside = pool::open(in.file());
  beside.transact([&](transaction& t) { t.set(beside.root<pair>("pair")->second, 7); });
  *step = 2;
  EXPECT_TRUE(reader.wait());
  beside.transact([&](transaction& t) { t.set(beside.root<pair>("pair")->second, 8); });
}

// --- children ---

// Whether a call of the parent's pool says what the child shall do.
template <class Body>
bool is_told_apart(Body body) {
  try {
    body();
  } catch (const situ::error& thrown) {
    return thrown.code() == errc::bad_file &&
           std::string_view{thrown.what()}.find("open the pool anew in the child") != std::string_view::npos;
  }
  return false;
}

TEST_F(pool_liveness, a_child_gets_an_error_for_each_call_of_its_parents_pool) {
  for (const pool_access access : {pool_access::write, pool_access::exclusive, pool_access::read}) {
    std::optional<pool> of_parent{pool::open(in.file(), access)};
    (void)of_parent->read([&] { return of_parent->root<pair>("pair"); });
    process child{[&] {
      const bool is_right = is_told_apart([&] { (void)of_parent->root<pair>("pair"); }) &&
                            is_told_apart([&] { of_parent->read([] {}); }) &&
                            is_told_apart([&] { (void)of_parent->info(); }) &&
                            is_told_apart([&] { (void)of_parent->check(); }) &&
                            (access == pool_access::read || is_told_apart([&] { of_parent->transact([](auto&) {}); }));
      of_parent.reset();
      return is_right;
    }};
    EXPECT_TRUE(child.wait()) << static_cast<int>(access);
    EXPECT_NE(of_parent->root<pair>("pair"), nullptr);
  }
}

TEST_F(pool_liveness, a_child_made_in_a_transaction_takes_no_part_in_it) {
  pool of_parent = pool::open(in.file());
  pair* const both = of_parent.root<pair>("pair");
  {
    transaction t{of_parent};
    t.set(both->first, 1);
    process child{[&] {
      const bool is_right = is_told_apart([&] { t.set(both->second, 9); }) &&
                            is_told_apart([&] { t.set_root("made", both); }) &&
                            is_told_apart([&] { transaction within{of_parent}; }) &&
                            is_told_apart([&] { of_parent.read([] {}); }) && is_told_apart([&] { t.commit(); });
      t.~transaction();
      return is_right;
    }};
    EXPECT_TRUE(child.wait());
    t.set(both->second, 1);
    t.commit();
  }
  EXPECT_EQ(both->first, 1);
  EXPECT_EQ(both->second, 1);
}

TEST_F(pool_liveness, a_child_opens_its_parents_pool_anew) {
  pool of_parent = pool::open(in.file());
  process child{[&] {
    pool own = pool::open(in.file());
    own.transact([&](transaction& t) { t.set(own.root<pair>("pair")->first, 1); });
    return true;
  }};
  EXPECT_TRUE(child.wait());
  EXPECT_EQ(of_parent.root<pair>("pair")->first, 1);
}

// Its threads are the parent's: there is nobody to wait for.
TEST_F(pool_liveness, a_child_may_close_its_parents_batched_pool) {
  std::optional<pool> of_parent{
      pool::create(in.file("batched"), {.most_bytes = small.most_bytes, .promise = situ::pool_promise::batched})};
  push(*of_parent, 1);
  process child{[&] {
    of_parent.reset();
    return true;
  }};
  EXPECT_TRUE(child.wait());
  push(*of_parent, 2);
  of_parent.reset();
  EXPECT_THAT(values_of(pool::open(in.file("batched")).root<item>("head")), ElementsAre(2, 1));
}

TEST_F(pool_liveness, a_child_that_touches_its_parents_pages_ends_with_a_sentence) {
  const pool of_parent = pool::open(in.file());
  const volatile pair* const both = of_parent.root<pair>("pair");
  EXPECT_DEATH((void)both->first, "is a child of process .*, which has the pool open: .*Open the pool anew");
}

}  // namespace
