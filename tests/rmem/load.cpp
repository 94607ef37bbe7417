#include "rmem/load.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "rmem/load_clients.h"
#include "rmem/servers.h"
#include "support/forked.h"
#include "support/processor_time.h"

namespace situ_rmem_test {
namespace {

using clock = std::chrono::steady_clock;

// The calling thread has what servers and probe leave of the processors: in earnest it would be on another host.
void step_back(const load_plan& plan) noexcept {
  if (plan.load_steps_back) ::setpriority(PRIO_PROCESS, 0, 10);
}

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

// A process that runs `body(to)`, and ends with this one or at the object's end. What it writes to `to` is read here.
class child {
 public:
  explicit child(const std::function<void(int to, int until)>& body) {
    if (!said_ || !stop_) throw std::runtime_error{"no pipe"};
    process_ = situ::test::fork_child([&] {
      said_.read.close();
      stop_.write.close();
      body(said_.write.number(), stop_.read.number());
      return 0;
    });
    said_.write.close();
    stop_.read.close();
  }
  ~child() {
    stop();
    said_.read.close();
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  [[nodiscard]] pid_t process() const noexcept { return process_.id(); }
  void stop() noexcept { stop_.write.close(); }
  // What it writes next; throws where it ends instead.
  template <class T>
  T hear() const {
    T got{};
    std::size_t have = 0;
    while (have < sizeof got) {
      const ssize_t part = ::read(said_.read.number(), reinterpret_cast<char*>(&got) + have, sizeof got - have);
      if (part <= 0) throw std::runtime_error{"a process of the load has ended"};
      have += static_cast<std::size_t>(part);
    }
    return got;
  }

 private:
  os::pipe_ends said_ = os::pipe_ends::make();
  os::pipe_ends stop_ = os::pipe_ends::make();
  os::child process_;
};

template <class T>
void say(int to, const T& what) {
  if (::write(to, &what, sizeof what) != static_cast<ssize_t>(sizeof what)) ::_exit(1);
}
bool is_told_to_stop(int until) {
  pollfd look{until, POLLIN, 0};
  return ::poll(&look, 1, 0) != 0;
}
void wait_for_stop(int until) {
  pollfd look{until, POLLIN, 0};
  while (::poll(&look, 1, -1) < 0) {}
}

// --- the servers ---

struct place {
  char tcp[64]{};
  char by_path[128]{};
};

rmem::server_options options_for(const load_plan& plan, const std::string& path) {
  rmem::server_options options = options_of(64 * mebibyte);
  options.listen = {"127.0.0.1:0", "unix:" + path};
  options.most_clients = 2 * (plan.clients + 3 * plan.of_each_kind + plan.flooded_logins + 100);
  options.patience = std::chrono::milliseconds{static_cast<std::int64_t>(plan.patience_seconds * 1000)};
  return options;
}

void serve(const load_plan& plan, const std::string& path, int to, int until) {
  rmem::server server{options_for(plan, path)};
  place at;
  server.endpoints()[0].copy(at.tcp, sizeof at.tcp - 1);
  server.endpoints()[1].copy(at.by_path, sizeof at.by_path - 1);
  say(to, at);
  std::jthread ends{[&] {
    wait_for_stop(until);
    server.stop();
  }};
  server.run();
}

std::uint64_t peak_of(pid_t process) {
  std::ifstream file{"/proc/" + std::to_string(process) + "/status"};
  for (std::string word; file >> word;)
    if (word == "VmHWM:") {
      std::uint64_t kib = 0;
      file >> kib;
      return kib * 1024;
    }
  return 0;
}

std::uint64_t tcp_memory() {
  std::ifstream file{"/proc/net/sockstat"};
  for (std::string line; std::getline(file, line);)
    if (const auto at = line.find(" mem "); line.starts_with("TCP:") && at != std::string::npos)
      return std::stoull(line.substr(at + 5)) * 4096;
  return 0;
}

// --- the probe ---

struct probe {
  probe(const std::string& endpoint, const char* name)
      : by{endpoint, packages(), {.timeout = 60s}}, word{by.allocate(4096)}, what{name} {}
  void ask() {
    const auto begin = clock::now();
    by.fetch_add(word, 0, 1);
    us.push_back(std::chrono::duration<double, std::micro>(clock::now() - begin).count());
  }
  [[nodiscard]] probe_times take() {
    std::sort(us.begin(), us.end());
    const probe_times all{us.size(), us[us.size() / 2], us[us.size() * 99 / 100], us.back()};
    us.clear();
    return all;
  }
  rmem::client by;
  rmem::capability word;
  std::vector<double> us;
  const char* what;
};

// In turns, so that both meet the same machine.
void ask_in_turns(double seconds, probe& one, probe* other) {
  for (const auto begin = clock::now(); seconds_since(begin) < seconds;) {
    one.ask();
    if (other != nullptr) other->ask();
    std::this_thread::sleep_for(1ms);
  }
}

// --- clients that come at once ---

struct burst_report {
  std::uint32_t connected = 0;
  std::uint32_t failed = 0;
  char first_failure[200]{};
  double seconds = 0;
};
struct work_report {
  std::uint64_t calls = 0;
  std::uint64_t lost = 0;
};

// A client of a burst: it connects when all do, says so, and asks once a second until it is told to stop.
class burst {
 public:
  burst(std::string endpoint, const load_plan& plan)
      : endpoint_{std::move(endpoint)}, plan_{plan}, clients_{plan.clients} {}
  void run(bool works, int to, int until) {
    std::vector<pthread_t> threads(clients_);
    pthread_attr_t small;
    ::pthread_attr_init(&small);
    ::pthread_attr_setstacksize(&small, 512 * 1024);
    for (pthread_t& each : threads)
      if (::pthread_create(
              &each, &small, [](void* self) -> void* { return static_cast<burst*>(self)->one(), nullptr; }, this) != 0)
        ::_exit(2);
    begun_ = clock::now();
    go_ = true;
    go_.notify_all();
    while (said_.connected + said_.failed < clients_) {
      std::this_thread::sleep_for(5ms);
      const std::lock_guard held{lock_};
      said_.connected = connected_;
      said_.failed = failed_;
    }
    say(to, said_);
    if (works) wait_for_stop(until);
    stop_ = true;
    for (const pthread_t each : threads) ::pthread_join(each, nullptr);
    say(to, work_report{calls_, lost_});
  }

 private:
  void one() {
    go_.wait(false);
    std::optional<rmem::client> by;
    rmem::capability word;
    try {
      by.emplace(endpoint_, packages());  // within its usual ten seconds
      const std::lock_guard held{lock_};
      ++connected_;
      said_.seconds = std::max(said_.seconds, seconds_since(begun_));
    } catch (const situ::error& failure) {
      const std::lock_guard held{lock_};
      if (failed_++ == 0) std::string{failure.what()}.copy(said_.first_failure, sizeof said_.first_failure - 1);
      return;
    }
    step_back(plan_);
    try {
      word = by->allocate(64, {}, rmem::lifetime::connection);
      const std::uint32_t own = next_++;
      for (std::uint64_t expected = 0; !stop_; ++expected) {
        if (by->fetch_add(word, 0, 1) != expected) throw situ::error{errc::bad_message, "another count"};
        ++calls_;
        std::this_thread::sleep_for(expected == 0 ? own * 1s / clients_ : 1s);  // not all in the same moment
      }
    } catch (const situ::error&) {
      ++lost_;
    }
  }

  std::string endpoint_;
  const load_plan& plan_;
  std::uint32_t clients_;
  clock::time_point begun_;
  std::atomic<bool> go_ = false;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint32_t> next_ = 0;
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<std::uint64_t> lost_ = 0;
  std::mutex lock_;
  std::uint32_t connected_ = 0;
  std::uint32_t failed_ = 0;
  burst_report said_;
};

burst_result result_of(const burst_report& said) {
  return {said.connected, said.failed, said.first_failure, said.seconds};
}

// Logs in `count` times, one after another.
burst_result log_in_one_by_one(const std::string& endpoint, std::uint32_t count) {
  burst_result all;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto begin = clock::now();
    try {
      const rmem::client by{endpoint, packages()};
      ++all.connected;
    } catch (const situ::error& failure) {
      if (all.failed++ == 0) all.first_failure = failure.what();
    }
    all.seconds = std::max(all.seconds, seconds_since(begin));
  }
  return all;
}

void raise_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// What the server takes while `body` runs.
server_cost cost_during(pid_t server, const std::function<void()>& body) {
  const std::uint64_t before = situ::test::processor_ticks(server);
  const auto begin = clock::now();
  body();
  const double ticks = static_cast<double>(situ::test::processor_ticks(server) - before);
  return {ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)) / seconds_since(begin), peak_of(server), tcp_memory()};
}

void count(load_result& to, const rmem::statistics& told) {
  to.logins = told.logins;
  to.refused_logins = told.refused_logins;
  to.bad_messages = told.bad_messages;
  to.cut_messages = told.cut_messages;
  to.timeouts = told.timeouts;
  to.turned_away = told.turned_away;
}

}  // namespace

load_result put_under_load(const load_plan& plan) {
  raise_descriptors();
  (void)keys();  // of all processes
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("situ-rmem-load-" + std::to_string(::getpid()));
  fs::create_directory(folder);
  const auto start = [&](const char* name) {
    return [&plan, path = (folder / name).string()](int to, int until) { serve(plan, path, to, until); };
  };
  load_result all;
  {
    const child loaded{start("loaded")};
    const child idle{start("idle")};
    const auto at = loaded.hear<place>();
    probe alone{idle.hear<place>().tcp, "idle"};
    probe under{at.tcp, "loaded"};
    ask_in_turns(plan.probe_seconds, under, nullptr);
    all.idle = under.take();

    rmem::client boss{at.tcp, graphs(), {.timeout = 60s}};
    const rmem::capability region = boss.allocate(mebibyte);
    std::optional<child> misbehaved{
        std::in_place, [&](int to, int until) {
          step_back(plan);
          say(to, misbehave({at.tcp, at.by_path, region, plan.of_each_kind, plan.patience_seconds},
                            [&] { return is_told_to_stop(until); }));
        }};
    // Until all have come, and those that came first are ended and come again.
    std::this_thread::sleep_for(std::chrono::duration<double>{plan.patience_seconds + 0.5});
    all.with_misbehaved = cost_during(loaded.process(), [&] { ask_in_turns(plan.probe_seconds, under, &alone); });
    all.among_misbehaved = under.take();
    all.idle_beside = alone.take();

    {
      const child by_tcp{[&](int to, int until) { burst{at.tcp, plan}.run(false, to, until); }};
      all.by_tcp = result_of(by_tcp.hear<burst_report>());
      (void)by_tcp.hear<work_report>();
    }
    {
      child by_unix{[&](int to, int until) { burst{at.by_path, plan}.run(true, to, until); }};
      all.by_unix = result_of(by_unix.hear<burst_report>());
      std::this_thread::sleep_for(1s);  // until they all work
      all.with_all = cost_during(loaded.process(), [&] { ask_in_turns(plan.probe_seconds, under, &alone); });
      all.among_all = under.take();
      all.idle_beside_all = alone.take();
      by_unix.stop();
      const auto worked = by_unix.hear<work_report>();
      all.clients_calls = worked.calls;
      all.clients_lost = worked.lost;
    }
    misbehaved->stop();
    const auto done = misbehaved->hear<misbehaviour_report>();
    std::copy(std::begin(done.begun), std::end(done.begun), all.turns);
    std::copy(std::begin(done.ended), std::end(done.ended), all.ended);
    misbehaved.reset();

    {
      child flood{[&](int to, int until) {
        step_back(plan);
        say(to, flood_with_strangers(at.tcp, plan.open_strangers, [&] { return is_told_to_stop(until); }));
      }};
      std::this_thread::sleep_for(300ms);
      all.among_flood = log_in_one_by_one(at.tcp, plan.flooded_logins);
      flood.stop();
      all.flooded_strangers = flood.hear<std::uint64_t>();
    }
    count(all, boss.server_statistics());
  }
  fs::remove_all(folder);
  return all;
}

}  // namespace situ_rmem_test
