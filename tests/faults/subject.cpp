// What faults_test.py runs while one call fails: small programs whose answers are known.
//   fault_subject pool FILE         two processes share a new pool; each says what it has committed
//   fault_subject pool-check FILE   what the pool has, and whether it is sound
//   fault_subject place             a place of a job: messages, a collective, and how many processors it may use
//   fault_subject wait FILE         the same, once the file is gone
//   fault_subject client ENDPOINT KEYS   of remote memory
// 0: right; 2: wrong; 3: an error, of which standard error tells.
#include <situ/base/error.h>
#include <situ/pool/pool.h>
#include <situ/rmem/client.h>
#include <situ/rmem/keys.h>
#include <situ/situ.h>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int right = 0, wrong = 2, an_error = 3;

int fail(const char* what) {
  std::fprintf(stderr, "wrong: %s\n", what);
  return wrong;
}
int tell(const std::exception& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return an_error;
}

// --- a pool
// -----------------------------------------------------------------------------------------------------------

struct item {
  std::uint64_t number;
  item* next;
};
struct head {
  std::uint64_t a;
  std::uint64_t b;
  item* items;
};

// Memory of both processes.
struct meeting {
  std::atomic<int> opened{0};
  std::atomic<int> ended{0};
};

void add_one(situ::pool& to, int round) {
  to.transact([&](situ::transaction& t) {
    head* const h = to.root<head>("head");
    t.change(h).a += 1;
    // Long enough for the other one to look whether this one lives.
    if (round % 3 == 0) std::this_thread::sleep_for(4ms);
    h->b += 1;
    h->items = t.make<item>(h->b, h->items);
  });
}

int read_twice(const situ::pool& of, int round) {
  return of.read([&] {
    const volatile head* const h = of.root<head>("head");
    const std::uint64_t a = h->a;
    if (round % 3 == 1) std::this_thread::sleep_for(3ms);
    return a == h->a && a == h->b ? right : fail("what was read in one section changed");
  });
}

// Says how many transactions are complete, and how many ended by an error: those may be there or not.
int change_pool(situ::pool& opened) {
  int committed = 0, failed = 0, how = right;
  for (int round = 0; round < 10 && how != wrong; ++round) {
    try {
      add_one(opened, round);
      ++committed;
      if (read_twice(opened, round) == wrong) how = wrong;
    } catch (const std::exception& e) {
      ++failed;
      how = tell(e);
    }
  }
  std::printf("committed %d failed %d\n", committed, failed);
  std::fflush(stdout);
  return how;
}

int share_pool(const std::string& file, meeting& met) {
  const auto await_all = [](std::atomic<int>& count) {
    for (int i = 0; i < 20000 && count.load() < 2; ++i) std::this_thread::sleep_for(1ms);
  };
  int how = right;
  try {
    situ::pool opened = situ::pool::open(file, {.patience = 10s});
    met.opened.fetch_add(1);
    await_all(met.opened);
    how = change_pool(opened);
    met.ended.fetch_add(1);
    await_all(met.ended);  // else the last one closes it alone
  } catch (const std::exception& e) {
    how = tell(e);
    met.opened.store(2);
    met.ended.store(2);
  }
  return how;
}

int pool(const std::string& file) {
  try {
    situ::pool made = situ::pool::create(file, {.most_bytes = std::uint64_t{1} << 26});
    made.transact([](situ::transaction& t) { t.set_root("head", t.make<head>(0U, 0U, nullptr)); });
  } catch (const std::exception& e) {
    return tell(e);
  }
  void* const shared = ::mmap(nullptr, sizeof(meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return tell(std::runtime_error{"no memory for the test"});
  auto* const met = new (shared) meeting;
  const pid_t child = ::fork();  // by itself: faults_test.py counts the calls of this program
  if (child == 0) ::_exit(share_pool(file, *met));
  if (child < 0) return tell(std::runtime_error{"no process for the test"});
  const int own = share_pool(file, *met);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return std::max(own, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int check_pool(const std::string& file) {
  const situ::pool opened = situ::pool::open(file);
  const head* const h = opened.root<head>("head");
  std::uint64_t items = 0;
  for (const item* each = h == nullptr ? nullptr : h->items; each != nullptr && items < 1000; each = each->next)
    ++items;
  std::printf("a %llu b %llu items %llu\n", static_cast<unsigned long long>(h == nullptr ? 0 : h->a),
              static_cast<unsigned long long>(h == nullptr ? 0 : h->b), static_cast<unsigned long long>(items));
  const situ::pool_findings found = h == nullptr ? opened.check() : opened.check<head>();
  for (const std::string& each : found.damage) std::printf("damage: %s\n", each.c_str());
  std::printf("unreached %llu\n", static_cast<unsigned long long>(found.unreached_blocks));
  return found.damage.empty() && found.unreached_blocks == 0 ? right : wrong;
}

// --- a job
// ------------------------------------------------------------------------------------------------------------

int place(int& argc, char** argv, const char* until_gone) {
  try {
    situ::runtime rt{argc, argv};
    const std::uint32_t me = situ::here().index();
    const std::uint32_t next = (me + 1) % situ::place_count();
    const situ::ptr<std::uint64_t> given = situ::allocate<std::uint64_t>();
    const auto everyones = situ::all_gather(given);
    situ::put(everyones[next], std::uint64_t{me} + 1);
    situ::barrier();
    const std::uint64_t square =
        situ::at(situ::place{next}, [](std::uint64_t x) { return x * x; }, std::uint64_t{me} + 3);
    const std::uint64_t sum = situ::all_reduce(situ::get(given) * 100 + square, std::plus<>{});
    while (until_gone != nullptr && ::access(until_gone, F_OK) == 0) std::this_thread::sleep_for(5ms);
    cpu_set_t allowed;
    ::sched_getaffinity(0, sizeof allowed, &allowed);
    std::printf("sum %llu on %d\n", static_cast<unsigned long long>(sum), CPU_COUNT(&allowed));
    std::fflush(stdout);
    situ::deallocate(given);
    return right;
  } catch (const std::exception& e) {
    return tell(e);
  }
}

// --- remote memory
// ------------------------------------------------------------------------------------------------------

int use_remote_memory(situ::rmem::client& by) {
  constexpr std::size_t bytes = 50'000;
  std::vector<std::byte> pattern(bytes), got(bytes);
  for (std::size_t i = 0; i < bytes; ++i) pattern[i] = static_cast<std::byte>(i * 7 + 1);
  const situ::rmem::capability region = by.allocate(bytes, {}, situ::rmem::lifetime::connection);
  by.write(region, 0, pattern);
  by.read(region, 0, got);
  if (got != pattern) return fail("what was written is not what was read");
  const situ::rmem::capability counter = by.allocate(4096, {}, situ::rmem::lifetime::connection);
  for (std::uint64_t i = 0; i < 20; ++i)
    if (by.fetch_add(counter, 8, 3) != 3 * i) return fail("an addition was lost, or done twice");
  if (const auto mapped = by.map_to_read(region);
      mapped && std::memcmp(mapped->bytes().data(), pattern.data(), bytes) != 0)
    return fail("what is mapped is not what was written");
  by.free(counter);
  by.free(region);
  return right;
}

int client(const std::string& endpoint, const std::string& keys) {
  try {
    situ::rmem::client by{endpoint, situ::rmem::load_key(keys), {.timeout = 2s}};
    const int how = use_remote_memory(by);
    if (how == right) std::puts("right");
    return how;
  } catch (const std::exception& e) {
    return tell(e);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "pool" && argc > 2) return pool(argv[2]);
  if (what == "pool-check" && argc > 2) {
    try {
      return check_pool(argv[2]);
    } catch (const std::exception& e) {
      return tell(e);
    }
  }
  if (what == "place") return place(argc, argv, nullptr);
  if (what == "wait" && argc > 2) return place(argc, argv, argv[2]);
  if (what == "client" && argc > 3) return client(argv[2], argv[3]);
  return fail("no such program");
}
