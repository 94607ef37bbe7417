// What keeps a server in its chain: it tells the name server of itself some times a lease, hears the view, and connects
// to the member before it. Two threads, since no beat may wait for a connection; all that they know they ask the
// server's own thread for, so one that stands still does not beat.
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

#include "rmem/protocol.h"
#include "rmem/sockets.h"

namespace situ::rmem::detail {

class membership {
 public:
  // Has the server's own thread call a function soon.
  using poster = std::function<void(std::function<void()>)>;
  // What is asked for there.
  struct calls {
    std::function<beat_entry()> beat;
    std::function<void(const view_entry&, std::uint64_t asked_ns)> told;
    // Whom it should be connected to and is not (node 0: nobody), and what it says there.
    std::function<std::pair<member_entry, follow_entry>()> wish;
    // A connection to the one before, and what has come by it already.
    std::function<void(std::uint64_t node, descriptor, std::vector<std::byte>)> connected;
  };
  membership(std::string names, application_key key, poster post, calls to);
  ~membership();
  membership(const membership&) = delete;
  membership& operator=(const membership&) = delete;

 private:
  void beat(const std::stop_token& stop);
  void connect(const std::stop_token& stop);
  // What `call` returns on the server's thread; nothing where that has ended.
  template <class Call>
  auto ask(const std::stop_token& stop, Call call) -> std::optional<decltype(call())>;

  std::string names_;
  application_key key_;
  poster post_;
  calls calls_;
  std::mutex lock_;
  std::condition_variable_any ends_;
  std::jthread connects_;  // the last two: they end before what they use
  std::jthread beats_;
};

}  // namespace situ::rmem::detail
