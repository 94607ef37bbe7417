// Keeps a server in its chain: it sends beats to the name server several times a lease, receives the view, and connects
// to the member before the server. It has two threads, since a beat must not wait for a connection. Both ask the
// server's own thread for all state, so a server whose thread stands still does not beat.
#pragma once

#include <situ/rmem/keys.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "os/worker.h"
#include "rmem/protocol.h"
#include "rmem/sockets.h"

namespace situ::rmem::detail {

class membership {
 public:
  // Makes the server's own thread call a function soon.
  using poster = std::function<void(std::function<void()>)>;
  // The functions that run on the server's thread.
  struct calls {
    std::function<beat_entry()> beat;
    std::function<void(const view_entry&, std::uint64_t asked_ns)> told;
    // Returns the member that the server should connect to and is not connected to (node 0: none), and what to send
    // there.
    std::function<std::pair<member_entry, follow_entry>()> wish;
    // Receives a connection to the member before, and the bytes that it has brought already.
    std::function<void(std::uint64_t node, os::descriptor, std::vector<std::byte>)> connected;
  };
  membership(std::string names, application_key key, poster post, calls to);
  ~membership();
  membership(const membership&) = delete;
  membership& operator=(const membership&) = delete;

 private:
  void beat(const std::stop_token& stop);
  void connect(const std::stop_token& stop);
  // Runs `call` on the server's thread and returns its result; nullopt if a stop is requested first.
  template <class Call>
  auto ask(const std::stop_token& stop, Call call) -> std::optional<decltype(call())>;

  std::string names_;
  application_key key_;
  poster post_;
  calls calls_;
  std::mutex lock_;
  std::condition_variable_any ends_;
  os::worker connects_;  // the last two: they end before what they use
  os::worker beats_;
};

}  // namespace situ::rmem::detail
