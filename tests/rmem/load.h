// A server of remote memory under load: clients that come all at once, hundreds that misbehave in each way, a flood of
// strangers; and a probe beside them. All on this host, in processes of their own, bounded in number and time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace situ_rmem_test {

struct load_plan {
  std::uint32_t clients = 2000;        // that come at once, once by TCP and once by a Unix socket
  std::uint32_t of_each_kind = 500;    // that misbehave
  std::uint32_t flooded_logins = 100;  // one after another, beside strangers that come as fast as they can
  std::uint32_t open_strangers = 3000;
  double probe_seconds = 10;  // of each phase
  double patience_seconds = 5;
  bool load_steps_back = true;  // who makes the load has what servers and probe leave of the processors
};

// Times of a probe's calls, in microseconds.
struct probe_times {
  std::uint64_t calls = 0;
  double median_us = 0;
  double p99_us = 0;
  double most_us = 0;
};
struct burst_result {
  std::uint32_t connected = 0;
  std::uint32_t failed = 0;
  std::string first_failure;
  double seconds = 0;  // until the last one
};
// What the server told of itself, and the kernel of it, during a phase.
struct server_cost {
  double processors = 0;         // of one: 1
  std::uint64_t peak_bytes = 0;  // of its process so far
  std::uint64_t tcp_bytes = 0;   // that the kernel keeps for TCP, of all processes
};

struct load_result {
  probe_times idle;              // of the server, before anybody else came
  probe_times idle_beside;       // of an idle server, in turns with the next one
  probe_times among_misbehaved;  // of the server under load
  probe_times idle_beside_all;
  probe_times among_all;  // with the clients that came, who work
  burst_result by_tcp;
  burst_result by_unix;
  burst_result among_flood;
  std::uint64_t flooded_strangers = 0;
  std::uint64_t clients_calls = 0;  // of those that came
  std::uint64_t clients_lost = 0;
  std::uint64_t turns[6] = {};  // how often each kind of misbehaviour was begun
  std::uint64_t ended[6] = {};  // and ended by the server
  server_cost with_misbehaved;
  server_cost with_all;
  std::uint64_t logins = 0, refused_logins = 0, bad_messages = 0, cut_messages = 0, timeouts = 0, turned_away = 0;
};

inline constexpr const char* misbehaviours[6] = {"silent strangers", "half a login",     "bytes that are no login",
                                                 "cut messages",     "answers not read", "a byte a second"};

// pre: the process has one thread. Throws where a process cannot be started.
[[nodiscard]] load_result put_under_load(const load_plan& plan);

}  // namespace situ_rmem_test
