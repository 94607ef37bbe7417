// Operations of a place of a job over two hosts on memory of the other, calls and messages to it, and barriers of all,
// beside a blocking TCP echo of the same bytes, a search and sweeps by both places beside one alone, and the agreement of
// the survivors of a loss: `situ bench cluster`; by hand: situ run --hosts a,b situ_bench_cluster
// (bench/support/job_samples.h). The first place of the second host echoes in a thread, while the place sleeps in a
// barrier.
#include "support/job_samples.h"
#include "support/tcp_echo.h"
#include "support/uts.h"

#include <situ/fabric/am.h>
#include <situ/fabric/atomic.h>
#include <situ/fabric/rma.h>
#include <situ/fabric/signal.h>
#include <situ/situ.h>

#include <situ/spread/task_pool.h>
#include <situ/trees/place_tree.h>
#include <situ/trees/placed_array.h>

#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace situ;

constexpr std::size_t block_bytes = std::size_t{2} << 20;

in_addr_t own_ip() {
  ifaddrs* all = nullptr;
  tcp_echo::must(::getifaddrs(&all) == 0, "getifaddrs");
  in_addr_t found = htonl(INADDR_LOOPBACK);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next)
    if (each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET && (each->ifa_flags & IFF_LOOPBACK) == 0)
      found = reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr.s_addr;
  ::freeifaddrs(all);
  return found;
}

// A thread that echoes to one client until that goes.
class echo_thread {
 public:
  echo_thread() : echo_{own_ip(), block_bytes}, thread_{[this] { echo_.serve(); }} {}
  ~echo_thread() { thread_.join(); }
  echo_thread(const echo_thread&) = delete;
  echo_thread& operator=(const echo_thread&) = delete;
  [[nodiscard]] tcp_echo::address way() const noexcept { return echo_.way(); }

 private:
  tcp_echo::server echo_;
  std::thread thread_;
};

// Times

using job_bench::is_quick;
using job_bench::is_wanted;

double ns_of(const std::function<void()>& act) {
  const double begin = job_bench::now_ns();
  act();
  return job_bench::now_ns() - begin;
}

// A sample is the median of some operations; echo and operation take turns, sample by sample.
void compare(const char* name, int times, const std::function<void()>& ours, const std::function<void()>& tcp) {
  std::vector<job_bench::samples> all{{"echo"}, {"situ"}};
  const auto median_of = [times](const std::function<void()>& act) {
    std::vector<double> ns;
    for (int i = 0; i < times; ++i) ns.push_back(ns_of(act));
    std::nth_element(ns.begin(), ns.begin() + times / 2, ns.end());
    return ns[static_cast<std::size_t>(times / 2)];
  };
  for (int turn = 0; turn < (is_quick() ? 1 : 15); ++turn) {
    all[0].ns.push_back(median_of(tcp));
    all[1].ns.push_back(median_of(ours));
  }
  job_bench::print(name, all);
}
int times_of(int usual) { return is_quick() ? 5 : usual; }

// The job

constexpr std::uint32_t first = 0;
// The first place of the second host.
std::uint32_t other() { return place_count() / 2; }

promise<>* awaited = nullptr;
void on_pong(am::reply_token&) { awaited->set_value(); }
void on_ping(am::token& t) { t.reply_short<on_pong>(); }

// A message to the other place, and its reply.
void ping() {
  promise<> answered;
  awaited = &answered;
  const future<> answer = answered.get_future();
  am::request_short<on_ping>(place{other()});
  answer.wait();
}

// Threads that keep the processors of a host busy.
class busy_threads {
 public:
  explicit busy_threads(int count) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([this] {
        while (!is_over_.load(std::memory_order_relaxed)) {}
      });
  }
  ~busy_threads() {
    is_over_.store(true);
    for (std::thread& each : threads_) each.join();
  }
  busy_threads(const busy_threads&) = delete;
  busy_threads& operator=(const busy_threads&) = delete;

 private:
  std::atomic<bool> is_over_{false};
  std::vector<std::thread> threads_;
};

struct sides {
  sides(ptr<std::byte> of_other, const tcp_echo::address& way) : there{of_other}, client{way} {}

  ptr<std::byte> there;  // block_bytes of the other place
  tcp_echo::client client;
  std::vector<std::byte> bytes = std::vector<std::byte>(block_bytes, std::byte{1});
  std::vector<std::byte> back = std::vector<std::byte>(block_bytes);

  void ask(std::size_t sent, std::size_t wanted) {
    client.ask(std::span{bytes}.first(sent), std::span{back}.first(wanted));
  }
  [[nodiscard]] ptr<std::uint64_t> word() const {
    return ptr<std::uint64_t>{reinterpret_cast<std::uint64_t*>(there.address())};
  }
  void measure_operations() {
    const auto measure = [this](const char* name, int times, const std::function<void()>& ours, std::size_t sent,
                                std::size_t wanted) {
      if (is_wanted(name)) compare(name, times_of(times), ours, [this, sent, wanted] { ask(sent, wanted); });
    };
    put(there, bytes.data(), block_bytes);
    get(back.data(), there, block_bytes);
    if (back != bytes) throw std::runtime_error{"what was put is not what comes back"};
    measure("cluster_get_8", 300, [&] { (void)get(word()); }, 0, 8);
    measure("cluster_get_4096", 200, [&] { get(back.data(), there, 4096); }, 0, 4096);
    measure("cluster_get_1M", 15, [&] { get(back.data(), there, 1 << 20); }, 0, 1 << 20);
    measure("cluster_put_8", 300, [&] { put(word(), std::uint64_t{4}); }, 8, 0);
    measure("cluster_put_1M", 15, [&] { put(there, bytes.data(), 1 << 20); }, 1 << 20, 0);
    measure("cluster_put_signal", 300, [&] { put_signal(word(), std::uint64_t{4}, word() + 8, 1); }, 16, 0);
    measure("cluster_fetch_add", 300, [&] { atomic_fetch_add(word(), std::uint64_t{1}); }, 8, 8);
    measure("cluster_message", 200, &ping, 0, 0);
    measure("cluster_at", 200, [] { at(place{other()}, [] {}); }, 0, 0);
    const std::vector<std::byte> some(4096, std::byte{2});
    measure(
        "cluster_at_4096", 100,
        [&] { (void)at(place{other()}, [](const std::vector<std::byte>& v) { return v.size(); }, some); }, 4096, 8);
  }
  void measure_beside_load() {
    compare(
        "cluster_fetch_add_beside_load", times_of(30), [&] { atomic_fetch_add(word(), std::uint64_t{1}); },
        [this] { ask(8, 8); });
  }
};

// Between two barriers of all places; the others come to each.
template <class Alone>
void beside_others(sides* with, Alone alone) {
  barrier();
  if (with != nullptr) alone();
  barrier();
}

// The others call as many barriers as the first place's samples have.
void measure_barriers(const char* name, sides* with) {
  if (!is_wanted(name)) return;
  const int times = times_of(200);
  if (with != nullptr) return compare(name, times, [] { barrier(); }, [&] { with->ask(0, 0); });
  for (int i = 0; i < times * (is_quick() ? 1 : 15); ++i) barrier();
}

// An unbalanced tree searched by a pool of the first place, then by one of all places.
void measure_uts() {
  std::vector<job_bench::samples> all{{"one_host"}, {"situ"}};
  const std::uint32_t only[] = {first};
  for (int sample = 0; sample < (is_quick() ? 1 : 3); ++sample) {
    std::uint64_t nodes = 0, mine = 0;
    const double alone = job_bench::time_together([&] {
      if (here().index() != first) return;
      task_pool pool{world().subset(only)};
      nodes = uts::count_by(pool, true);
    });
    nodes = broadcast(nodes);
    task_pool pool;
    const double together = job_bench::time_together([&] { mine = uts::count_by(pool, here().index() == first); });
    uts::check_count(all_reduce(mine, std::plus<>{}), nodes);
    all[0].ns.push_back(alone / static_cast<double>(nodes));
    all[1].ns.push_back(together / static_cast<double>(nodes));
  }
  job_bench::print("cluster_uts", all);
}

// Sweeps over the rows of a place tree, dealt by these weights. Returns the time of an element.
double sweep(std::vector<double> weights) {
  const std::size_t height = is_quick() ? 32 : 1024, width = 2048;
  const int times = is_quick() ? 2 : 20;
  place_tree tree = place_tree::of_places();
  const placed_rows rows = tree.distribute(height, deal::weighted(std::move(weights)));
  placed_array<double> from{rows, width, 1}, to{rows, width, 1};
  const double took = ns_of([&] {
    for (int i = 0; i < times; ++i) {
      from.copy_ghosts();
      tree.for_each(
          rows,
          [](const tree_part& part, rows_view<const double> u, rows_view<double> v) {
            for (std::ptrdiff_t row = part.begin; row < part.end; ++row)
              for (std::size_t j = 0; j < v.columns; ++j)
                v(row, j) = std::sqrt(1 + u(row, j) * u(row, j)) / (1 + u(row - 1, j) * u(row + 1, j));
          },
          reads(from), writes(to));
      std::swap(from, to);
    }
    tree.wait();
  });
  return took / (static_cast<double>(times) * static_cast<double>(height * width));
}

void measure_tree() {
  std::vector<job_bench::samples> all{{"one_host"}, {"situ"}};
  for (int sample = 0; sample < (is_quick() ? 1 : 7); ++sample) {
    all[0].ns.push_back(sweep({1, 0}));
    all[1].ns.push_back(sweep({1, 1}));
  }
  job_bench::print("cluster_tree", all);
}

// The last member kills itself, while the others wait for it. Each of these comes to survivors() once it is told of the
// loss; the clock of the first runs from there. Returns the team, and that time.
std::pair<team, double> lose_the_last(const team& members) {
  barrier(members);
  if (members.index() + 1 == members.size()) ::kill(::getpid(), SIGKILL);
  try {
    barrier(members);
  } catch (const place_lost_error&) {
    const double begin = job_bench::now_ns();
    team rest = survivors();
    return {std::move(rest), job_bench::now_ns() - begin};
  }
  throw std::runtime_error{"nobody was told that a place was lost"};
}

// With four places at each host: two losses while both hosts have places, two that leave the first host alone, and two
// more there.
void measure_survivors() {
  std::vector<job_bench::samples> all{{"one_host"}, {"situ"}};
  team members = world();
  const auto lose_one = [&](std::vector<double>* to) {
    const auto [rest, took] = lose_the_last(members);
    members = rest;
    if (to != nullptr) to->push_back(took);
  };
  for (int i = 0; i < 2; ++i) lose_one(&all[1].ns);
  for (int i = 0; i < 2; ++i) lose_one(nullptr);
  for (int i = 0; i < 2; ++i) lose_one(&all[0].ns);
  job_bench::print("cluster_survivors", all);
}

void run() {
  if (place_count() == 8) return measure_survivors();
  if (place_count() != 2 && place_count() != 4)
    throw std::runtime_error{"start it with one, two or four places at each of two hosts"};
  const ptr<std::byte> own = allocate<std::byte>(block_bytes);
  const auto blocks = all_gather(own);
  std::optional<echo_thread> server;
  if (here().index() == other()) server.emplace();
  const auto way = broadcast(server ? server->way() : tcp_echo::address{}, other());
  std::optional<sides> with;
  if (here().index() == first) with.emplace(blocks[other()], way);
  sides* const measuring = with ? &*with : nullptr;
  if (place_count() == 2) {
    beside_others(measuring, [&] { with->measure_operations(); });
    measure_barriers("cluster_barrier", measuring);
    if (is_wanted("cluster_fetch_add_beside_load")) {
      const busy_threads busy{4};
      beside_others(measuring, [&] { with->measure_beside_load(); });
    }
    if (is_wanted("cluster_uts")) measure_uts();
    if (is_wanted("cluster_tree")) beside_others(measuring, &measure_tree);
  } else {
    measure_barriers("cluster_barrier_2x2", measuring);
  }
  with.reset();
  server.reset();
  barrier();
  deallocate(own);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    runtime rt{argc, argv};
    run();
    job_bench::print_end();
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "situ_bench_cluster: %s\n", e.what());
    return 1;
  }
}
